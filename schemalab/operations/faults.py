"""Faults by click: every process with its state, and a confirmation where a click cannot be undone. A kill that costs
other people an open transaction wants the node's name typed. The node reported those last; if unknown, the page names
none. The supervisor appends the fault to the story; draining goes through the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_http_methods

from catalog.live import snapshot
from catalog.story import PROCESSES
from catalog.text.sentence import Sentence
from leases.holders import Holder
from leases.models import MAY_CONTROL_NODES, Node
from leases.selectors import leases_on, sessions_reported
from leases.services import REFUSALS, drain_node, undrain_node
from schemalab.operations import consequences
from schemalab.operations.consequences import DRAINS, Consequences, NodeLease
from schemalab.supervisor.control import COMMANDS, CommandRefused, NotRunning
from schemalab.supervisor.process_control import (
    OnlyByCommand,
    control_from_page,
    is_supervisor_away,
    processes_for_a_page,
    why_none_for_a_page,
)
from schemalab.supervisor.refusals import fitting, why_not, why_not_from_page

TRAFFIC = "traffic"
DONE_BY = {"drain": drain_node, "undrain": undrain_node}


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    kind: str
    state: str | None
    """Of its process; None when no supervisor has it."""
    node: Node | None


@login_required
@require_GET
def processes(request: HttpRequest) -> HttpResponse:
    return render(request, "processes.html", {"section": "cluster"} | snapshot.page_context(PROCESSES))


@login_required
@permission_required(MAY_CONTROL_NODES, raise_exception=True)
@require_http_methods(["GET", "POST"])
def act(request: HttpRequest, name: str, command: str) -> HttpResponse:
    target = _target(name, command)
    refusal = _why_not(command, target)
    losers = _losers(command, target, but=request.user.get_username())
    is_mistyped = request.method == "POST" and bool(losers) and request.POST.get("typed", "").strip() != name
    if request.method == "POST" and refusal is None and not is_mistyped:
        try:
            who = request.user.get_username()
            if command in DRAINS:
                DONE_BY[command](name, who=who)
            else:
                control_from_page(command, name, who=who)
            messages.success(request, consequences.done(command, name))
            return redirect(back_to(request))
        except (CommandRefused, NotRunning, OnlyByCommand, *REFUSALS, OSError) as refused:
            refusal = str(refused)
    context = {
        "section": "cluster",
        "command": command,
        "target": target,
        "title": consequences.title(command, name),
        "refusal": refusal,
        "follows": _follows(command, target),
        "losers": losers,
        "is_mistyped": is_mistyped,
        "is_news": "typed" not in request.POST,
        "back": back_to(request),
    }
    return render(request, "process_act.html", context, status=409 if refusal else 422 if is_mistyped else 200)


def offered(state: str | None, node_state: str | None, *, name: str) -> tuple[str, ...]:
    """The commands that fit a process and its node now (None: not known)."""
    commands = tuple(one for one in fitting(state or "") if why_not_from_page(one, name) is None)
    if state in ("frozen", "down"):
        return commands
    drains = {Node.State.UP: ("drain",), Node.State.DRAINING: ("undrain",)}
    return (*commands, *drains.get(node_state, ()))  # type: ignore[call-overload]


def _target(name: str, command: str) -> Target:
    if command not in (*COMMANDS, *DRAINS):
        raise Http404(f"nothing is called {command}")
    process = next((one for one in processes_for_a_page() if one["name"] == name), None)
    node = Node.objects.filter(pk=name, port__gt=0).first()
    is_there = process is not None or is_supervisor_away()
    if node is None and (not is_there or command in DRAINS):
        raise Http404(f"there is no process {name}")
    kind = process["kind"] if process else "node" if node else ""
    return Target(name, kind, process["state"] if process else None, node)


def _why_not(command: str, target: Target) -> str | None:
    if command in DRAINS:
        assert target.node is not None
        is_draining = target.node.is_drain_asked
        if target.node.heartbeat_at is None:
            return Sentence("{name} has left: start it first", name=target.name)
        if is_draining == (command == "drain"):
            return (
                Sentence("{name} is draining already", name=target.name)
                if is_draining
                else Sentence("{name} is not draining", name=target.name)
            )
        return None
    if target.state is None:
        return why_none_for_a_page()
    return why_not_from_page(command, target.name) or why_not(command, target.name, target.state)


def _follows(command: str, target: Target) -> Consequences:
    if target.kind != "node":
        return consequences.of_process(command, target.name, target.kind)
    held = (NodeLease(one.table, one.version, one.version + 1, one.expires_at) for one in leases_on(node=target.name))
    return consequences.of_node(command, target.name, tuple(held))


def _losers(command: str, target: Target, *, but: str) -> list[Holder]:
    """Sessions of other people that lose a transaction, without traffic's."""
    if command != "kill" or target.node is None:
        return []
    every = {one.session: one for one in sessions_reported(target.node)}
    return [one for one in every.values() if one.user != but and one.application != TRAFFIC]


def back_to(request: HttpRequest) -> str:
    """The page `next`, when it is ours; else Cluster."""
    asked: Any = request.POST if request.method == "POST" else request.GET
    target = asked.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()})
    return str(target if is_ours else settings.LOGIN_REDIRECT_URL)
