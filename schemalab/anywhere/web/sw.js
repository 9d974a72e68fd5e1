/* Answers everything below its folder: files of the list from the cache, and all else from the shell that leads.
   VERSION and FILES (name, bytes, SHA-256, whether it lies there compressed) stand above, written by `pack`. */
const SCOPE = self.registration.scope, CACHE = `schemalab-anywhere ${SCOPE} `, NAMES = new Set(FILES.map(([name]) => name)), AGAIN_MS = 500;
const TYPES = { css: "text/css", html: "text/html; charset=utf-8", js: "text/javascript", json: "application/json", mjs: "text/javascript", svg: "image/svg+xml", wasm: "application/wasm" };
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; object-src 'none'; base-uri 'self'; frame-ancestors 'self'";

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const shells = () => self.clients.matchAll({ includeUncontrolled: true, type: "window" }).then((all) => all.filter((one) => one.frameType === "top-level"));

/* Fetches the whole list, so that the lab works without a network after the first visit. */
async function load() {
  const cache = await caches.open(CACHE + VERSION), all = FILES.reduce((sum, [, bytes]) => sum + bytes, 0), waiting = [...FILES];
  let loaded = 0;
  const next = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      const [name, bytes, sha256, isCompressed] = file;
      const answer = await fetch(new URL(name + (isCompressed ? ".gz" : ""), SCOPE), { cache: "no-cache" });
      if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
      let content = await answer.arrayBuffer();
      // a host that declares .gz as an encoding has unpacked it already
      if (content.byteLength === bytes && hex(await crypto.subtle.digest("SHA-256", content)) === sha256) {
        if (isCompressed) content = await new Response(new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
      } else if (!isCompressed) throw new Error(`${name} is not the file of this version`);
      const type = TYPES[name.split(".").pop()] ?? "application/octet-stream";
      await cache.put(new URL(name, SCOPE), new Response(content, { headers: { "Content-Type": type, "Content-Security-Policy": POLICY } }));
      loaded += bytes;
      for (const shell of await shells()) shell.postMessage({ loaded, all });
    }
  };
  await Promise.all([next(), next(), next(), next()]);
}
async function takeOver() {
  for (const name of await caches.keys()) if (name.startsWith(CACHE) && name !== CACHE + VERSION) await caches.delete(name);
  await self.clients.claim();
}
self.addEventListener("install", (event) => { self.skipWaiting(); event.waitUntil(load()); });
self.addEventListener("activate", (event) => event.waitUntil(takeOver()));

self.addEventListener("fetch", (event) => {
  const { request } = event, url = new URL(request.url), name = decodeURI(url.href.slice(SCOPE.length).split(/[?#]/)[0]) || "index.html";
  if (!url.href.startsWith(SCOPE) || name === "sw.js") return;
  if (NAMES.has(name)) event.respondWith(caches.open(CACHE + VERSION).then((cache) => cache.match(new URL(name, SCOPE))).then((found) => found ?? fetch(request)));
  else if (request.destination === "document") event.respondWith(Response.redirect(`${SCOPE}#${url.href.slice(SCOPE.length)}`));
  else event.respondWith(ask(request, url));
});

/* Asks every shell until the one that leads takes the request; only then is it carried out. */
async function ask(request, url) {
  const sent = { method: request.method, address: url.pathname + url.search, headers: { ...Object.fromEntries(request.headers), host: url.host } };
  sent.body = new Uint8Array(await request.arrayBuffer());
  const { status, headers, content } = await new Promise((resolve) => {
    const again = async () => {
      for (const shell of await shells()) {
        const channel = new MessageChannel();
        channel.port1.onmessage = ({ data }) => { if (data.taken) clearInterval(timer); else resolve(data); };
        shell.postMessage({ request: sent }, [channel.port2]);
      }
    };
    const timer = setInterval(again, AGAIN_MS);
    again();
  });
  const location = headers.find(([name]) => name === "Location");
  if (location) return Response.redirect(new URL(location[1], url), status);
  return new Response([204, 304].includes(status) ? null : content, { status, headers });
}
