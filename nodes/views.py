"""The SQL console: statements on one node, or on two side by side, through the wire as any client's; the page of
requests, and that of a view."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import psycopg
from django.conf import settings
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from catalog.live import snapshot
from catalog.selectors import columns_by_table, listed_views, newest_descriptor, newest_seq, stored_views
from catalog.story import CLUSTER
from catalog.text.marking import mark
from catalog.view_definition import readers_of
from expressions.sqltypes import PARAMETER_OIDS
from leases.models import Node
from nodes.console import held, pictures
from nodes.console.sessions import CONNECT_S, Answer, PaneError, panes
from nodes.people.rights import MAY_WRITE
from nodes.people.vouching import vouched_address
from nodes.settings.variables import TRACE
from nodes.streams import REQUESTS
from storage.shadow.view_queries import query_of

NUMBERS = ("1", "2")
SQL_CHARS_MAX = 20_000
EXAMPLES = (
    (("flights",), "SELECT * FROM flights WHERE id = 1"),
    (("flights",), "SELECT count(*) FROM flights WHERE dest = 'BOS'"),
    (("flights",), "BEGIN; UPDATE flights SET dep_delay = 0 WHERE id = 1"),
    (("flights",), "UPDATE flights SET dest = 'BOS' WHERE id = 1"),
    (("flights", "airlines"), "SELECT name, count(*) FROM flights JOIN airlines USING (carrier) GROUP BY name"),
    ((), "SHOW TABLES"),
)
"""Statements on the demo's tables, with the tables that each needs."""


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_GET
def console(request: HttpRequest) -> HttpResponse:
    return render(request, "console.html", _page(request))


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_POST
def run(request: HttpRequest, number: str) -> HttpResponse:
    _check(number)
    sql, name = request.POST.get("sql", ""), request.POST.get("node", "")
    if len(sql) > SQL_CHARS_MAX:
        return HttpResponseBadRequest(f"a text of {len(sql)} characters; the console takes {SQL_CHARS_MAX}")
    node = Node.objects.filter(pk=name, port__gt=0).first()
    if node is None:
        raise Http404(f"there is no node {name}")
    shown: dict[str, Any] = {"number": number, "node": node.name}
    try:
        user = request.user.get_username()
        pane = panes.take(_owner(request), number, node.name, lambda: _connect(node, user), user)
        if sql.strip():
            panes.remember(_owner(request), number, sql.strip())
        shown |= _answered(pane.run(sql, heard=newest_seq(CLUSTER)))
    except PaneError as refusal:
        shown["refusal"] = str(refusal)
    return _answer(request, shown, sql)


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_POST
def end(request: HttpRequest, number: str) -> HttpResponse:
    _check(number)
    panes.close(_owner(request), number)
    return _answer(request, {"number": number, "ended": True}, request.POST.get("sql", ""))


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_POST
def stop(request: HttpRequest, number: str) -> HttpResponse:
    """Stop the statement that runs in the pane; its own request then brings the node's answer."""
    _check(number)
    pane = panes.get(_owner(request), number)
    if pane is not None:
        pane.stop()
    return HttpResponse(status=204) if request.headers.get("HX-Request") else redirect("console")


@login_required
@permission_required(MAY_WRITE, raise_exception=True)
@require_GET
def transaction(request: HttpRequest, number: str) -> HttpResponse:
    """The pane's transaction, and who waits for it by now; no content when the page shows that already (`seen`)."""
    _check(number)
    shown = _around(request, number)
    if shown["held"]["digest"] == request.GET.get("seen"):
        return HttpResponse(status=204)
    return render(request, "parts/pane_transaction.html", shown)


@login_required
@require_GET
def requests(request: HttpRequest) -> HttpResponse:
    return render(request, "requests.html", {"section": "cluster"} | snapshot.page_context(REQUESTS))


@login_required
@require_GET
def request_trace(request: HttpRequest) -> HttpResponse:
    try:
        kept = pictures.read(request.GET.get("t", ""))
    except pictures.NoTrace as error:
        raise Http404(str(error)) from error
    shown = {"section": "console", "trace": pictures.shown(kept, kept["node"]), "kept": kept}
    return render(request, "request_trace.html", shown)


def _answered(answer: Answer) -> dict[str, Any]:
    statements = [
        (grid, None if trace is None else pictures.shown(trace, answer.node)) for grid, trace in answer.statements
    ]
    shown: dict[str, Any] = {"answer": answer, "statements": statements}
    if answer.error is not None:
        shown["marked"] = mark(answer.sql, answer.error.position)
    return shown


def _around(request: HttpRequest, number: str) -> dict[str, Any]:
    pane = panes.get(_owner(request), number)
    about = {"number": number, "node": pane.node if pane else "", "held": held.shown(pane)}
    return about | {"history": panes.history(_owner(request), number), "count": _count(request)}


def _count(request: HttpRequest) -> int:
    given = request.POST if request.method == "POST" else request.GET
    return 2 if given.get("panes") == "2" else 1


def _check(number: str) -> None:
    if number not in NUMBERS:
        raise Http404(f"there is no pane {number}")


def _answer(request: HttpRequest, shown: dict[str, Any], sql: str) -> HttpResponse:
    if request.headers.get("HX-Request"):
        tables = _tables(_count(request))
        fresh = tables if tables["tables_digest"] != request.POST.get("tables_seen") else {}
        return render(request, "parts/pane_answered.html", _around(request, shown["number"]) | fresh | shown)
    page = _page(request)
    for pane in page["panes"]:
        if pane["number"] == shown["number"]:
            pane.update(_around(request, shown["number"]) | shown, sql=sql)
    return render(request, "console.html", page)


def _page(request: HttpRequest) -> dict[str, Any]:
    """The page with the panes as they are. The address may choose a pane's node and put a statement into it (`node`,
    `sql`, `pane`)."""
    count, nodes = _count(request), list(Node.objects.filter(port__gt=0))  # a bulk load is a node without a port
    wished, into, names = request.GET.get("node"), request.GET.get("pane", NUMBERS[0]), {node.name for node in nodes}
    pages = []
    for place, number in enumerate(NUMBERS[:count]):
        pane = panes.get(_owner(request), number)
        first = nodes[min(place, len(nodes) - 1)].name if nodes else ""
        last = _answered(pane.last) if pane is not None and pane.last is not None else {}
        sql = _wished(request, number) if number == into else ""
        chosen = wished if number == into and wished in names else pane.node if pane else first
        pages.append(_around(request, number) | last | {"node": chosen, "sql": sql})
    return {"section": "console", "nodes": nodes, "panes": pages} | _tables(count)


def _tables(count: int) -> dict[str, Any]:
    """The tables there are, and examples for them; `tables_digest` says whether a page shows these already."""
    tables = columns_by_table()
    views = [{"id": view["id"], "name": view["name"], "columns": view["columns"]} for view in listed_views()]
    return {
        "count": count,
        "tables": [{"name": name, "columns": columns} for name, columns in tables.items()],
        "views": views,
        "tables_digest": hashlib.sha256(json.dumps([tables, views]).encode()).hexdigest()[:16],
        "examples": [statement for names, statement in EXAMPLES if set(names) <= tables.keys()],
    }


def _wished(request: HttpRequest, number: str) -> str:
    """The statement that the address puts into a pane: an example, an earlier one by its name, or those of a
    transaction that was ended."""
    if "lost" in request.GET:
        pane = panes.get(_owner(request), number)
        return pane.unfinished.sql if pane is not None and pane.unfinished is not None else ""
    if "earlier" in request.GET:
        return panes.history(_owner(request), number).get(request.GET["earlier"], "")
    return request.GET.get("sql", "")[:SQL_CHARS_MAX]


def _owner(request: HttpRequest) -> str:
    """The browser's session: a pane belongs to it, so signing out gives it up."""
    if request.session.session_key is None:
        request.session.save()
    assert request.session.session_key is not None
    return request.session.session_key


@receiver(user_logged_out)
def give_up_panes(request: HttpRequest | None, **_: Any) -> None:
    key = None if request is None else request.session.session_key
    if key is not None:
        panes.close_all_of(key)


def _connect(node: Node, user: str) -> psycopg.Connection:
    address = vouched_address(
        settings.SECRET_KEY, node.host, node.port, name=user, application_name=f"console of {user}"
    )
    address["options"] = f"{address['options']} -c {TRACE}=on"
    return psycopg.connect(**address, connect_timeout=CONNECT_S, autocommit=True)


@login_required
@require_GET
def stored_view(request: HttpRequest, view_id: int) -> HttpResponse:
    """A view: its query with the names that things have now, its columns, what it reads and what reads it."""
    views = stored_views()
    view = next((one for one in views if one.view_id == view_id), None)
    if view is None:
        raise Http404(f"there is no view with id {view_id}")
    tables = {use.table_id: table for use in view.tables if (table := newest_descriptor(use.table_id)) is not None}
    others = {use.view_id for use in view.views}
    shown = {
        "view": view,
        "query": query_of(view, views, tables).strip(),
        "columns": [
            {"name": one.name, "type": PARAMETER_OIDS[one.type_oid].name if one.type_oid in PARAMETER_OIDS else ""}
            for one in view.columns
        ],
        "reads_tables": list(tables.values()),
        "reads_views": [one for one in views if one.view_id in others],
        "readers": list(readers_of([view.view_id], views)),
    }
    return render(request, "view.html", {"section": "tables"} | shown)
