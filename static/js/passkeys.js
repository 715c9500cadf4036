// The page's button for a passkey is given to allauth's scripts; what they cannot is told.
const REASONS = {
  NotAllowedError: "Nothing was signed: it was cancelled, or took too long. Try again.",
  InvalidStateError: "This device is added already.",
  SecurityError: "Passkeys need an address with https, or localhost, and not a number.",
  NotSupportedError: "This browser or device cannot do it.",
};
const tell = (text) => {
  const part = first("[data-passkey-error]");
  part.querySelector("span").textContent = text;
  part.hidden = false;
};
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  tell(REASONS[event.detail.exception?.name] ?? (globalThis.PublicKeyCredential ? "The browser could not do it. Try another way." : REASONS.SecurityError));
});
const button = first("[data-passkey]");
const credential = button.form.querySelector("[name=credential]").id;
const { addForm, authenticateForm } = allauth.webauthn.forms;
const take = { add: addForm, authenticate: authenticateForm }[button.dataset.passkey];
take({ ids: { add: button.id, authenticate: button.id, credential, data: "js_data" } });
