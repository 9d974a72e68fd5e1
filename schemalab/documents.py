"""The documentation as pages, and the files of the code that it names, without sign-in. Paths are those of the clone,
so its own links work. Other folders and kinds of files are not served."""

import re
from itertools import pairwise
from pathlib import Path
from posixpath import normpath

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(settings.BASE_DIR)
DOCS = "docs"
FOLDERS = ("tutorial", "how-to", "architecture", "reference")
SOURCES = (
    "catalog", "changes", "expressions", "lab", "leases", "nodes", "rollouts", "schemalab", "spark_tasks", "storage",
    "static/lab", "docs/spec", "tests",
)  # fmt: skip
KINDS = {".py", ".toml", ".md", ".sql", ".js", ".tla", ".golden", ".script"}
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
NUMBERED = re.compile(r"(\d+)\. ")


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    folders = [
        (
            name,
            [
                (path.relative_to(ROOT / DOCS).as_posix(), _title(path))
                for path in sorted((ROOT / DOCS / name).glob("*.md"), key=_place)
            ],
        )
        for name in FOLDERS
    ]
    return render(request, "docs_index.html", {"folders": folders})


@require_GET
def page(request: HttpRequest, path: str) -> HttpResponse:
    file = _file(f"{DOCS}/{path}")
    if file.suffix != ".md":
        raise Http404(f"there is no page {path}")
    return render(request, "docs_page.html", {"title": _title(file), "path": path, "body": html_of(file)})


@require_GET
def source(request: HttpRequest, path: str) -> HttpResponse:
    if not path.startswith(tuple(f"{folder}/" for folder in SOURCES)):
        raise Http404(f"there is no source {path}")
    lines = _file(path).read_text(encoding="utf-8").splitlines()
    return render(request, "docs_source.html", {"path": path, "lines": lines})


def _file(path: str) -> Path:
    """Raises `Http404` for other files, and for paths that leave the clone."""
    found = ROOT / path
    is_plain = normpath(path) == path and not any(part.startswith(".") for part in Path(path).parts)
    if not is_plain or found.suffix not in KINDS or not found.is_file():
        raise Http404(f"there is no {path}")
    return found


def _title(file: Path) -> str:
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").replace("`", "")


def _place(file: Path) -> tuple[int, str]:
    """Numbered pages stand in their order, behind those without a number."""
    numbered = NUMBERED.match(_title(file))
    return (0 if numbered is None else int(numbered[1]), file.name)


def html_of(file: Path) -> SafeString:
    tokens = MARKDOWN.parse(file.read_text(encoding="utf-8"))
    folder = file.relative_to(ROOT).parent.as_posix()
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", re.sub(r"[^\w\- ]", "", inline.content.lower()).replace(" ", "-"))
            numbered = NUMBERED.match(inline.content)
            if numbered is not None:
                heading.attrSet("data-section", numbered[1])
    for token in tokens:
        for inside in token.children or ():
            if inside.type == "link_open":
                _lead(inside, folder)
    rendered = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}).replace("<th></th>", "<td></td>")
    return SafeString(re.sub(r'(<h\d [^>]*)data-section="(\d+)">', r'\1><span id="section-\2"></span>', rendered))


def _lead(link: Token, folder: str) -> None:
    """Links to code lead to its source; links to files that are not served are dropped."""
    address = str(link.attrGet("href") or "")
    if re.match(r"[a-z]+:|#|/", address):
        return
    path = normpath(f"{folder}/{address.partition('#')[0]}")
    if path.startswith(f"{DOCS}/") and path.endswith(".md"):
        return
    is_served = path.startswith(tuple(f"{one}/" for one in SOURCES)) and Path(path).suffix in KINDS
    link.attrSet("href", reverse("source", args=(path,)) if is_served else "#")
