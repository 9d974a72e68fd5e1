/* Python in a worker, in one of two roles: the site, or a search. Calls wait until it has started. */
import { loadPyodide } from "./py/pyodide.mjs";

const beside = (name) => new URL(name, import.meta.url).href;
const started = (async () => {
  const env = {
    HOME: "/home/pyodide", DJANGO_SETTINGS_MODULE: "schemalab.anywhere.settings", DJANGO_ALLOW_ASYNC_UNSAFE: "1",
    PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION: "python", PYTHONTZPATH: "/app/zoneinfo", PYTHONUTF8: "1",
  };
  const python = await loadPyodide({ indexURL: beside("py/"), env });
  python.unpackArchive(await fetch(beside("site.zip")).then((answer) => answer.arrayBuffer()), "zip", { extractDir: "/app" });
  python.runPython("import sys; sys.path.insert(0, '/app'); sys.dont_write_bytecode = True");
  const role = self.location.hash.slice(1);
  return python.pyimport(`schemalab.anywhere.bridge.${role}`);
})();

const post = (message) => postMessage(message.toJs({ dict_converter: Object.fromEntries }));
function plain(value) {
  if (typeof value?.toJs !== "function") return value;
  const made = value.toJs({ dict_converter: Object.fromEntries });
  value.destroy();
  return made;
}

onmessage = async ({ data: { id, name, args } }) => {
  try {
    const bridge = await started;
    postMessage({ id, result: plain(bridge[name](...args, post)) });
  } catch (error) {
    postMessage({ id, error: String(error) });
  }
};
