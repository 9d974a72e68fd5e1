"""Places in the code that a text names in backticks: files, folders, modules and what is defined in them."""

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = "catalog|changes|expressions|lab|leases|nodes|schemalab|spark_tasks|storage|tests|tools"
"""The first part of a module's name."""
FILE = re.compile(r"[\w./-]+\.(?:py|md|html|sql|script|js|css|txt|toml|sh)")
MODULE = re.compile(rf"(?:{PACKAGES})(?:\.\w+)+")
FOLDER = re.compile(r"(?:[\w.-]+/)+")


def named(text: str) -> Iterator[str]:
    """The files, folders and modules that a text names in backticks; `DIR/NAME.py` is none, but a form of one."""
    for quoted in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text):
        name = quoted.split("::")[0].rstrip("()")
        is_folder = FOLDER.fullmatch(name) and name.split("/")[0] in PACKAGES.split("|")
        is_form = re.search(r"\b[A-Z]{2,}\b", name.removesuffix("README.md"))
        if (FILE.fullmatch(name) or MODULE.fullmatch(name) or is_folder) and not is_form:
            yield name


def exists(name: str, named_in: str) -> bool:
    """Whether there is such a place: by its path from the root, or from the file that names it."""
    if MODULE.fullmatch(name) and _is_defined(name.split(".")):
        return True
    if FILE.fullmatch(name):
        beside = (ROOT / named_in).parent / name
        return (ROOT / name).exists() or beside.exists() or ("/" not in name and name in _basenames())
    return name.endswith("/") and (ROOT / name).is_dir()


@functools.cache
def kept() -> tuple[str, ...]:
    """All files of the project, as git lists them."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return tuple(sorted(path for path in listed if (ROOT / path).exists()))


@functools.cache
def _basenames() -> frozenset[str]:
    return frozenset(path.rsplit("/", 1)[-1] for path in kept())


@functools.cache
def source(path: str) -> str:
    """The text of a file, by its path from the root."""
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def tree(path: str) -> ast.Module:
    """The syntax tree of a module: parsed once for all tests of a process, which are those of `tests.groups`."""
    return ast.parse(source(path))


def _is_defined(parts: list[str]) -> bool:
    """Whether the first parts are a module, and the others a definition in it (of a class: something that it binds)."""
    for length in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:length])
        for module in (base.with_suffix(".py"), base / "__init__.py"):
            if module.exists():
                return _binds(tree(str(module.relative_to(ROOT))), parts[length:])
        if base.is_dir():
            return not parts[length:]
    return False


def _binds(node: ast.AST, names: list[str]) -> bool:
    if not names:
        return True
    for one in ast.walk(node):
        match one:
            case ast.ClassDef(name=name) if name == names[0]:
                return _binds(one, names[1:])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                if name == names[0]:
                    return True
            case ast.alias(name=name, asname=asname) if (asname or name) == names[0]:
                return True
    return False
