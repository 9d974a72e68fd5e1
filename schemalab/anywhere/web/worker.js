/* Python in a worker, in one of two roles: the site, or a search. Calls wait until it has started.
   The first start keeps a copy of the memory, without progress; later ones begin with it, in a tenth of the time. */
const here = new URL("./", import.meta.url).href, role = self.location.hash.slice(1), isAlone = self.location.search === "?alone", NAME = `schemalab-anywhere ${here}`;
const bytes = async (answer) => new Uint8Array(await answer.arrayBuffer());

/* Without a service worker, files lie compressed at the host, and this unpacks them. */
const fetched = self.fetch;
if (isAlone) self.fetch = async (url) => {
  const name = new URL(url, here).href, packed = await fetched(`${name}.gz`), type = name.endsWith(".wasm") ? "application/wasm" : "text/javascript";
  return packed.ok ? new Response(packed.body.pipeThrough(new DecompressionStream("gzip")), { headers: { "Content-Type": type } }) : fetched(name);
};
async function module(name) {
  const url = `${here}py/${name}.mjs`;
  return import(isAlone ? URL.createObjectURL(await (await fetch(url)).blob()) : url);
}

/* The site's files: a line of JSON with names and lengths, then all contents. */
function place(FS, files) {
  let at = files.indexOf(10) + 1;
  for (const [name, length] of JSON.parse(new TextDecoder().decode(files.subarray(0, at)))) {
    FS.mkdirTree(`/app/${name}`.replace(/[/][^/]*$/, ""));
    FS.writeFile(`/app/${name}`, files.subarray(at, at += length));
  }
}

async function start() {
  const [{ loadPyodide }, { default: create }, { default: parser }] = await Promise.all(["pyodide", "pyodide.asm", "libpg-query"].map(module));
  self.postgres = await parser({ locateFile: (name) => `${here}py/${name}` }); // Python calls it
  const packed = await bytes(await fetch(`${here}site.files.xz`)), version = new Uint8Array(await crypto.subtle.digest("SHA-256", packed)).join("");
  const begin = (options) => loadPyodide({ indexURL: `${here}py/`, createPyodideModule: create, ...options });
  const copies = await self.caches?.open(`${NAME} memory`).catch(() => null), names = ["memory", "files"].map((of) => `${here}${of}-${version}`);
  const [memory, unpacked] = await Promise.all(names.map(async (name) => { const copy = await copies?.match(name); return copy && bytes(copy); }));
  const bridge = (python, files) => { place(python.FS, files); return python.pyimport(`schemalab.anywhere.bridge.${role}`); };
  if (memory && unpacked) try {
    // Pyodide makes no room for a copy that is larger than its first memory (pyodide/pyodide#6254)
    const createPyodideModule = async (settings) => {
      const made = await create(settings);
      made._malloc(memory.length);
      made.HEAP8.fill(0, memory.length);
      return made;
    };
    return bridge(await begin({ _loadSnapshot: memory, createPyodideModule }), unpacked);
  } catch (error) {
    console.warn(error);
    await Promise.all(names.map((name) => copies.delete(name)));
  }
  const python = await begin({ _makeSnapshot: true });
  python.FS.writeFile("/packed", packed);
  python.runPython("import lzma, pathlib, sys; packed = pathlib.Path('/packed'); packed.write_bytes(lzma.decompress(packed.read_bytes()))");
  const files = python.FS.readFile("/packed");
  python.FS.unlink("/packed");
  python.runPython("del packed; sys.path.insert(0, '/app'); sys.dont_write_bytecode = True");
  const found = bridge(python, files);
  if (role === "site") {
    found.prepare(new URL(here).pathname, navigator.languages.join());
    const made = [python.makeMemorySnapshot(), files];
    Promise.all(names.map((name, at) => copies?.put(name, new Response(made[at])))).catch((error) => console.warn(error)); // a full disk: the next start is as long
  }
  return found;
}
const started = start(), plain = (value) => value?.toJs?.({ dict_converter: Object.fromEntries }) ?? value;

/* Progress is one file, stored before an answer is shown. The service worker asks all tabs; the one that leads answers. */
const store = self.caches?.open(`${NAME} progress`).catch(() => null), tabs = new BroadcastChannel(NAME), taken = new Set();
let cookies = "";
const calls = {
  async start(given) {
    cookies = given;
    const isKept = (await started).start(await (await (await store)?.match("progress"))?.arrayBuffer());
    tabs.onmessage = async ({ data: { id, request, cookies: changed = cookies } }) => {
      cookies = changed;
      if (!request || taken.has(id)) return;
      taken.add(id);
      tabs.postMessage({ id, answer: await calls.answer(request) });
    };
    tabs.postMessage({ leads: true });
    return isKept;
  },
  async answer({ headers, ...request }) {
    const asked = { ...request, headers: { ...headers, host: location.host, "accept-language": navigator.languages.join() }, cookies };
    return follow((await started).answer(asked));
  },
  searched: async (...given) => follow((await started).searched(...given)),
  keep: async (file) => (await store)?.put("progress", new Response(file)),
  forget: async () => (await store)?.delete("progress"),
};
async function follow(said) {
  const { progress, search, ...answer } = plain(said);
  if (progress) await calls.keep(progress);
  if (search) postMessage({ search });
  return answer;
}

onmessage = async ({ data: [name, ...args], ports: [port] }) => {
  try {
    port.postMessage({ result: plain(await (calls[name] ?? (await started)[name])(...args)) });
  } catch (error) {
    port.postMessage({ error: String(error) });
  }
};
