"""The packed files suffice: each chapter's first screen and handout open from a copy of them alone, in Chinese, with
Python alone but for this machine's parser (in a browser it is WebAssembly: `test_parser`)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import google.protobuf
import postgast

from tests.anywhere.test_alike import difference

ROOT = Path(__file__).parents[2]

VISIT = """
import json, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "schemalab.anywhere.settings"

def visit():
    import django
    django.setup()
    from lab.exercises.shelf import books
    from schemalab.anywhere.loaded import PAGES
    from schemalab.anywhere.site import Site
    site = Site("/")
    chapters = [f"lab/chapters/{book.folder}/" for book in books() if book.chapter is not None]
    for page in (*PAGES, "docs/architecture/anywhere.md", *chapters, *(f"{one}handout/" for one in chapters)):
        answer = site.answer("GET", f"/{page}", b"", {"Accept-Language": "zh-hans"})
        location = dict(answer.headers).get("Location")
        if location:
            answer = site.answer("GET", location, b"", {"Accept-Language": "zh-hans"})
        print(json.dumps([page, answer.status, answer.body.decode()]))
"""

LAY_OUT = """
from pathlib import Path
from schemalab.anywhere import pack
from schemalab.anywhere.loaded import OnlyWhatIsThere
sys.meta_path.insert(0, OnlyWhatIsThere())
sys.addaudithook(pack.note_opened)
visit()
pack.lay_out_site(Path(sys.argv[1]))
"""

SERVE = """
sys.path.insert(0, sys.argv[1])
visit()
"""


def answers(*command: str) -> list[list[object]]:
    ended = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_every_chapter_opens_from_the_packed_files_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    here = answers("-c", VISIT + LAY_OUT, str(site))
    for package in (postgast, google.protobuf):
        (place,) = package.__path__
        copy = site / package.__name__.replace(".", "/")
        shutil.rmtree(copy)
        copy.symlink_to(place)
    there = answers("-I", "-S", "-c", VISIT + SERVE, str(site))
    assert [(page, status) for page, status, _ in there if status not in (200, 501)] == []
    different = [(one[0], difference(one[2], other[2])) for one, other in zip(here, there, strict=True)]
    assert [one for one in different if one[1]] == []
    assert len(here) > 30
    assert not (site / "templates/changes.html").exists()  # a page of a cluster
