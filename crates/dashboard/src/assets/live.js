// Replaces the parts of a page that changed, while the page is looked at. Without it, a page is as
// it was when it was loaded.

const main = document.querySelector("main[data-live]");
const state = document.getElementById("live-state");
let source;

function say(text) {
  if (state && state.textContent !== text) state.textContent = text;
}

// A part in which somebody is typing stays until they are done.
function isBusy(section) {
  const active = document.activeElement;
  if (!section.contains(active)) {
    return [...section.querySelectorAll("input")].some((input) => input.value !== input.defaultValue);
  }
  return active.matches("input, select, textarea");
}

function keyOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const href = element.getAttribute("href");
  if (href) return `a[href="${CSS.escape(href)}"]`;
  if (element.matches("summary")) return "summary";
  return element.matches("button") ? "button" : null;
}

function replace(id, html) {
  const section = document.getElementById(id);
  if (!section || isBusy(section)) return;
  const next = document.createElement("template");
  next.innerHTML = html;
  const now = document.createElement("template");
  now.innerHTML = section.innerHTML;
  const open = [...section.querySelectorAll("details[open]")].map((details) => details.id);
  for (const closed of now.content.querySelectorAll("details[open]")) closed.open = false;
  if (next.content.isEqualNode(now.content)) return;
  const active = section.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  section.replaceChildren(next.content);
  for (const name of open) {
    const details = name && document.getElementById(name);
    if (details) details.open = true;
  }
  if (active) section.querySelector(active)?.focus({ preventScroll: true });
}

function listen() {
  if (source) return;
  source = new EventSource(main.dataset.live);
  source.addEventListener("open", () => say("Live: changes appear by themselves."));
  source.addEventListener("change", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) replace(id, html);
  });
  source.addEventListener("gone", () => {
    stop();
    location.reload();
  });
  source.addEventListener("error", () => {
    say("Not live at the moment; trying again.");
    // The browser gives up on answers that are no stream: a reload says why.
    if (source?.readyState === EventSource.CLOSED) {
      stop();
      say("Not live any more. Reload the page to see how things are.");
    }
  });
}

function stop() {
  source?.close();
  source = undefined;
}

// Browsers allow few connections to one host: a page nobody looks at needs none.
function follow() {
  if (document.visibilityState === "visible") listen();
  else stop();
}

if (main) {
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", stop);
  addEventListener("pageshow", follow);
  follow();
}
