/* Compiles the modules of folders in place, for the Python in which they will run: Pyodide itself, under Node. What no
   page of the lab reads is left out: docstrings, places of lines, names of variables, and in the site annotations of
   functions.
   node compile.mjs PYODIDE [FOLDER PLACE-IN-THE-BROWSER] .. */
import { pathToFileURL } from "node:url";

const [pyodide, ...folders] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: pyodide });
for (let at = 0; at < folders.length; at += 2) {
  python.mountNodeFS(`/${at}`, folders[at]);
  python.globals.set("given", python.toPy([`/${at}`, folders[at + 1]]));
  python.runPython(`
import ast, inspect, pathlib, types
from importlib._bootstrap_external import _code_to_hash_pyc

def bare(code):
    """Without lines, columns and names of variables, which are half of it: a traceback names files and functions."""
    units = len(code.co_code) // 2
    nowhere = b"\\xff" * (units // 8) + bytes([0xF7 + units % 8] if units % 8 else [])  # 8 units an entry, none has a place
    consts = tuple(bare(one) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=consts, co_linetable=nowhere, co_firstlineno=1, co_varnames=short(code))

def short(code):
    """The names of arguments, by which calls give them, and numbers for other variables."""
    count = code.co_argcount + code.co_kwonlyargcount + sum(bool(code.co_flags & one) for one in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS))
    names = code.co_varnames
    if "locals" in code.co_names or not set(names[count:]).isdisjoint(code.co_cellvars):
        return names
    return (*names[:count], *(f"_{number}" for number in range(len(names) - count)))

def read_by_nobody_left_out(tree, is_annotated):
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node, False) is not None:
            node.body[:1] = [] if len(node.body) > 1 or isinstance(node, ast.Module) else [ast.copy_location(ast.Pass(), node.body[0])]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_annotated:
            node.returns = None
        if isinstance(node, ast.arg) and not is_annotated:
            node.annotation = None
    return tree

folder, place = map(pathlib.Path, given)
for path in folder.rglob("*.py"):
    tree = read_by_nobody_left_out(ast.parse(path.read_bytes()), str(place).startswith("/lib/"))  # the library dispatches by them
    code = compile(tree, str(place / path.relative_to(folder)), "exec", dont_inherit=True)
    path.with_suffix(".pyc").write_bytes(_code_to_hash_pyc(bare(code), bytes(8), False))
`);
}
