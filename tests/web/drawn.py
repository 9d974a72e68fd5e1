"""The Cluster page in a browser without a server: its HTML once, and then what a test says has arrived."""

from __future__ import annotations

import json
import mimetypes
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import override
from playwright.sync_api import Browser, Page, Route

from changes.pages.picture import Sessions, over_time_json
from leases.staircase.facts import Facts
from leases.staircase.picture import picture

STATIC = Path(settings.BASE_DIR) / "static"
HASH = re.compile(r"\.[0-9a-f]{12}(?=\.)")
ADDRESS = "http://picture.test/"
Json = dict[str, Any]
Opened = Callable[..., AbstractContextManager[Page]]
"""`shown`, in the browser of a file's tests: the fixture `opened`."""


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def scene(now: float, *, held: bool = False, kind: str = "", rows: int = 186_260, entries: int = 0) -> dict[str, Json]:
    """CREATE INDEX waits for 10 s for n2: report-17 holds it there, or it is down (`kind`), for 101 s more."""
    began, until, of = now - 10.0, now + 100.6, "index by_dest"
    holds = [{"who": "report-17", "user": "sam", "session": 7}] if held else []
    versions = [{"version": 7, "at": began - 40, "phase": "absent", "of": ""}]
    versions.append({"version": 8, "at": began, "phase": "delete-only", "of": of})
    uses = [
        {"node": node, "version": version, "began": at, "ended": end, "until": until, "holds": []}
        for node, version, at, end in [
            ("n1", 7, began - 40, began + 0.5), ("n2", 7, began - 40, None), ("n3", 7, began - 40, began + 0.5),
            ("n3", 8, began + 0.4, None), *([("n2", 8, began + 0.4, None)] if held else []),
            ("n1", 8, began + 0.4, None),
        ]
    ]  # fmt: skip
    for use in uses:
        if holds and (use["node"], use["version"]) == ("n2", 7):
            use["holds"] = [holds[0] | {"from": began - 5, "to": None}]
    leases = [
        {"node": use["node"], "version": use["version"], "began": iso(use["began"]), "until": iso(use["until"])}
        | {"holders": holds if (use["node"], use["version"]) == ("n2", 7) else []}
        for use in uses
        if use["ended"] is None
    ]
    point = {"state": None, "version": 8, "began": None, "ended": None, "whom": [], "works": []}
    timeline = [
        point | {"kind": "state", "state": "absent", "version": 7, "when": "done"},
        point | {"kind": "state", "state": "delete-only", "when": "done", "began": iso(began)},
        point | {"kind": "wait", "when": "current", "began": iso(began)},
        point | {"kind": "state", "state": "write-only", "version": 9, "when": "todo"},
        point | {"kind": "reorganise", "version": 9, "when": "todo"},
        point | {"kind": "state", "state": "public", "version": 10, "when": "todo"},
    ]
    following = [
        {"kind": "publish", "version": 9, "state": "write-only"},
        {"kind": "done", "version": None, "state": None},
    ]
    change = {"id": 41, "statement": "CREATE INDEX by_dest ON flights (dest)", "status": "waiting", "is_back": False}
    change |= {"wait": None, "next": following, "timeline": timeline, "work": None}
    table = {"id": 1, "name": "flights"}
    nodes = [
        {"name": name, "is_down": bool(kind) and name == "n2", "is_draining": False} for name in ("n1", "n2", "n3")
    ]
    element = {"name": "by_dest", "state": "delete-only", "total": None, "entries": entries}
    storages = [{"storage": n, "rows": rows, "is_exact": False, "elements": [element]} for n in (1, 2)]
    return {
        "facts": {"table": table, "start": now - 600, "lease_s": 300, "versions": versions, "uses": uses, "runs": []}
        | {"marks": [{"at": began - 3, "kind": kind, "node": "n2"}] if kind else []}
        | {"works": [{"change": 41, "began": began - 1, "ended": None}]},
        "now": {"table": table | {"newest": 8, "in_use": [7, 8], "has_leases": True}}
        | {"versions": [one | {"at": iso(one["at"])} for one in versions]}
        | {"nodes": nodes, "leases": leases, "change": change},
        "pulse": {"rates": {"n1": 16, "n2": 0 if kind else 16, "n3": 16}, "entries": storages}
        | {"traffic": {"is_running": True, "ends_at": None, "ended_at": None}},
    }


def sentences(now: float, *, held: bool = False, kind: str = "", language: str = "en") -> dict[str, str]:
    """The parts above the picture for the same moment."""
    session = {"application": "report-17", "user": "sam", "session": 7}
    holder = {
        "node": "n2",
        "shown": "v7",
        "until": iso(now + 100.6),
        "is_down": bool(kind),
        "table_id": 1,
        "version": 7,
    }
    holder |= {"sessions": [session] if held else []}
    first = {"id": 41, "tables": "flights", "element": "", "statement": "CREATE INDEX by_dest ON flights (dest)"}
    first |= {"status": "waiting", "wait": {"holders": [holder]}, "progress": None}
    first |= {"next": [{"kind": "publish", "version": 9, "state": "write-only"}]}
    remedy = {"node": "n2", "is_down": bool(kind), "who": "report-17" if held else None, "until": holder["until"]}
    remedy |= {"lease": 3, "commands": {"killed": ["start"], "frozen": ["thaw"]}.get(kind, [])}
    parts = {
        "headline": {"first": first, "down": [], "open": 1},
        "remedy": remedy,
        "wrong": {"has_begun": True, "wrong": 0, "checked": 19134},
        "hold": {"holds": [], "node": "n3", "is_demo": True},
    }
    with override(language):
        return {name: render_to_string(f"parts/{name}.html", {"part": part}) for name, part in parts.items()}


def over_time(window: Facts, *, holder: str = "", runs: Sequence[Json] = ()) -> str:
    """A page with nothing but lanes over time, where session `holder` keeps the use that the publisher waits for."""
    window, sessions = window.near_changes(), Sessions()
    if holder:
        [walk] = window.walks
        use = max(
            (use for use in walk.uses if use.version == walk.versions[0].version),
            key=lambda use: use.ended or use.until,
        )
        told = {"session": 7, "user": "sam", "application": holder, "for_s": 5.0}
        lease = {"table_id": walk.table_id, "version": use.version, "acquired_at": iso(use.began), "holders": [told]}
        sessions.see([{"name": use.node, "leases": [lease]}], walk.versions[1].published_at + 1)
    drawn = over_time_json(window, runs, 30.0, sessions)
    part = render_to_string("parts/over_time.html", {"part": {"picture": picture(window) | {"drawn": drawn}}})
    frame = render_to_string("parts/over_time_frame.html", {"parts": {"over_time": part}})
    links = "".join(f'<link rel="stylesheet" href="/static/{name}.css">' for name in ("tokens", "app", "cluster-pages"))
    clock = f'data-server-time="{iso(window.end)}"'
    head = f'<meta charset="utf-8"><title>Lanes</title>{links}<script defer src="/static/page.js"></script>'
    body = f"<main><h1>A change</h1>{frame}</main>"
    return f'<!doctype html><html lang="en" {clock}><head>{head}</head><body>{body}</body></html>'


@contextmanager
def shown(browser: Browser, html: str, *, width: int = 1440, height: int = 900, theme: str = "light") -> Iterator[Page]:
    """This page, with the static files of this tree."""

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        file = STATIC / HASH.sub("", path.removeprefix("/static/"))
        if path == "/":
            route.fulfill(body=html, content_type="text/html; charset=utf-8")
        elif path.startswith("/static/") and file.is_file():
            route.fulfill(body=file.read_bytes(), content_type=mimetypes.guess_type(file.name)[0] or "text/plain")
        else:
            route.fulfill(status=404, body="")

    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
    page.route("**/*", answer)
    page.goto(ADDRESS)
    yield page
    page.close()


def arrive(page: Page, *, language: str = "en", **of: Any) -> None:
    """Have the page told of `scene`, on its own clock."""
    now = page.evaluate("window.serverClock.now()") / 1000
    said = {name: value for name, value in of.items() if name in ("held", "kind")}
    parts = {name: json.dumps(part) for name, part in scene(now, **of).items()}
    page.evaluate(
        """([parts, said]) => {
          for (const name in said) document.querySelector(`[data-part=${name}]`).innerHTML = said[name];
          document.dispatchEvent(new CustomEvent("schemalab:parts", { detail: parts }));
          document.dispatchEvent(new CustomEvent("schemalab:second"));
        }""",
        [parts, sentences(now, language=language, **said)],
    )
    page.wait_for_selector("[data-picture][data-drawn]")
    time.sleep(1.2)
