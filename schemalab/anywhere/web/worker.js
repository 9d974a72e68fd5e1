/* Python in a worker, in one of two roles: the site, or a search. Calls wait until it has started.
   The first start keeps a copy of the memory, without progress; later ones begin with it, in a tenth of the time. */
import createPyodideModule from "./py/pyodide.asm.mjs";
import { loadPyodide } from "./py/pyodide.mjs";

const here = new URL("./", import.meta.url), role = self.location.hash.slice(1);
const bytes = async (answer) => new Uint8Array(await (await answer).arrayBuffer());
const ENV = {
  HOME: "/home/pyodide", DJANGO_SETTINGS_MODULE: "schemalab.anywhere.settings", DJANGO_ALLOW_ASYNC_UNSAFE: "1",
  PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION: "python", PYTHONTZPATH: "/app/zoneinfo", PYTHONUTF8: "1",
};

/* `site.files`: a line of JSON with names and lengths, then all contents. */
function place(FS, files) {
  let at = files.indexOf(10) + 1;
  for (const [name, length] of JSON.parse(new TextDecoder().decode(files.subarray(0, at)))) {
    FS.mkdirTree(`/app/${name}`.replace(/[/][^/]*$/, ""));
    FS.writeFile(`/app/${name}`, files.subarray(at, at += length));
  }
}

async function begin(files, options) {
  const python = await loadPyodide({ indexURL: new URL("py/", here).href, env: ENV, ...options });
  place(python.FS, files);
  return python;
}

/* Pyodide does not make room for a copy that is larger than its first memory (pyodide/pyodide#6254). */
const roomFor = (memory) => async (settings) => {
  const made = await createPyodideModule(settings);
  made._malloc(memory.length);
  made.HEAP8.fill(0, memory.length);
  return made;
};

async function start() {
  const files = await bytes(fetch(new URL("site.files", here)));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", files)).join("");
  const cache = await caches.open(`schemalab-anywhere ${here} memory`), name = new URL(`memory-${hash}`, here);
  const memory = await cache.match(name).then((found) => found && bytes(found));
  if (memory) {
    try {
      return await begin(files, { _loadSnapshot: memory, createPyodideModule: roomFor(memory) });
    } catch (error) {
      console.warn(error);
      await cache.delete(name);
    }
  }
  const python = await begin(files, { _makeSnapshot: true });
  python.runPython("import sys; sys.path.insert(0, '/app'); sys.dont_write_bytecode = True");
  if (role === "search") return python;
  python.runPython(`from schemalab.anywhere.bridge.site import prepare; prepare(${JSON.stringify(here.pathname)}, ${JSON.stringify(navigator.languages.join())})`);
  cache.put(name, new Response(python.makeMemorySnapshot())).catch((error) => console.warn(error)); // a full disk: the next start is as long
  return python;
}
const bridge = start().then((python) => python.pyimport(`schemalab.anywhere.bridge.${role}`));

const post = (message) => postMessage(message.toJs({ dict_converter: Object.fromEntries }));
function plain(value) {
  if (typeof value?.toJs !== "function") return value;
  const made = value.toJs({ dict_converter: Object.fromEntries });
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
