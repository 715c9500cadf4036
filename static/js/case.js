// The case: copy and verify the digest, approve only what was shown, land on the outcome.
const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// Over domain, zero byte and canonical envelope: what this page carries is what is signed.
const recompute = async (envelope) => {
  const bytes = new TextEncoder().encode(`keyturn/approval/v1\0${envelope}`);
  return hex(await crypto.subtle.digest("SHA-256", bytes));
};
const verdict = (part, good, text) => {
  const output = part.closest(".exact").querySelector("[data-verdict]");
  output.textContent = text;
  output.className = `exact__verdict ${good ? "ok" : "bad"}`;
};
const verify = async (part) => {
  if (!crypto.subtle) return verdict(part, false, "This browser computes digests only over https.");
  const same = await recompute(part.dataset.envelope) === part.dataset.verify;
  verdict(part, same, same ? "Recomputed here: the same" : "Recomputed here: DIFFERENT. Do not approve");
};
const copy = async (part) => {
  const words = part.querySelector("span");
  try {
    await navigator.clipboard.writeText(part.dataset.copy);
    words.textContent = "Copied";
  } catch {
    words.textContent = "Select and copy it below";
  }
  say(words.textContent);
};
on("click", ({ target }) => {
  const part = target.closest?.("[data-copy], [data-verify]");
  if (part) (part.dataset.copy ? copy : verify)(part);
});
on("submit", ({ target }) => {
  if (target.matches("form[data-answer]")) setTimeout(() => each(target, "[type=submit]", (button) => { button.disabled = true; }));
});

// Approving opens once the end of the frame was in view. Drawn anew the same, it stays so.
let shown = "";
const gate = () => {
  const end = first("[data-exact-end]"), button = first("[data-gate]");
  if (!end || !button) return;
  const { live, seen: at } = byId("case")?.dataset ?? {}, now = live + at;
  if (shown === now) return;
  const word = button.querySelector("span"), seen = first("[data-seen-words]");
  const label = word.textContent, sheet = button.getAttribute("popovertarget");
  const close = (closed) => {
    button.ariaDisabled = closed;
    closed ? button.removeAttribute("popovertarget") : button.setAttribute("popovertarget", sheet);
    word.textContent = closed ? "Read all of it first" : label;
    seen.hidden = closed;
  };
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return close(true);
    close(false);
    shown = now;
    watch.disconnect();
  });
  watch.observe(end);
  button.onclick = () => { if (button.ariaDisabled === "true") end.scrollIntoView(false); };
};

gate();
first("[data-outcome]")?.focus();
on("htmx:afterSettle", ({ detail: { elt, boosted } }) => {
  if (elt.id !== "case") return;
  gate();
  if (!boosted) return;
  scrollTo(0, 0);
  (elt.querySelector("[data-outcome]") ?? elt).focus();
});
