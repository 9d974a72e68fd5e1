/* Answers all below its folder: files of the list from the cache, everything else by the tab that leads.
   `pack` writes VERSION and FILES above: for each name its bytes, integrity, type, and whether it lies there compressed. */
const SCOPE = self.registration.scope, NAME = `schemalab-anywhere ${SCOPE}`, CACHE = `${NAME} files ${VERSION}`;
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; object-src 'none'; base-uri 'self'; frame-ancestors 'self'";
const tabs = new BroadcastChannel(NAME), waiting = new Map();

/* Fetches the whole list, so that the lab works without a network after the first visit. */
async function load() {
  const cache = await caches.open(CACHE), all = Object.values(FILES).reduce((sum, { bytes }) => sum + bytes, 0);
  let loaded = 0;
  await Promise.all(Object.entries(FILES).map(async ([name, { bytes, integrity, type, isCompressed }]) => {
    const { body, headers } = await fetch(SCOPE + name + (isCompressed ? ".gz" : ""), { integrity, cache: "no-cache" });
    // a host that declares .gz as an encoding has it unpacked by the browser
    const content = isCompressed && !headers.has("Content-Encoding") ? body.pipeThrough(new DecompressionStream("gzip")) : body;
    await cache.put(SCOPE + name, new Response(content, { headers: { "Content-Type": type, "Content-Security-Policy": POLICY } }));
    tabs.postMessage({ loaded: loaded += bytes, all });
  }));
}
async function leaveOlder() {
  for (const name of await caches.keys()) if (name.startsWith(`${NAME} files`) && name !== CACHE) await caches.delete(name);
}
self.addEventListener("install", (event) => { self.skipWaiting(); event.waitUntil(load()); });
self.addEventListener("activate", (event) => event.waitUntil(leaveOlder()));
self.addEventListener("message", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event, below = request.url.slice(SCOPE.length), name = decodeURI(below.split(/[?#]/)[0]) || "index.html";
  if (!request.url.startsWith(SCOPE) || name === "sw.js") return;
  if (name in FILES) event.respondWith(caches.match(SCOPE + name, { cacheName: CACHE }).then((found) => found ?? fetch(request)));
  else event.respondWith(request.destination === "document" ? Response.redirect(`${SCOPE}#${below}`) : ask(request));
});

/* A request waits until the tab that leads has answered it. A tab that begins to lead gets all that wait. */
async function ask(request) {
  const { url, method } = request, id = crypto.randomUUID();
  const asked = { id, request: { address: url, method, headers: Object.fromEntries(request.headers), body: await request.arrayBuffer() } };
  const { status, headers, content } = await new Promise((answered) => {
    waiting.set(id, { asked, answered });
    tabs.postMessage(asked);
  });
  waiting.delete(id);
  const location = new Headers(headers).get("Location");
  return location ? Response.redirect(new URL(location, url), status) : new Response(content.length ? content : null, { status, headers });
}
tabs.onmessage = ({ data: { leads, id, answer } }) => {
  if (leads) for (const { asked } of waiting.values()) tabs.postMessage(asked);
  waiting.get(id)?.answered(answer);
};
