"""Writes the lab as a folder of static files: `make anywhere`.

A walk through all chapters, under the imports that a browser has, finds the modules and files to pack. Pyodide compiles
the modules under Node, because compiling them in a browser takes longer than all the rest of its start. Large files
also lie there as .gz, since static hosts compress nothing.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zoneinfo
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from schemalab.anywhere import used
from schemalab.anywhere.loaded import OURS, THEIRS, OnlyWhatIsThere

ROOT = Path(__file__).resolve().parents[2]
WEB = Path(__file__).parent / "web"
LOCK = json.loads((Path(__file__).parent / "packages.json").read_text(encoding="utf-8"))
"""The packages of npm: version, SHA-256, the files taken from each, licence."""

COMPRESSED = (".js", ".json", ".mjs", ".wasm", ".zip")
TYPES = {
    ".css": "text/css",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}
AT = "/app"
"""The site's place in a browser's file system."""

COMPRESS_FROM = 32_768
SITE, LIBRARY = "site.files.xz", "python_stdlib.zip"
UNUSED = (
    "_pydatetime",
    "_pyio",
    "_pyrepl",
    "bdb",
    "ctypes",
    "curses",
    "dbm",
    "doctest",
    "ftplib",
    "imaplib",
    "mailbox",
    "pdb",
    "pickletools",
    "poplib",
    "pstats",
    "pydoc",
    "pydoc_data",
    "unittest",
    "webbrowser",
    "xmlrpc",
)
"""Modules of the standard library that are left out: 1.3 MB, which no page of the lab loads."""

DATA = (
    "lab/exercises/chapters",
    "lab/replays/recorded",
    "docs/tutorial",
    "docs/how-to",
    "docs/architecture",
    "docs/reference",
    "rollouts/templates",
    "schemalab/formats",
    "schemalab/anywhere/bridge",
    "schemalab/anywhere/texts.py",
)
"""Files of ours that pages read, and modules that only a browser imports. What the walk reads is packed as well."""

CATALOGUE = "locale/zh_Hans/LC_MESSAGES/django.mo"

READ = set[Path]()
"""Files of ours that the walk has read, modules apart."""

LANGUAGES = ("en", "zh-hans")
PREFIX = "/-prefix-/"
"""Stands for the place where the folder will lie: the first screens lie at its top, and name all from there."""

FORM = "application/x-www-form-urlencoded"
NPM_S_MAX, COMPILE_S_MAX = 300, 600


def main() -> None:
    parser = argparse.ArgumentParser(description="write the lab as a folder of static files")
    parser.add_argument("--into", type=Path, default=ROOT / "anywhere", help="the folder, which is written anew")
    into = parser.parse_args().into
    if into.exists() and any(into.iterdir()) and not (into / "sw.js").is_file():
        sys.exit(f"schemalab.anywhere.pack: {into} holds other files; name an empty folder")
    os.environ["DJANGO_SETTINGS_MODULE"] = "schemalab.anywhere.settings"
    sys.meta_path.insert(0, OnlyWhatIsThere())
    first = walk_all()
    if into.exists():
        shutil.rmtree(into)
    into.mkdir(parents=True)
    write_packages(into / "py")
    with tempfile.TemporaryDirectory() as folder:
        site, library = Path(folder) / "site", Path(folder) / "library"
        lay_out_site(site)
        lay_out_library(into / "py" / LIBRARY, library)
        compile_modules(into / "py", (site, AT), (library, f"/lib/{LOCK['library']}"))
        write_site(into / SITE, site)
        write_library(into / "py" / LIBRARY, library)
    shutil.copytree(ROOT / "static", into / "static")
    for language, page in first.items():
        (into / f"first.{language}.html").write_text(page.replace(PREFIX, "./"), encoding="utf-8")
    write_shell(into)
    size = sum(file.stat().st_size for file in into.rglob("*") if file.is_file())
    print(f"{into}: {size / 1e6:.1f} MB, {(into / SITE).stat().st_size / 1e6:.2f} MB of them the site")


def walk_all() -> dict[str, str]:
    """Walks through all chapters, so that all modules are loaded; returns the first screen in each language."""
    import django

    sys.addaudithook(note_opened)
    django.setup()
    from schemalab.anywhere.searches import search
    from schemalab.anywhere.site import Site
    from schemalab.anywhere.walk import Request, Response, walk

    site = Site(PREFIX)
    first = {
        language: site.answer("GET", f"{PREFIX}lab/", b"", {"Accept-Language": language}).body.decode()
        for language in LANGUAGES
    }

    def visit(request: Request) -> Response:
        body = urlencode(request.form or {}, doseq=True).encode()
        method = "GET" if request.form is None else "POST"
        answer = site.answer(method, PREFIX + request.address, body, {"Content-Type": FORM})
        location = dict(answer.headers).get("Location", "").removeprefix(PREFIX)
        return Response(answer.status, location, answer.body.decode())

    def answer_search() -> None:
        waiting = site.next_search()
        assert waiting is not None
        site.searched(waiting[0], search(waiting[1], lambda _: None))

    for request, response in walk(visit, answer_search):
        if response.status not in (200, 302):
            sys.exit(f"schemalab.anywhere.pack: {request.address} answers {response.status}")
    return first


def note_opened(event: str, values: tuple[Any, ...]) -> None:
    """An audit hook: keeps files of ours in `READ`."""
    if event != "open" or not isinstance(values[0], str):
        return
    path = Path(values[0])
    if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in OURS and path.suffix not in (".py", ".pyc"):
        READ.add(path)


def write_packages(into: Path) -> None:
    into.mkdir()
    for package in LOCK["packages"]:
        fetch(package, into)
    parser = into / "libpg-query.js"  # it is a script, and a worker imports modules
    parser.with_suffix(".mjs").write_bytes(parser.read_bytes() + b"\nexport default PgQueryModule;\n")
    parser.unlink()
    licences = "\n".join(package["licence"] for package in LOCK["packages"])
    (into / "LICENCES.txt").write_text(licences + "\n", encoding="utf-8")


def fetch(package: dict[str, Any], into: Path) -> None:
    """The files of a package, by the ordinary npm client, compared with the lock file."""
    wanted = f"{package['name']}@{package['version']}"
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", "--pack-destination", folder, wanted]
        subprocess.run(command, check=True, capture_output=True, timeout=NPM_S_MAX)
        (tarball,) = Path(folder).iterdir()
        found = hashlib.sha256(tarball.read_bytes()).hexdigest()
        if found != package["sha256"]:
            sys.exit(f"schemalab.anywhere.pack: {wanted} has sha256 {found}, not that of packages.json")
        with tarfile.open(tarball) as archive:
            for name in package["files"]:
                member = archive.extractfile(f"package/{name}")
                assert member is not None, name
                (into / Path(name).name).write_bytes(member.read())


def lay_out_site(site: Path) -> None:
    from lab.explorer import fingerprint
    from lab.sessions import session

    for name, path in (*_modules(), *_data(), *_parser()):
        _lay(site / name, path.read_bytes())
    lay_out_texts(site)
    places = (fingerprint.PLACES, session.rules_of())
    fingerprints = {" ".join(one): fingerprint.fingerprint(places=one) for one in places}
    _lay(site / fingerprint.RECORDED, json.dumps(fingerprints).encode())


def lay_out_texts(site: Path) -> None:
    modules = {path.relative_to(site): path.read_text(encoding="utf-8") for path in site.rglob("*.py")}
    elsewhere = (path for top in OURS for path in (ROOT / top).rglob("*.py") if path.relative_to(ROOT) not in modules)
    templates = {
        path.relative_to(ROOT / "templates").as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "templates").rglob("*.html")
    }
    shown = used.templates(modules.values(), templates)
    for name in shown:
        _lay(site / "templates" / name, templates[name].encode())
    data = (path.read_text(encoding="utf-8") for path in site.rglob("*") if path.suffix in (".html", ".json", ".toml"))
    used_here = used.Texts(modules.values(), data)
    at_home = (templates[name] for name in templates.keys() - shown)
    used_elsewhere = used.Texts((path.read_text(encoding="utf-8") for path in elsewhere), at_home)
    _lay(site / CATALOGUE, used.messages((ROOT / CATALOGUE).read_bytes(), used_here, used_elsewhere))


def _lay(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def lay_out_library(archive: Path, into: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            if name.endswith(".py") and name.split("/")[0].removesuffix(".py") not in UNUSED:
                packed.extract(name, into)


def compile_modules(pyodide: Path, *folders: tuple[Path, str]) -> None:
    """Compiles each folder's modules for their place in the browser, without docstrings and line tables."""
    given = [str(one) for folder in folders for one in folder]
    command = ["node", str(Path(__file__).with_name("compile.mjs")), str(pyodide), *given]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=COMPILE_S_MAX)
    if ended.returncode:
        sys.exit(f"schemalab.anywhere.pack: the modules could not be compiled: {(ended.stdout + ended.stderr)[-2000:]}")


def write_site(into: Path, folder: Path) -> None:
    """One file: a line of JSON with names and lengths, then all contents. It is a third smaller than as .gz."""
    files = {name: path.read_bytes() for name, path in _laid_out(folder)}
    index = json.dumps([[name, len(content)] for name, content in files.items()])
    content = b"\n".join((index.encode(), b"".join(files.values())))
    into.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def write_library(into: Path, folder: Path) -> None:
    """Not compressed: the whole file is, and reading a module from it needs no inflating."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_STORED) as archive:
        for name, path in _laid_out(folder):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), path.read_bytes())


def _laid_out(folder: Path) -> Iterator[tuple[str, Path]]:
    """All but sources, sorted: equal sources make equal folders."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".py":
            yield str(path.relative_to(folder)), path


def _modules() -> Iterator[tuple[str, Path]]:
    for name, module in list(sys.modules.items()):
        top, file = name.partition(".")[0], getattr(module, "__file__", None)
        if top in (*OURS, *THEIRS, "google") and file and file.endswith(".py"):
            parts = name.split(".")
            path = Path(file)
            yield "/".join([*parts, "__init__.py"] if path.name == "__init__.py" else [*parts[:-1], path.name]), path


def _data() -> Iterator[tuple[str, Path]]:
    for start in DATA:
        place = ROOT / start
        for path in sorted(place.rglob("*")) if place.is_dir() else (place,):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".po":
                yield str(path.relative_to(ROOT)), path
    yield from ((str(path.relative_to(ROOT)), path) for path in sorted(READ) if path.is_file())
    import django

    django_root = Path(django.__file__).parent
    for language in ("en", "zh_Hans"):
        for place in (django_root / "conf/locale", *(django_root / "contrib").glob("*/locale")):
            for path in (place / language).rglob("*"):
                if path.suffix in (".py", ".mo"):
                    yield f"django/{path.relative_to(django_root)}", path
    yield "zoneinfo/UTC", next(Path(folder) / "UTC" for folder in zoneinfo.TZPATH if (Path(folder) / "UTC").is_file())


def _parser() -> Iterator[tuple[str, Path]]:
    """Ours in the place of `postgast`, with the messages of its trees."""
    import postgast

    here, theirs = Path(__file__).parent, Path(postgast.__file__).parent
    yield "postgast/__init__.py", here / "parser.py"
    for name in ("errors.py", "pg_query_pb2.py", "pg_query.desc"):
        yield f"postgast/{name}", theirs / name
    import google.protobuf

    messages = Path(google.protobuf.__file__).parent
    yield "google/protobuf/json_format.py", messages / "json_format.py"


def write_shell(into: Path) -> None:
    """The shell's files; the service worker gets the list of all others, hashed, and compresses what is large."""
    for file in sorted(WEB.iterdir()):
        if file.name != "sw.js":
            shutil.copy(file, into / file.name)
    (into / "words.json").write_text(json.dumps(_words(), ensure_ascii=False), encoding="utf-8")
    files = [path for path in sorted(into.rglob("*")) if path.is_file()]
    listed = {str(path.relative_to(into)): _listed(into, path) for path in files}
    version = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
    text = (WEB / "sw.js").read_text(encoding="utf-8")
    heading = f'const VERSION = "{version}";\nconst FILES = {json.dumps(listed)};\n'
    (into / "sw.js").write_text(heading + text, encoding="utf-8")


def _listed(into: Path, path: Path) -> dict[str, Any]:
    """A file of the list. A browser unpacks what a host declares as an encoding, then compares the content: both hashes
    are right."""
    content = path.read_bytes()
    hashes = [content]
    is_compressed = path.suffix in COMPRESSED and len(content) > COMPRESS_FROM
    if is_compressed:
        content = gzip.compress(content, compresslevel=9, mtime=0)
        hashes.append(content)
        path.unlink()
        path.with_name(path.name + ".gz").write_bytes(content)
    integrity = " ".join(f"sha256-{b64encode(hashlib.sha256(one).digest()).decode()}" for one in hashes)
    kind = TYPES.get(path.suffix, "application/octet-stream")
    return {"bytes": len(content), "integrity": integrity, "type": kind, "isCompressed": is_compressed}


def _words() -> dict[str, dict[str, str]]:
    from django.utils import translation

    from schemalab.anywhere.words import WORDS

    words = {}
    for language in LANGUAGES:
        with translation.override(language):
            words[language] = {name: translation.gettext(text) for name, text in WORDS.items()}
    return words


if __name__ == "__main__":
    main()
