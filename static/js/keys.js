// A letter moves or opens a second step: it never decides, and none works in a field.
const TYPING = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
let going = false;

// A sheet just closed may keep the focus for a moment.
const typed = (part) => part.matches?.(TYPING) && part.checkVisibility();

const usable = (part) => part && !part.disabled && part.checkVisibility();
const press = (part) => {
  if (!usable(part)) return false;
  part.matches("input:not([type=checkbox])") ? part.focus() : part.click();
  return true;
};
const named = (letter) => [...document.querySelectorAll(`[data-key="${CSS.escape(letter)}"]`)].find(usable);

const step = (by) => {
  const all = [...document.querySelectorAll(".req__link")].filter(usable);
  const here = all.indexOf(active());
  const from = here >= 0 ? here : all.findIndex((row) => row.ariaCurrent === "true");
  (all[Math.max(0, from + by)] ?? all.at(-1))?.focus();
  return all.length;
};
const open = () => {
  const title = byId("case-title");
  const row = active().closest?.(".req__link");
  if (row && row.ariaCurrent !== "true") return press(row);
  title?.focus();
  return title;
};
const current = () => first('.req:has([aria-current="true"])');
const tick = () => press((active().closest?.(".req") ?? current())?.querySelector(".req__pick input"));
const go = (letter) => {
  going = false;
  const way = first(`[data-go="${CSS.escape(letter)}"]`);
  way?.click();
  return way;
};
const letter = (key) => {
  if (going) return go(key);
  if (key === "g") return (going = true);
  if (key === "o") return open();
  if (key === "x") return tick();
  return press(named(key)) || ("jk".includes(key) && step(key === "j" ? 1 : -1));
};

// What is pressed while a case is fetched begins from it.
const later = [];

on("keydown", (event) => {
  const sheet = event.target.closest?.("form[data-answer]");
  if (sheet && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return sheet.requestSubmit();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (typed(event.target) || first(".sheet:popover-open")) return;
  if ("jk".includes(event.key) && first("a.htmx-request")) return later.push(event.key);
  if (event.key.length === 1 && letter(event.key)) event.preventDefault();
});

// A second step takes the focus: what is typed next cannot reach the page.
on("toggle", ({ target, newState }) => {
  if (newState === "open" && target.matches?.(".sheet")) (target.querySelector("textarea, select, input:not([type=hidden])") ?? target).focus();
}, true);

// `scrollIntoView` would have Tab go on from the list.
const reveal = () => {
  const list = byId("rows"), row = current()?.getBoundingClientRect();
  if (!row) return;
  const part = list.getBoundingClientRect();
  if (row.bottom > part.bottom || row.top < part.top) list.scrollTop += row.top - part.top - part.height / 3;
};
reveal();
// A list that comes in by itself stays.
on("htmx:afterSettle", ({ detail: { elt, requestConfig } }) => {
  if (requestConfig.triggeringEvent?.type === "follow") reveal();
  if (elt.id === "case" && later.length) letter(later.shift());
});
