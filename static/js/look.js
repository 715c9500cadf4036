// Theme and density take effect at once, kept in a cookie that the server prints.
"use strict";
const on = addEventListener;
const byId = (id) => document.getElementById(id);
const first = (path) => document.querySelector(path);
const each = (root, path, act) => root.querySelectorAll(path).forEach(act);
const active = () => document.activeElement;
// What is heard, and not seen.
const say = (text) => { byId("say").textContent = text; };
on("change", ({ target }) => {
  const name = target.closest?.("[data-look]")?.dataset.look;
  if (!name) return;
  const { dataset } = document.documentElement;
  if (target.value) dataset[name] = target.value;
  else delete dataset[name];
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `keyturn_${name}=${target.value}; path=/; max-age=31536000; samesite=lax${secure}`;
});

// What works only with script is hidden until all of it has run.
const revealScripted = (root) => each(root, "[data-needs-script]", (part) => { part.hidden = false; });
on("DOMContentLoaded", () => revealScripted(document));
on("htmx:afterSettle", ({ target }) => revealScripted(target));
