// Live: told that something changed, the page fetches itself again. Nobody loses place,
// focus or what they are typing.
const { dataset } = document.body;
const state = byId("live-state");
const POLL = 5000;
let planned, poll, lostAt, source, flying = 0, missed, leading = 0;

const refresh = () => {
  planned = null;
  missed = flying > 0;
  if (!missed) htmx.trigger(document.body, "refresh");
};
const changed = () => { planned ??= setTimeout(refresh, 100); };
// What changed meanwhile is fetched afterwards.
on("htmx:beforeRequest", ({ detail: { xhr, boosted } }) => {
  flying += 1;
  leading += !!boosted;
  xhr.addEventListener("loadend", () => {
    flying -= 1;
    leading -= !!boosted;
    if (!flying && missed) changed();
  });
});

const show = (text, lost) => {
  state.hidden = false;
  state.classList.toggle("is-lost", lost);
  first("[data-live-words]").textContent = text;
};
const back = () => {
  if (lostAt) changed();
  lostAt = null;
  clearInterval(poll);
  show("Live", false);
};
const lost = () => {
  if (lostAt) return;
  lostAt = new Date();
  poll = setInterval(changed, POLL);
  show(`Not live since ${lostAt.toLocaleTimeString([], { timeStyle: "short", hourCycle: "h23" })}`, true);
};
const listen = () => {
  source?.close();
  const opened = source = new EventSource(byId("case")?.dataset.live ?? dataset.live);
  source.addEventListener("open", back);
  source.addEventListener("changed", changed);
  source.addEventListener("error", () => {
    lost();
    if (opened === source && opened.readyState === EventSource.CLOSED) setTimeout(listen, POLL);
  });
};
on("pagehide", () => source?.close());
if (state) listen();

// A case is opened without a new page: list and stream follow. What is no case is a page
// of its own; what failed is tried as without script.
const elsewhere = ({ xhr, requestConfig: { elt } }) => {
  const there = elt.href ?? (xhr.status < 400 && xhr.responseURL);
  there ? location.assign(there) : elt.submit();
};
for (const end of ["sendError", "timeout"]) on(`htmx:${end}`, ({ detail }) => detail.boosted && elsewhere(detail));
const follow = () => {
  byId("main").dataset.open = "";
  listen();
  htmx.trigger("#list", "follow");
};

// What others said and do comes in by itself: nobody types there.
const renew = (target, fresh) => {
  each(target, "[data-part]", (part) => {
    const now = fresh.querySelector(`#${part.id}`);
    if (!now || now.dataset.part === part.dataset.part || part.contains(active())) return;
    part.replaceWith(now);
    htmx.process(now);
    if (now.dataset.news) say(now.dataset.news);
  });
};
const caseOf = (xhr) => new DOMParser().parseFromString(xhr.responseText, "text/html").getElementById("case");
// While an answer is on its way nothing can be pressed, and the next case is shown if
// drawn while one answered. The former comes back if it is not recorded.
const DRAWN = "Keyturn-Drawn";
let next;
on("htmx:configRequest", ({ detail }) => {
  const { elt: { action, onward, verdict, reason, template }, headers } = detail;
  [detail.path] = detail.path.split("#");  // no refresh scrolls to a place in a page
  const fits = onward?.checked && next?.dataset.verdict === verdict.value && action.includes(next.dataset.after);
  const given = fits && (verdict.value === "approve" || reason.value.trim() || template?.value);
  headers[DRAWN] = given ? next.dataset.mark : "";
});
on("htmx:beforeSend", ({ detail: { xhr, target, boosted, requestConfig: { verb, headers } } }) => {
  if (!boosted || verb === "get") return;
  const shown = headers[DRAWN] && next;
  dataset.waits = 1;
  xhr.onreadystatechange = () => {
    if (xhr.readyState < 4) return;
    delete dataset.waits;
    if (shown) xhr.getResponseHeader(DRAWN) ? shown.after(target) : shown.replaceWith(target);
  };
  if (!shown) return;
  forget();
  next = null;
  target.replaceWith(shown);
  htmx.process(shown);
  htmx.trigger(shown, "htmx:afterSettle", { boosted, requestConfig: {} });
});
for (const act of ["beforeunload", "mousedown", "click", "keydown"]) on(act, (event) => {
  if (!dataset.waits) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
// What waits for a decision is never exchanged under its reader's eyes.
const busy = (part) => !("calm" in part.dataset) || (part.contains(active()) && active().value);
on("htmx:beforeSwap", ({ detail }) => {
  const { target, xhr, boosted, pathInfo, requestConfig: { elt } } = detail;
  if ("ahead" in elt.dataset) {
    next = caseOf(xhr);
    return (detail.shouldSwap = false);
  }
  // On the way to another case nothing is exchanged, nor the list of the one before.
  const late = target.id === "list" && !pathInfo.finalRequestPath.includes(location.pathname);
  if (late || (leading && !boosted)) return (detail.shouldSwap = false);
  if (target.id !== "case") return;
  if (boosted) {
    if (xhr.getResponseHeader(DRAWN)) {
      target.remove();
      return (detail.target = byId("earlier"));
    }
    const arrived = detail.serverResponse.includes(' id="case"');
    Object.assign(detail, { shouldSwap: arrived, isError: false });
    active().blur();  // or both cases are laid out
    return arrived || elsewhere(detail);
  }
  if (target.dataset.shown) return;
  const fresh = caseOf(xhr);
  const same = fresh?.dataset.seen === target.dataset.seen;
  const kept = same || busy(target);
  detail.shouldSwap = !kept;
  if (fresh && kept) renew(target, fresh);
  const notice = target.querySelector("[data-fresh]");
  if (!same && kept && notice?.hidden) {
    notice.hidden = false;
    say(notice.textContent.trim());
  }
});
on("click", ({ target }) => {
  if (!target.closest?.("[data-fresh]")) return;
  byId("case").dataset.shown = "true";
  htmx.trigger("#case", "refresh");
});

const places = new Map(), ticked = new Set(), unfolded = new Set();
const SCROLLS = "[data-keep-scroll]", FOLDS = "details[id]", TICKS = "input[name=pick]";
let told = byId("list")?.dataset.say, held;
const forget = () => [places, unfolded].forEach((kept) => kept.clear());
// What has the focus is found again, unless it could be another: Enter means that one.
const sign = (part) => {
  const marks = ["id", "href", "name", "value", "popovertarget", "data-key"]
    .filter((name) => part.hasAttribute(name))
    .map((name) => `[${name}=${CSS.escape(part.getAttribute(name))}]`);
  return marks.length ? part.localName + marks.join("") : "";
};
const focused = (part) => {
  part?.focus({ preventScroll: true });
  return part === active();
};
on("htmx:beforeSwap", ({ detail: { target, boosted } }) => {
  if (boosted) return forget();
  each(target, SCROLLS, (part) => places.set(part.id, part.scrollTop));
  each(target, FOLDS, (one) => unfolded[one.open ? "add" : "delete"](one.id));
  each(target, TICKS, (box) => ticked[box.checked ? "add" : "delete"](box.value));
  held = target.contains(active()) ? sign(active()) : null;
});
// Or htmx has two events for each element of it.
on("htmx:beforeCleanupElement", ({ target }) => target.replaceChildren());
on("htmx:afterSwap", ({ detail: { elt, target, boosted } }) => {
  if (elt.id !== target.id) return;  // a count
  if (boosted) return follow();
  each(elt, FOLDS, (one) => { one.open ||= unfolded.has(one.id); });
  const [one, another] = held ? elt.querySelectorAll(held) : [];
  if (held !== null && (another || !focused(one))) focused(elt);
});
on("htmx:afterSettle", ({ detail: { elt } }) => {
  each(elt, SCROLLS, (part) => { if (places.has(part.id)) part.scrollTop = places.get(part.id); });
  each(elt, TICKS, (box) => { box.checked = ticked.has(box.value); });
  const news = elt.dataset.say ?? elt.querySelector("[data-outcome] h2")?.textContent;
  if (news && news !== told) say(news.trim());
  told = news ?? told;
});
