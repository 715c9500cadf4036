// Keyboard: a letter moves or opens a second step. It never decides, and none works
// while somebody is typing.
"use strict";
(() => {
  const TYPING = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
  let going = false;

  // A sheet that was closed may keep the focus for a moment: nobody types into it.
  const typed = (part) => part.matches?.(TYPING) && part.checkVisibility();

  const usable = (part) => part && !part.disabled && part.checkVisibility();
  const press = (part) => {
    if (!usable(part)) return false;
    if (part.matches("input:not([type=checkbox])")) part.focus();
    else part.click();
    return true;
  };
  const named = (letter) => [...document.querySelectorAll(`[data-key="${CSS.escape(letter)}"]`)].find(usable);

  const rows = () => [...document.querySelectorAll(".req__link")].filter(usable);
  const step = (by) => {
    const all = rows();
    const here = all.indexOf(active());
    const from = here >= 0 ? here : all.findIndex((row) => row.ariaCurrent === "true");
    all[Math.min(all.length - 1, Math.max(0, from + by))]?.focus();
    return all.length > 0;
  };
  const open = () => {
    const title = byId("case-title");
    const row = active().closest?.(".req__link");
    if (row && row.ariaCurrent !== "true") return press(row);
    title?.focus();
    return Boolean(title);
  };
  const current = () => first('.req:has([aria-current="true"])');
  const tick = () => press((active().closest?.(".req") ?? current())?.querySelector(".req__pick input"));
  const go = (letter) => {
    going = false;
    const way = first(`[data-go="${CSS.escape(letter)}"]`);
    if (way) location.assign(way.href);
    return Boolean(way);
  };
  const letter = (key) => {
    if (going) return go(key);
    if (key === "g") return (going = true);
    if (key === "o") return open();
    if (key === "x") return tick();
    return press(named(key)) || ("jk".includes(key) && step(key === "j" ? 1 : -1));
  };

  on("keydown", (event) => {
    const sheet = event.target.closest?.("form[data-answer]");
    if (sheet && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return sheet.requestSubmit();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (typed(event.target) || first(".sheet:popover-open")) return;
    if (event.key.length === 1 && letter(event.key)) event.preventDefault();
  });

  // A second step takes the focus, so that what is typed next cannot reach the page.
  on("toggle", ({ target, newState }) => {
    if (newState === "open" && target.matches?.(".sheet")) (target.querySelector("textarea, select, input:not([type=hidden])") ?? target).focus();
  }, true);

  // By hand: `scrollIntoView` would make the list the place from which Tab goes on.
  const reveal = () => {
    const list = byId("rows"), row = current()?.getBoundingClientRect();
    if (!row) return;
    const part = list.getBoundingClientRect();
    if (row.bottom > part.bottom || row.top < part.top) list.scrollTop += row.top - part.top - part.height / 3;
  };
  reveal();
  // Only when one was led to another case; a list that comes in by itself stays where it is.
  on("htmx:afterSettle", ({ detail }) => {
    if (detail.elt.id === "list" && detail.requestConfig.triggeringEvent?.type === "follow") reveal();
  });
})();
