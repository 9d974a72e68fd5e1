/* Compiles the modules of folders in place, for the Python in which they will run: Pyodide itself, under Node.
   node compile.mjs PYODIDE [FOLDER PLACE-IN-THE-BROWSER OPTIMIZE] .. */
import { pathToFileURL } from "node:url";

const [pyodide, ...folders] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: pyodide });
const compile = python.runPython(`
import compileall, py_compile
lambda folder, place, optimize: compileall.compile_dir(
    folder, maxlevels=99, quiet=1, legacy=True, stripdir=folder, prependdir=place, optimize=optimize,
    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)`);
for (let at = 0; at < folders.length; at += 3) {
  python.mountNodeFS(`/${at}`, folders[at]);
  if (!compile(`/${at}`, folders[at + 1], Number(folders[at + 2]))) process.exit(1);
}
