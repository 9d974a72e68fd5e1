"""The site in a browser's worker: progress, cookies, searches. Each test has a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BEGIN = """
import json, django
django.setup()
from urllib.parse import urlencode
from schemalab.anywhere import searches, site as sites
from lab.models import Progress, Question
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
def post(site, address, **form):
    return site.answer("POST", "/c/" + address, urlencode(form).encode(), FORM)
def get(site, address, **more):
    return site.answer("GET", "/c/" + address, b"", {}, **more)
SCREEN = "lab/chapters/00-new-messenger/agreed-hour/"
ASKED = {"session": {"setup": "one-jump", "parameters": {}, "left_out": [], "steps": []}}
"""


SERVE = """
import os, sys, traceback
for line in sys.stdin:
    if os.fork() == 0:
        try:
            exec(json.loads(line))
        except BaseException:
            print(json.dumps({"failed": traceback.format_exc()}))
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""
"""Each script runs in a process of its own, which has begun with Django: to start it takes seconds."""

There = Callable[[str], Any]


@pytest.fixture(scope="module")
def there() -> Iterator[There]:
    """`there(script)`: what it prints as JSON, in a process with a browser's settings."""
    command = [sys.executable, "-c", BEGIN + SERVE]
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "schemalab.anywhere.settings"}
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as server:

        def run(script: str) -> Any:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(json.dumps(script) + "\n")
            printed = json.loads(server.stdout.readline())
            assert not isinstance(printed, dict) or "failed" not in printed, printed["failed"]
            return printed

        yield run
        server.terminate()


def test_progress_is_a_file_that_another_browser_takes(there: There) -> None:
    given = there("""
site = sites.Site("/c/")
post(site, "language/setlang/", language="zh-hans", next="/c/lab/")
post(site, SCREEN + "hint/")
file, seen = site.kept(), []
for kept in (None, file):
    site.take(kept)
    page = get(site, "lab/").body.decode()
    seen.append([list(Progress.objects.values_list("exercise", "hints")), 'lang="zh-Hans"' in page])
print(json.dumps(seen))
""")
    assert given == [[[], False], [[["00-new-messenger", 1]], True]]


def test_progress_of_an_older_version_is_left_out(there: There) -> None:
    """The bridge says so, and the site starts without."""
    given = there("""
import sqlite3
from schemalab.anywhere.bridge import site as bridge
older = sqlite3.connect(":memory:")
older.execute("CREATE TABLE lab_progress (id integer)")
class Bytes:
    to_bytes = lambda self: older.serialize()
bridge.prepare("/c/", "en")
print(json.dumps([bridge.start(Bytes()), bridge.start(), Progress.objects.count()]))
""")
    assert given == [False, True, 0]


def test_only_what_is_written_is_news(there: There) -> None:
    given = there("""
site = sites.Site("/c/")
get(site, "lab/stage/?setup=one-jump")
before = site.news()
post(site, SCREEN + "hint/")
print(json.dumps([before, site.news() == site.kept(), site.news()]))
""")
    assert given == [None, True, None]


def test_other_files_are_no_progress(there: There) -> None:
    given = there("""
import sqlite3
empty = sqlite3.connect(":memory:")
empty.execute("CREATE TABLE lab_progress (id integer)")
print(json.dumps([sites.is_kept(one) for one in (b"", b"PK", b"SQLite format 3\\x00 and more", empty.serialize())]))
""")
    assert given == [False, False, False, False]


def test_the_colours_of_the_page_come_with_its_requests(there: There) -> None:
    given = there("""
site = sites.Site("/c/")
page = get(site, "lab/", page_cookies="theme=dark; other=1").body.decode()
print(json.dumps(['data-theme="dark"' in page, 'data-theme="dark"' in get(site, "lab/").body.decode()]))
""")
    assert given == [True, False]


def test_a_page_that_needs_a_cluster_says_so(there: There) -> None:
    given = there("""
site = sites.Site("/c/")
found = [get(site, page) for page in ("lab/live/", "console/", "lab/polls/3/", "join/abc/", "changes/3/")]
print(json.dumps([[one.status, "Needs a cluster" in one.body.decode()] for one in found]))
""")
    assert given == [[501, True]] * 5


def test_what_was_recorded_is_offered_where_a_replay_needs_a_cluster(there: There) -> None:
    """Those of the same set-up as the link's; all without a link."""
    given = there("""
from lab.replays.recorded import SESSIONS
from lab.sessions.session import encode
site, (name, session) = sites.Site("/c/"), next(iter(SESSIONS.items()))
pages = [get(site, page).body.decode() for page in ("lab/live/", "lab/live/?s=" + encode(session, 0))]
offered = [[one for one in SESSIONS if f"/c/lab/live/recorded/{one}/" in page] for page in pages]
same = [one for one in SESSIONS if SESSIONS[one].setup == session.setup]
print(json.dumps([offered == [list(SESSIONS), same], get(site, f"lab/live/recorded/{name}/").status]))
""")
    assert given == [True, 200]


def test_glossary_and_documentation_are_there(there: There) -> None:
    given = there("""
site = sites.Site("/c/")
pages = ("glossary/", "docs/", "docs/reference/protocol.md", "docs/architecture/anywhere.md")
found = [get(site, page) for page in pages]
print(json.dumps([[one.status, b"</h1>" in one.body] for one in found]))
""")
    assert given == [[200, True]] * 4


def test_a_search_that_is_stopped_goes_on_no_longer(there: There) -> None:
    given = there("""
from lab import services
site = sites.Site("/c/")
none = site.next_search()
made = services._ask("visitor:1", {"order": {}})
pk, asked = site.next_search()
progress = json.dumps({"states": 5, "depth": 1, "seconds": 0.5})
before = site.search_goes_on(pk, progress)
services.stop("visitor:1", made.pk)
print(json.dumps([none, asked, before, site.search_goes_on(pk, progress)]))
""")
    assert given == [None, '{"order": {}}', True, False]


def test_one_search_runs_at_a_time(there: There) -> None:
    """The next question waits until the one before is answered or stopped."""
    given = there("""
from lab import services
site = sites.Site("/c/")
services._ask("visitor:1", {"order": {"n": 1}})
pk, asked = site.next_search()
services._ask("visitor:1", {"order": {"n": 2}})
while_one_runs = site.next_search()
site.searched(pk, None)
pk, then = site.next_search()
site.searched(pk, json.dumps({"verdict": "proved"}))
print(json.dumps([asked, while_one_runs, then, Question.objects.get(pk=pk).answer, site.next_search()]))
""")
    assert given == ['{"order": {"n": 1}}', None, '{"order": {"n": 2}}', {"verdict": "proved"}, None]


def test_a_search_that_fails_has_an_answer(there: There) -> None:
    given = there("""
print(searches.search(json.dumps({"order": {}}), lambda progress: None))
""")
    assert given["verdict"] == "unknown"
