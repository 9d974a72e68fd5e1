"""Every page, link and part of a cluster whose tables, columns, indexes, rules and views have any legal name."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable
from urllib.parse import parse_qs, quote, urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from catalog.elements import ColumnId, TableId
from catalog.models import Table, View
from catalog.view_definition import TableUse, ViewColumn, ViewDefinition
from changes import services
from changes.models import Change, Status
from leases.models import Node
from spark_tasks.jobs.audits import AUDITS
from spark_tasks.jobs.reorganisations import RUNS
from tests.changes.driven import drive

ClientOf = Callable[[str], Client]
NAMES = [
    "//x", "..", "a/../b", "%2F", "%(n)s", "{{ x }}", "#", "a?b=c&d", "'", '"', "\\", "<b>", "&amp;", " a", "a\nb", "0",
    "😀" * 15, "x" * 63, "\u202eabc",
]  # fmt: skip
FURTHER_NAMES = [
    "a/b", "/", ".", "100%", "?", " ", "a ", "a\tb", "table:1", "None", "名" * 21, "שלום", "e\u0301", "is write-only",
]  # fmt: skip
"""Each resembles one of the others."""
ADMIN = [
    f"/admin/{one}/?_facets=True" for one in ("changes/change", "changes/step", "catalog/storyevent", "catalog/table")
]
PAGES = ["/", "/console/?panes=2", "/leases/", "/incident/", "/traffic/", "/notifications/", "/admin/", *ADMIN]
NEVER = ("/sign-out/", "/static/", "/language/", "/lab/chapters/", "/lab/stage/", "/lab/models/", "/lab/without/")
LINK = re.compile(r'\b(?:href|src|action|hx-get|data-href|data-url|data-src)="([^"]*)"')
OF_ONE = re.compile(r"/(tables/\d+/((pairs|row|versions/2)/)?|changes/\d+/|views/\d+/)")
ALIKE_MAX = 3
"""Pages that differ only in a number or in what is asked for; of pages with a name in them there is no limit."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture
def undriven(transactional_db: None, redis_url: str, people: dict[str, User], monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are driven where the test stands, and there are a node and somebody who may do everything."""
    monkeypatch.setattr("spark_tasks.services.send_run", RUNS.run)
    monkeypatch.setattr("spark_tasks.services.send_audit", AUDITS.run)
    monkeypatch.setattr(services, "send_driver", lambda _change_id: None)
    monkeypatch.setattr(services, "check_pace", lambda _who: None)
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=6001, pid=1)
    User.objects.filter(username="olga").update(is_superuser=True)


def done(statement: str) -> Change:
    change = services.submit(statement, who="sam")
    assert drive(change) == Status.DONE, statement
    return change


@pytest.fixture
def named(undriven: None, names: list[str]) -> dict[str, int]:
    """Tables of all these names, by their ids; each has a column and a rule of its name, an index and a view of a name
    like it. Each third has a foreign key, a change that was cancelled, and one that is still queued; each third has its
    index by a change of its own, the others with the table."""
    done("CREATE TABLE parent (id bigint PRIMARY KEY)")
    ids = {}
    for number, name in enumerate(names):
        sql, like = quoted(name), (f"{name}/.." if len(name.encode()) < 60 else name[:-1])
        unique = "" if number % 3 == 1 else f", CONSTRAINT {quoted(like)} UNIQUE ({sql})"
        done(f"CREATE TABLE {sql} (id bigint PRIMARY KEY, {sql} bigint, CONSTRAINT {sql} CHECK ({sql} > 0){unique})")
        if number % 3 == 1:
            done(f"CREATE INDEX {quoted(like)} ON {sql} ({sql})")
        ids[name] = Table.objects.get(name=name).pk
        use = TableUse(name, TableId(ids[name]), {name: ColumnId(2)})
        view = ViewDefinition(0, "", 1, f"SELECT {sql} FROM {sql}", (ViewColumn(name, 20),), (use,))
        View.objects.create(name=f"{like[:20]} view", body=view.to_json())
        if number % 3:
            continue
        done(f"ALTER TABLE {sql} ADD CONSTRAINT {quoted(name + '_')} FOREIGN KEY ({sql}) REFERENCES parent (id)")
        cancelled = services.submit(f"ALTER TABLE {sql} RENAME COLUMN {sql} TO other", who="sam")
        services.cancel(cancelled.pk, who="sam")
        drive(cancelled)
        services.submit(f"ALTER TABLE {sql} ALTER COLUMN {sql} SET NOT NULL", who="sam")
    return ids


@pytest.mark.parametrize(
    "names", [pytest.param(NAMES, id="some"), pytest.param([*NAMES, *FURTHER_NAMES], id="all", marks=pytest.mark.soak)]
)
def test_every_page_link_and_part_is_answered(named: dict[str, int], client_of: ClientOf, names: list[str]) -> None:
    client = client_of("olga")
    client.raise_request_exception = False
    wrong, seen = walk(client, PAGES, names)
    assert wrong == []
    for name, table_id in named.items():
        assert f"/tables/{table_id}/" in seen
        assert f"/tables/named/?name={quote(name, safe='')}" in seen
        found = client.get("/tables/named/", {"name": name})
        assert found["Location"] == f"/tables/{table_id}/"
        assert html.escape(name) in client.get(found["Location"]).content.decode()
    assert parts_that_fail(client, named.values()) == []


def walk(client: Client, first: list[str], names: list[str]) -> tuple[list[tuple[str, int, str]], set[str]]:
    """Follow every link as a browser does; what was answered by an error, and from which page it came."""
    waiting, seen, alike, wrong = [(address, "") for address in first], set(first), Counter[str](), []
    while waiting:
        address, before = waiting.pop()
        answer = client.get(address, follow=True)
        if answer.status_code in (400, 404) or answer.status_code >= 500:
            wrong.append((address, answer.status_code, before))
            continue
        if "html" not in answer.headers.get("Content-Type", ""):
            continue
        base = answer.redirect_chain[-1][0] if answer.redirect_chain else address
        for link in LINK.findall(answer.content.decode()):
            target = urljoin(f"http://localhost{base}", html.unescape(link))
            parts = urlsplit(target)
            following = parts.path + (f"?{parts.query}" if parts.query else "")
            if parts.netloc != "localhost" or following in seen or parts.path.startswith(NEVER):
                continue
            seen.add(following)
            if parts.path.startswith("/admin/") and parts.query:
                continue  # every combination of the administration's filters links to every other
            asked = parse_qs(parts.query)
            shape = re.sub(r"\d+", "1", parts.path) + " ".join(sorted(asked))
            alike[shape] += 1
            has_name = any(value in names for values in asked.values() for value in values)
            is_of_one = OF_ONE.fullmatch(parts.path) and not parts.query
            if alike[shape] <= ALIKE_MAX or is_of_one or (has_name and len(asked) == 1):
                waiting.append((following, address))
    return wrong, seen


def parts_that_fail(client: Client, table_ids: Iterable[int]) -> list[str]:
    """Streams as a browser without WebSockets asks for them, as HTML and as JSON, from now and from the start."""
    asked = [
        f"stream={stream}&html={form}{since}"
        for stream in ("cluster", "queue", "leases", "processes", "requests")
        for form in "01"
        for since in ("", "&since=0")
    ]
    asked += [f"stream=table:{table_id}&html=1&since=0" for table_id in table_ids]
    return [wish for wish in asked if client.get(f"/live/poll?{wish}").status_code != 200]
