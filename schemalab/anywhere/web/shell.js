/* The shell page never navigates, so Python starts once: it owns the worker with the site, and shows the site in a frame.
   Of several tabs one holds the lock and answers for all, so that they share one progress. */
const here = new URL("./", location.href), NAME = `schemalab-anywhere ${here.href}`, below = ({ pathname, search }) => pathname.slice(here.pathname.length) + search;
const element = (id) => document.getElementById(id), frame = element("site"), line = element("line"), bar = element("bar"), done = element("done");
const words = await (await fetch("words.json")).json(), root = document.documentElement;
let language = (localStorage.language ?? navigator.language).startsWith("zh") ? "zh-hans" : "en", isAsked = false;
const word = (name, ...values) => values.reduce((text, value) => text.replace("%s", value), words[language][name]);
const tell = (text) => { line.textContent = isAsked ? `${word("soon")} ${text}` : text; };
const fail = (why) => { line.textContent = word("failed", why); bar.remove(); throw new Error(why); };

/* The shell speaks the site's language and has its colours. */
function dress({ theme, language: spoken = language }) {
  [language, root.lang] = spoken === "en" ? ["en", "en"] : ["zh-hans", "zh-Hans"];
  localStorage.language = language;
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  for (const one of document.querySelectorAll("[data-word]")) one.textContent = word(one.dataset.word);
}
dress({});

/* A worker, and a call of it: a promise each. */
let alone = null, site = null, searcher = null;
function start(role) {
  const worker = new Worker(`worker.js${alone ? "?alone" : ""}#${role}`, { type: "module" });
  worker.onerror = (event) => fail(event.message ?? "worker.js");
  return worker;
}
const call = (worker, ...asked) => new Promise((resolve, reject) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data: { result, error } }) => error ? reject(new Error(error)) : resolve(result);
  worker.postMessage(asked, [port2]);
});

/* A search runs in a second worker, which is ended to stop it. */
async function find(pk, asked) {
  const mine = searcher ??= start("search");
  mine.onmessage = async ({ data }) => {
    if (await call(site, "search_goes_on", pk, data) || searcher !== mine) return;
    mine.terminate();
    searcher = null;
    call(site, "searched", pk);
  };
  call(site, "searched", pk, await call(mine, "search", asked));
}

/* The tab that leads has the worker with the site, which answers the service worker itself: this thread draws pages. */
const tabs = new BroadcastChannel(NAME);
async function lead() {
  tell(word("starting"));
  bar.removeAttribute("value");
  site = start("site");
  site.onmessage = ({ data: { search } }) => find(...search);
  if (!(await call(site, "start", document.cookie))) console.warn(word("not_kept"));
  open();
  element("other").hidden = true;
  for (const one of document.querySelectorAll("footer :disabled")) one.disabled = false;
  await new Promise(() => {});
}
tabs.onmessage = ({ data: { loaded, all } }) => {
  if (!loaded) return;
  bar.value = loaded / all;
  tell(word("loading", (loaded / 1e6).toFixed(1), (all / 1e6).toFixed(1)));
};

/* The site in its frame: the address bar says where it is, so that links can be sent; other sites open beside it. */
const wanted = () => decodeURI(location.hash.slice(1)) || "lab/";
const go = (address) => alone ? alone(address) : frame.contentWindow.location.replace(new URL(address, here));
let target = wanted(), isOpen = false;
function open() {
  if (isOpen) return;
  isOpen = true;
  if (!alone) {
    element("status").hidden = true;
    frame.addEventListener("load", () => shown(frame.contentDocument, frame.contentWindow.location));
  }
  addEventListener("hashchange", () => go(wanted()));
  go(target);
}
function shown(page, at) {
  history.replaceState(null, "", `#${below(at)}${at.hash}`);
  document.title = page.title;
  const dressed = () => {
    dress(page.documentElement.dataset);
    tabs.postMessage({ cookies: document.cookie });
  };
  dressed();
  new MutationObserver(dressed).observe(page.documentElement, { attributeFilter: ["data-theme", "data-language"] });
  page.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (link && link.origin !== location.origin) link.target = "_blank";
  }, true);
}

/* Export, import, delete. Where progress was replaced, the lab begins at its front page and says so. */
if (sessionStorage.happened) done.textContent = word(sessionStorage.happened);
delete sessionStorage.happened;
function again(what) {
  sessionStorage.happened = what;
  history.replaceState(null, "", "#lab/");
  location.reload();
}
element("export").onclick = async () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await call(site, "kept")], { type: "application/vnd.sqlite3" }));
  link.download = "schema-lab-progress.sqlite3";
  link.click();
  done.textContent = word("exported", link.download);
};
element("import").onchange = async ({ target: input }) => {
  const file = await input.files[0].arrayBuffer();
  input.value = "";
  if (!(await call(site, "may_keep", file))) return alert(word("not_kept"));
  if (confirm(word("sure_import"))) again("imported", await call(site, "keep", file));
};
element("start-over").onclick = async () => {
  if (confirm(word("sure"))) again("deleted", await call(site, "forget"));
};

/* The first screen, before Python: a tap on a link waits, and a sentence says so. */
if (target === "lab/") {
  frame.src = `first.${language}.html`;
  frame.addEventListener("load", () => frame.contentDocument.addEventListener("click", (event) => {
    const link = event.target.closest("a, button");
    event.preventDefault();
    if (!link?.href?.startsWith(here.href)) return;
    [target, isAsked, line.textContent] = [below(link), true, word("soon")];
  }, true), { once: true });
}
if (!isSecureContext) fail(word("insecure"));
if (await navigator.serviceWorker?.register("sw.js").catch(() => null)) {
  const { active } = await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller) await new Promise((claimed) => {
    navigator.serviceWorker.oncontrollerchange = claimed;
    active.postMessage("claim");
  });
} else {
  bar.remove();
  alone = (await import("./alone.js")).pages(frame, here.href, (request) => call(site, "answer", request), (...place) => { line.textContent = word("alone"); shown(...place); });
}
const leading = (lock) => lock && lead().catch((error) => fail(error.message));
await navigator.locks.request(NAME, { ifAvailable: true }, leading); // ends where another tab leads
element("other").hidden = false;
if (!alone) open();
navigator.locks.request(NAME, leading);
