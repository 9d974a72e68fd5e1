/* The shell page never navigates, so Python starts once: it owns the worker with the site, and shows the site in a frame.
   Of several tabs one holds the lock and answers for all, so that they share one progress. */
const here = new URL("./", location.href);
const frame = document.getElementById("site"), line = document.querySelector("#status span"), bar = document.querySelector("progress");
const words = await fetch("words.json").then((answer) => answer.json());
const language = (localStorage.language ?? navigator.language).startsWith("zh") ? "zh-hans" : "en";
const word = (name, ...values) => values.reduce((text, value) => text.replace("%s", value), words[language][name]);
for (const one of document.querySelectorAll("[data-word]")) one.textContent = word(one.dataset.word);
document.documentElement.lang = language === "en" ? "en" : "zh-Hans";
const show = (text) => { line.textContent = text; };
const fail = (why) => { show(word("failed", why)); bar.remove(); throw new Error(why); };

/* A worker that answers calls, one promise each. */
function start(role, heard = () => {}) {
  const worker = new Worker(`worker.js#${role}`, { type: "module" }), waiting = new Map();
  let calls = 0;
  worker.onerror = (event) => fail(event.message);
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
  const open = indexedDB.open("schemalab-anywhere " + here.pathname, 1);
  open.onupgradeneeded = () => open.result.createObjectStore("kept");
  open.onerror = () => reject(open.error);
  open.onsuccess = () => {
    const asked = work(open.result.transaction("kept", mode).objectStore("kept"));
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  };
});
const keep = (bytes) => store("readwrite", (kept) => kept.put(bytes, "progress"));

let site, leads;
const save = async () => {
  const file = await site.call("news");
  if (file) await keep(file);
};

let holdsLock = false, isOpen = false;
const led = new Promise((resolve) => { leads = resolve; });
async function lead() {
  const kept = await store("readonly", (found) => found.get("progress"));
  show(word("starting"));
  bar.removeAttribute("value");
  site = start("site", (data) => { if (data.search) searchNext().catch((error) => console.error(error)); });
  if (!(await site.call("start", kept))) console.warn(word("not_kept"));
  leads();
}

/* Searches: a second worker, ended to stop one. */
let searcher = null, searching = null;
async function searchNext() {
  if (searching) return;
  const waiting = await site.call("next_search");
  if (!waiting) return;
  const { pk, asked } = JSON.parse(waiting);
  searching = pk;
  const over = () => { searching = null; searchNext(); };
  searcher ??= start("search", async ({ progress }) => {
    if (!searching || await site.call("search_goes_on", searching, progress)) return;
    searcher?.end();
    searcher = null;
    over();
  });
  const answer = await searcher.call("search", JSON.stringify(asked));
  await site.call("searched", pk, answer);
  await save();
  over();
}

/* The service worker asks every shell; the one that leads answers. */
navigator.serviceWorker?.addEventListener("message", async ({ data, ports }) => {
  if (data.loaded) { bar.value = data.loaded / data.all; return show(word("loading", (data.loaded / 1e6).toFixed(1), (data.all / 1e6).toFixed(1))); }
  if (!data.request || !holdsLock) return;
  ports[0].postMessage({ taken: true });
  await led;
  const answer = await site.call("answer", { ...data.request, cookies: document.cookie, languages: navigator.languages.join(",") });
  ports[0].postMessage(answer);
  await save();
});

/* The site in its frame: the address bar says where it is, so that links can be sent; other sites open beside it. */
function open() {
  if (isOpen) return;
  isOpen = true;
  frame.removeAttribute("srcdoc");
  frame.addEventListener("load", () => {
    const page = frame.contentDocument, { pathname, search, hash } = frame.contentWindow.location;
    document.getElementById("status").hidden = true;
    history.replaceState(null, "", "#" + pathname.slice(here.pathname.length) + search + hash);
    document.title = page.title;
    localStorage.language = page.documentElement.dataset.language ?? language;
    if (page.documentElement.dataset.theme) document.documentElement.dataset.theme = page.documentElement.dataset.theme;
    page.addEventListener("click", (event) => {
      const link = event.target.closest("a[href]");
      if (link && link.origin !== location.origin) link.target = "_blank";
    }, true);
  });
  frame.src = target;
  addEventListener("hashchange", () => { frame.src = wanted(); });
}

/* Export, import, start over. */
const buttons = Object.fromEntries(["export", "import", "start-over"].map((id) => [id, document.getElementById(id)]));
buttons.export.onclick = async () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await site.call("kept")], { type: "application/vnd.sqlite3" }));
  link.download = "schema-lab-progress.sqlite3";
  link.click();
  URL.revokeObjectURL(link.href);
};
buttons.import.onchange = async () => {
  const bytes = new Uint8Array(await buttons.import.files[0].arrayBuffer());
  buttons.import.value = "";
  if (!(await site.call("may_keep", bytes))) return alert(word("not_kept"));
  await keep(bytes);
  location.reload();
};
buttons["start-over"].onclick = async () => {
  if (!confirm(word("sure"))) return;
  await store("readwrite", (kept) => kept.clear());
  location.reload();
};

/* The first screen, before Python: links wait. */
const wanted = () => decodeURI(location.hash.slice(1)) || "lab/";
let target = wanted();
const first = await fetch(`first.${language}.html`).then((answer) => answer.text());
if (target === "lab/") {
  frame.srcdoc = first.replaceAll("/-prefix-/", here.pathname);
  frame.addEventListener("load", () => frame.contentDocument.addEventListener("click", (event) => {
    const link = event.target.closest("a, button");
    event.preventDefault();
    if (link?.pathname?.startsWith(here.pathname)) { target = (link.pathname + link.search).slice(here.pathname.length); show(word("soon")); }
  }, true), { once: true });
}
if (!navigator.serviceWorker) fail(word("no_workers"));
const registered = await navigator.serviceWorker.register("sw.js").catch(() => fail(word("no_workers")));
await navigator.serviceWorker.ready;
if (!navigator.serviceWorker.controller) await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
registered.update().catch(() => {}); // without a network the lab of the last visit runs

const LOCK = "schemalab-anywhere " + here.pathname;
const leadForGood = async () => {
  holdsLock = true;
  await lead().catch((error) => fail(error.message));
  open();
  for (const one of document.querySelectorAll("footer :disabled")) one.disabled = false;
  await new Promise(() => {});
};
await navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => lock && leadForGood()); // ends where another tab leads
open();
navigator.locks.request(LOCK, leadForGood);
