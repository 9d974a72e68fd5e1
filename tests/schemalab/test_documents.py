"""The documentation and the code as pages: what is served, what is not, and where their links lead."""

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.conf import settings
from django.test import Client

from lab.exercises.shelf import books

DOCS = Path(settings.BASE_DIR) / "docs"
PAGES = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_served_with_its_title(page: str, db: None) -> None:
    shown = Client().get(f"/docs/{page}").content.decode()
    assert "<h1" in shown


def test_links_lead_to_headings_pages_and_sources(db: None) -> None:
    client = Client()
    shown = client.get("/docs/how-to/teach-a-class.md").content.decode()
    assert 'id="behind-nginx"' in shown
    for path in re.findall(r'href="(\.\./[^"#]+\.md)', shown):
        assert client.get(urljoin("/docs/how-to/", path)).status_code == 200, path
    protocol = client.get("/docs/reference/protocol.md").content.decode()
    assert 'id="section-4"' in protocol


def test_sources_of_every_chapter_are_served(db: None) -> None:
    client = Client()
    chapters = [book.chapter for book in books() if book.chapter is not None]
    paths = {path for chapter in chapters for one in chapter.screens for path in one.sources.code}
    assert paths
    assert {path: client.get(f"/source/{path}").status_code for path in paths} == dict.fromkeys(paths, 200)


@pytest.mark.parametrize(
    "path",
    [
        "docs/../README.md",
        "docs/nothing.md",
        "docs/images/cluster.webp",
        "source/.env",
        "source/manage.py",
        "source/lab/../.env",
        "source/lab/.hidden.py",
        "source//etc/passwd",
        "source/lab/exercises",
        "source/schemalab/local_secrets.txt",
    ],
)
def test_nothing_else_is_served(path: str, db: None) -> None:
    assert Client().get(f"/{path}").status_code == 404


def test_the_index_lists_every_page_of_its_folders(db: None) -> None:
    shown = Client().get("/docs/").content.decode()
    for page in PAGES:
        if page.partition("/")[0] in ("tutorial", "how-to", "architecture", "reference"):
            assert f'href="/docs/{page}"' in shown
