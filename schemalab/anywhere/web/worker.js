/* Python in a worker, in one of two roles: the site, or a search. Calls wait until it has started.
   The first start keeps a copy of the memory, without progress; later ones begin with it, in a tenth of the time. */
const here = new URL("./", import.meta.url), role = self.location.hash.slice(1);
const ENV = {
  HOME: "/home/pyodide", DJANGO_SETTINGS_MODULE: "schemalab.anywhere.settings", DJANGO_ALLOW_ASYNC_UNSAFE: "1",
  PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION: "python", PYTHONTZPATH: "/app/zoneinfo", PYTHONUTF8: "1",
};
const bytes = async (answer) => new Uint8Array(await answer.arrayBuffer());

/* Without a service worker nobody unpacks the files that lie compressed at the host. */
const isAlone = self.location.search === "?alone", fetched = self.fetch;
if (isAlone) self.fetch = async (url) => {
  const name = new URL(url, here).href, packed = await fetched(`${name}.gz`), type = name.endsWith(".wasm") ? "application/wasm" : "";
  return packed.ok ? new Response(packed.body.pipeThrough(new DecompressionStream("gzip")), { headers: { "Content-Type": type } }) : fetched(name);
};
const module = async (name) => import(isAlone ? URL.createObjectURL(new Blob([await bytes(await fetch(name))], { type: "text/javascript" })) : name);

/* `site.files`: a line of JSON with names and lengths, then all contents. */
function place(FS, files) {
  let at = files.indexOf(10) + 1;
  for (const [name, length] of JSON.parse(new TextDecoder().decode(files.subarray(0, at)))) {
    FS.mkdirTree(`/app/${name}`.replace(/[/][^/]*$/, ""));
    FS.writeFile(`/app/${name}`, files.subarray(at, at += length));
  }
}

/* Pyodide makes no room for a copy that is larger than its first memory (pyodide/pyodide#6254), so this does. */
const roomFor = (memory, create) => async (settings) => {
  const made = await create(settings);
  made._malloc(memory.length);
  made.HEAP8.fill(0, memory.length);
  return made;
};

async function start() {
  const [{ loadPyodide }, { default: create }] = await Promise.all(["./py/pyodide.mjs", "./py/pyodide.asm.mjs"].map(module));
  const files = await bytes(await fetch(new URL("site.files", here)));
  const begun = async (options) => {
    const python = await loadPyodide({ indexURL: new URL("py/", here).href, env: ENV, createPyodideModule: create, ...options });
    place(python.FS, files);
    return python;
  };
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", files)).join(""), name = new URL(`memory-${hash}`, here);
  const cache = await self.caches?.open(`schemalab-anywhere ${here} memory`).catch(() => null), kept = await cache?.match(name);
  if (kept) {
    try {
      const memory = await bytes(kept);
      return (await begun({ _loadSnapshot: memory, createPyodideModule: roomFor(memory, create) })).pyimport(`schemalab.anywhere.bridge.${role}`);
    } catch (error) {
      console.warn(error);
      await cache.delete(name);
    }
  }
  const python = await begun({ _makeSnapshot: true });
  python.runPython("import sys; sys.path.insert(0, '/app'); sys.dont_write_bytecode = True");
  if (role === "site") {
    const given = [here.pathname, navigator.languages.join()].map((one) => JSON.stringify(one));
    python.runPython(`from schemalab.anywhere.bridge.site import prepare; prepare(${given})`);
    cache?.put(name, new Response(python.makeMemorySnapshot())).catch((error) => console.warn(error)); // a full disk: the next start is as long
  }
  return python.pyimport(`schemalab.anywhere.bridge.${role}`);
}
const bridge = start();

const options = { dict_converter: Object.fromEntries }, post = (message) => postMessage(message.toJs(options));
function plain(value) {
  if (typeof value?.toJs !== "function") return value;
  const made = value.toJs(options);
  value.destroy();
  return made;
}

onmessage = async ({ data: { id, name, args } }) => {
  try {
    postMessage({ id, result: plain((await bridge)[name](...args, post)) });
  } catch (error) {
    postMessage({ id, error: String(error) });
  }
};
