/* The shell page never navigates, so Python starts once: it owns the worker with the site, and shows the site in a frame.
   Of several tabs one holds the lock and answers for all, so that they share one progress. */
const here = new URL("./", location.href), NAME = `schemalab-anywhere ${here.pathname}`, below = (address) => address.slice(here.pathname.length);
const element = (id) => document.getElementById(id), line = element("line"), bar = element("bar");
const words = await (await fetch("words.json")).json(), root = document.documentElement;
let language = (localStorage.language ?? navigator.language).startsWith("zh") ? "zh-hans" : "en";
const word = (name, ...values) => values.reduce((text, value) => text.replace("%s", value), words[language][name]);
/* The shell speaks the site's language and has its colours. */
function dress({ theme, language: spoken = language }) {
  [language, root.lang] = spoken === "en" ? ["en", "en"] : ["zh-hans", "zh-Hans"];
  localStorage.language = language;
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  for (const one of document.querySelectorAll("[data-word]")) one.textContent = word(one.dataset.word);
}
const seen = (page) => {
  const dressed = () => dress(page.documentElement.dataset);
  dressed();
  new MutationObserver(dressed).observe(page.documentElement, { attributeFilter: ["data-theme", "data-language"] });
};
dress({});
/* A tap on the first screen is answered by a sentence that stays while the lab loads. */
let isAsked = false;
const tell = (text) => { line.textContent = isAsked ? `${word("soon")} ${text}` : text; };
const fail = (why) => { line.textContent = word("failed", why); bar.remove(); throw new Error(why); };

/* A worker that answers calls, one promise each. */
function start(role, heard) {
  const worker = new Worker(`worker.js${alone ? "?alone" : ""}#${role}`, { type: "module" }), waiting = new Map();
  let calls = 0;
  worker.onerror = (event) => fail(event.message ?? "worker.js");
  worker.onmessage = ({ data }) => {
    if (!waiting.has(data.id)) return heard(data);
    const { resolve, reject } = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error) reject(new Error(data.error)); else resolve(data.result);
  };
  const call = (name, ...args) => new Promise((resolve, reject) => {
    waiting.set(++calls, { resolve, reject });
    worker.postMessage({ id: calls, name, args });
  });
  return { call, end: () => worker.terminate() };
}

/* Progress: one file in IndexedDB. */
const store = (mode, work) => new Promise((resolve, reject) => {
  const open = indexedDB.open(NAME, 1);
  open.onupgradeneeded = () => open.result.createObjectStore("kept");
  open.onerror = () => reject(open.error);
  open.onsuccess = () => {
    const asked = work(open.result.transaction("kept", mode).objectStore("kept"));
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  };
});
const keep = (bytes) => store("readwrite", (kept) => kept.put(bytes, "progress"));
const save = async () => { const file = await site.call("news"); if (file) await keep(file); };

/* The tab that leads has the worker with the site; `led` waits until it has started. */
let alone = null, holdsLock = false, site, begun;
const led = new Promise((resolve) => { begun = resolve; });
async function lead() {
  holdsLock = true;
  tell(word("starting"));
  bar.removeAttribute("value");
  site = start("site", (data) => { if (data.search) searchNext().catch((error) => console.error(error)); });
  const kept = await store("readonly", (found) => found.get("progress"));
  if (!(await site.call("start", kept))) console.warn(word("not_kept"));
  begun();
  open();
  element("other").hidden = true;
  for (const one of document.querySelectorAll("footer :disabled")) one.disabled = false;
  await new Promise(() => {});
}
async function answer(request) {
  await led;
  const found = await site.call("answer", { ...request, cookies: document.cookie, languages: navigator.languages.join() });
  save();
  return found;
}

/* Searches: a second worker, ended to stop one. */
let searcher = null, searching = null;
async function searchNext() {
  const waiting = searching ? "" : await site.call("next_search");
  if (!waiting) return;
  const { pk, asked } = JSON.parse(waiting), over = () => { searching = null; searchNext(); };
  searching = pk;
  searcher ??= start("search", async ({ progress }) => {
    if (!searching || await site.call("search_goes_on", searching, progress)) return;
    searcher?.end();
    searcher = null;
    over();
  });
  await site.call("searched", pk, await searcher.call("search", JSON.stringify(asked)));
  await save();
  over();
}

/* The service worker asks every shell; the one that leads answers. */
navigator.serviceWorker?.addEventListener("message", async ({ data, ports }) => {
  if (data.loaded) {
    bar.value = data.loaded / data.all;
    tell(word("loading", (data.loaded / 1e6).toFixed(1), (data.all / 1e6).toFixed(1)));
  } else if (data.request && holdsLock) {
    ports[0].postMessage({ taken: true });
    ports[0].postMessage(await answer(data.request));
  }
});

/* The site in its frame: the address bar says where it is, so that links can be sent; other sites open beside it. */
const frame = element("site");
let target, isOpen = false;
const wanted = () => decodeURI(location.hash.slice(1)) || "lab/";
const go = (address) => { if (alone) alone(here.pathname + address); else frame.src = address; };
function open() {
  if (isOpen) return;
  isOpen = true;
  if (!alone) {
    element("status").hidden = true;
    frame.removeAttribute("srcdoc");
    frame.addEventListener("load", () => shown(frame, frame.contentWindow.location));
  }
  addEventListener("hashchange", () => go(wanted()));
  go(target);
}
function shown(frame, { pathname, search, hash }) {
  const page = frame.contentDocument;
  history.replaceState(null, "", "#" + below(pathname) + search + hash);
  document.title = page.title;
  seen(page);
  page.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (link && link.origin !== location.origin) link.target = "_blank";
  }, true);
}

/* Export, import, delete. Where progress was replaced, the lab begins at its front page and says so. */
const done = element("done"), { happened } = sessionStorage;
if (happened) done.textContent = word(happened);
delete sessionStorage.happened;
function again(what) {
  sessionStorage.happened = what;
  history.replaceState(null, "", "#lab/");
  location.reload();
}
element("export").onclick = async () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await site.call("kept")], { type: "application/vnd.sqlite3" }));
  link.download = "schema-lab-progress.sqlite3";
  link.click();
  URL.revokeObjectURL(link.href);
  done.textContent = word("exported", link.download);
};
element("import").onchange = async ({ target: input }) => {
  const bytes = new Uint8Array(await input.files[0].arrayBuffer());
  input.value = "";
  if (!(await site.call("may_keep", bytes))) return alert(word("not_kept"));
  if (!confirm(word("sure_import"))) return;
  await keep(bytes);
  again("imported");
};
element("start-over").onclick = async () => {
  if (!confirm(word("sure"))) return;
  await store("readwrite", (kept) => kept.clear());
  again("deleted");
};

/* The first screen, before Python: links wait. */
target = wanted();
if (target === "lab/") {
  frame.srcdoc = (await (await fetch(`first.${language}.html`)).text()).replaceAll("/-prefix-/", here.pathname);
  frame.addEventListener("load", () => frame.contentDocument.addEventListener("click", (event) => {
    const link = event.target.closest("a, button");
    event.preventDefault();
    if (!link?.pathname?.startsWith(here.pathname)) return;
    target = below(link.pathname + link.search);
    [isAsked, line.textContent] = [true, word("soon")];
  }, true), { once: true });
}
if (!isSecureContext) fail(word("insecure"));
const registered = await navigator.serviceWorker?.register("sw.js").catch(() => null);
if (!registered) {
  bar.remove();
  alone = (await import("./alone.js")).pages(frame, here, answer, (...place) => { line.textContent = word("alone"); shown(...place); });
} else {
  await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller) await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
  registered.update().catch(() => {}); // without a network the lab of the last visit runs
}
const leading = (lock) => lock && lead().catch((error) => fail(error.message));
await navigator.locks.request(NAME, { ifAvailable: true }, leading); // ends where another tab leads
element("other").hidden = false;
open();
navigator.locks.request(NAME, leading);
