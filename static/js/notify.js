// The browser tells how many requests wait, and not which, while the page is out of sight.
const KEY = "keyturn-notify";
const told = () => window.Notification?.permission === "granted" && localStorage.getItem(KEY) === "on";
const page = first("[data-notify-state]");
const show = () => {
  if (!page || !window.Notification) return;
  const denied = Notification.permission === "denied";
  first("[data-notify]").hidden = told() || denied;
  first("[data-notify-off]").hidden = !told();
  page.textContent = denied ? "This browser was told not to; change it in its settings." : `You are ${told() ? "" : "not "}told in this browser.`;
};
on("click", async ({ target }) => {
  if (target.closest?.("[data-notify-off]")) localStorage.removeItem(KEY);
  else if (target.closest?.("[data-notify]") && await Notification.requestPermission() === "granted") localStorage.setItem(KEY, "on");
  show();
});
show();

const count = (root) => Number(root.querySelector("[data-waiting]")?.dataset.waiting);
let known = count(document);
const look = async () => {
  if (!document.hidden || !told()) return;
  const answer = await fetch(first("[data-go=q]").href);
  const now = answer.ok ? count(new DOMParser().parseFromString(await answer.text(), "text/html")) : known;
  if (now > known) {
    const note = new Notification("Keyturn", { body: `${now} ${now === 1 ? "request waits" : "requests wait"} for you`, tag: KEY });
    note.onclick = () => focus();
  }
  known = now;
};
on("refresh", look);
on("visibilitychange", () => { known = count(document); });
