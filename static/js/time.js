// Relative times stay true, absolute ones are in the reader's zone. The words are those of
// approvals/presentation/words.py.
const MINUTE = 60, HOUR = 3600, DAY = 86400;
const started = Date.now();
// The server's clock counts: a reader's wrong one must not move a countdown.
const served = Date.parse(first("meta[name=now]")?.content) || started;
const now = () => served + (Date.now() - started);

const hours = (seconds) => {
  const whole = Math.floor(seconds / HOUR), rest = Math.floor((seconds % HOUR) / MINUTE);
  return rest && whole < 10 ? `${whole} h ${rest} min` : `${whole} h`;
};
const span = (seconds) => {
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return hours(seconds);
  const days = Math.floor(seconds / DAY);
  return `${days} ${days === 1 ? "day" : "days"}`;
};
const passed = (at) => Math.max(0, Math.floor((now() - at) / 1000));
const left = (at) => (at > now() ? span(Math.floor((at - now()) / 1000)) : null);
const same = (at, part) => new Date(at)[part]() === new Date(now())[part]();
const year = (at) => (same(at, "getFullYear") ? {} : { year: "numeric" });
const day = (at) => (same(at, "toDateString") ? {} : { day: "numeric", month: "short", ...year(at) });
const words = {
  ago: (at) => (passed(at) < MINUTE ? "just now" : `${span(passed(at))} ago`),
  age: (at) => span(passed(at)),
  until: (at) => left(at) ?? "expired",
  wait: (at) => left(at) ?? "over",
  clock: (at) => new Date(at).toLocaleString([], { ...day(at), hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
  second: (at) => exact.format(at),
};
const exact = new Intl.DateTimeFormat([], { timeStyle: "medium", hourCycle: "h23" });
const absolute = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long" });

const tick = () => {
  each(document, "time[data-time]", (time) => {
    const at = Date.parse(time.dateTime);
    const text = words[time.dataset.time]?.(at);
    if (text && text !== time.textContent) time.textContent = text;
    if (!("local" in time.dataset)) {
      time.title = absolute.format(at);
      time.dataset.local = "";
    }
  });
};
tick();
setInterval(tick, 1000);
on("htmx:afterSettle", tick);
