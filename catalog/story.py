"""The story: events of schemas, nodes and leases, with a sentence for each kind. An event belongs to streams, each
numbered without gaps in commit order, so that a browser can ask for what it missed."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from catalog.text.job_nodes import nodes_in_other_words
from catalog.text.sentence import Sentence, first_line, from_json, in_other_words, to_json

CLUSTER = "cluster"
PROCESSES = "processes"
"""What happened to processes, and who did it: operators' audit trail."""
LEASES = "leases"
"""What operators did to leases, and to nodes that take them: who did what."""
TEXT_MAX = 500  # of one detail of an event
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def table_stream(table_id: int) -> str:
    return f"table:{table_id}"


def change_stream(change_id: int) -> str:
    return f"change:{change_id}"


class UnknownKind(KeyError):
    """A kind of event that no sentence tells."""


SENTENCES: dict[str, str] = {
    "table created": "{table} was created.",
    "table dropped": "{table} was dropped; its name is free again.",
    "view created": "{who} created view {view}.",
    "view replaced": "{who} replaced view {view}: its query is another one now.",
    "view renamed": "{who} renamed view {view} to {new}.",
    "view dropped": "{who} dropped view {view}.",
    "change submitted": "{who} submitted change {change}: {statement}",
    "change awaiting approval": "Change {change} waits until somebody other than {submitter} approves it.",
    "change approved": "{who} approved change {change}: {why}.",
    "change rejected": "{who} rejected change {change}: {why}.",
    "change queued": "Change {change} waits behind change {behind}: both move {table}.",
    "changes needless": "Change {change} drops {table}: {needless} need not run before it, and may be cancelled.",
    "change started": "Change {change} started.",
    "nothing to do": "Change {change} has nothing to do: {why}.",
    "version published": "{table} v{version} published: {what}.",
    "version published by the lab": "{who} published v{version} of the sandbox {table} past the rules: {what}.",
    "replay step": "{what}.",
    "transaction held": "{who} holds a transaction open on {node} that has read {table}.",
    "held transaction ended": "{who} ended the transaction that was held open on {node}.",
    "held transaction over": "The transaction that {who} held open on {node} is over: its lease has expired, or its"
    " time.",
    "sandbox held back": "{who} holds {table} v{version} on {node} by an open transaction.",
    "version waiting": "v{version} of {table} waits for {whom}, at most until {until}.",
    "version drained": "Every node has left the versions of {table} before v{version} ({waited}).",
    "sessions ended": "Sessions of {whom} on {table} v{version} were ended: they held it without a lease.",
    "reorganisation started": "{What} started: about {rows} to do.",
    "reorganisation finished": "{What} finished: {rows} in {seconds} s.",
    "reorganisation failed": "{What} failed: {error}",
    "reorganisation resumed": "{What} resumed where it stopped: {why}.",
    "executor replaced": "Another worker took over change {change}.",
    "change pausing": "{who} paused change {change}.",
    "change resumed": "{who} resumed change {change}.",
    "change throttled": "{who} limited change {change} to {rows} a second: {why}.",
    "change unthrottled": "{who} ended the limit of change {change}.",
    "change target moved": "{who} moved the target of change {change}: {slower_ms} ms longer, {kept_percent} % left.",
    "change cancelling": "{who} cancelled change {change}; it rolls back.",
    "change rolling back": "Change {change} rolls back: {error}",
    "change done": "Change {change} is done.",
    "change cancelled": "Change {change} was cancelled and cleaned up.",
    "change failed": "Change {change} failed and was cleaned up: {error}",
    "node joined": "Node {node} joined (incarnation {incarnation}).",
    "node left": "Node {node} left.",
    "node silent": "Node {node} does not answer; its leases end at the latest {until}.",
    "node silent without leases": "Node {node} does not answer; it leases nothing.",
    "node back": "Node {node} answers again.",
    "node ended itself": "Node {node} ended itself: it could not renew {what} in time.",
    "node draining": "{who} drained node {node}: it takes no new leases.",
    "node undrained": "{who} undrained node {node}: it takes leases again.",
    "lease released": "{who} released the lease of {node} on {table} v{version}.",
    "lease revoked": "{who} revoked the lease of {node} on {table} v{version}; its sessions there were ended.",
    "storage added": "{who} added storage {storage}, with pair tables for {tables}.",
    "storage removed": "{who} removed storage {storage}; no table had rows on it.",
    "traffic started": "{who} started traffic on {table}: clients on each node: {clients}, writes: {writes} %,"
    " minutes at most: {minutes}.",
    "traffic stopped": "{who} stopped the traffic on {table}.",
    "traffic ended": "Traffic on {table} ended, {why}: {statements} statements, {wrong} wrong answers.",
    "load started": "The load of {file} into {table} started.",
    "load finished": "{rows} of {file} were loaded into {table} in {seconds} s ({per_s} rows/s).",
    "load failed": "The load of {file} into {table} failed after {rows}: {error}",
    "audit started": "An audit of {table} started.",
    "audit finished": "The audit of {table} found that all seven clauses hold: {rows} in {seconds} s.",
    "audit found violations": "The audit of {table} found violations in {rows}: {violations}.",
    "audit failed": "The audit of {table} could not be finished: {error}",
    "spark warm": "Spark is warm ({seconds} s): reorganisations begin at once.",
    "process crashed": "Process {process} {why}; it is started again.",
    "process started": "Process {process} is running.",
    "process killed": "{who} killed process {process}; it stays down until it is started.",
    "process frozen": "{who} froze process {process}; it stands still until it is thawed.",
    "process thawed": "{who} thawed process {process}.",
    "process restarted": "{who} started process {process} again.",
}


GROUPS: dict[str, tuple[str, ...]] = {
    "changes": (
        "change submitted",
        "change awaiting approval",
        "change approved",
        "change rejected",
        "change queued",
        "changes needless",
        "change started",
        "nothing to do",
        "executor replaced",
        "change pausing",
        "change resumed",
        "change throttled",
        "change unthrottled",
        "change target moved",
        "change cancelling",
        "change rolling back",
        "change done",
        "change cancelled",
        "change failed",
    ),
    "versions": (
        "table created",
        "table dropped",
        "view created",
        "view replaced",
        "view renamed",
        "view dropped",
        "version published",
        "version waiting",
        "version drained",
        "sessions ended",
    ),
    "reorganisations": (
        "reorganisation started",
        "reorganisation finished",
        "reorganisation failed",
        "reorganisation resumed",
        "spark warm",
    ),
    "nodes": (
        "node joined",
        "node left",
        "node silent",
        "node silent without leases",
        "node back",
        "node ended itself",
        "node draining",
        "node undrained",
    ),
    "leases": (
        "lease released",
        "lease revoked",
        "transaction held",
        "held transaction ended",
        "held transaction over",
    ),
    "processes": (
        "process crashed",
        "process started",
        "process killed",
        "process frozen",
        "process thawed",
        "process restarted",
    ),
    "storages": ("storage added", "storage removed"),
    "traffic and data": (
        "traffic started",
        "traffic stopped",
        "traffic ended",
        "load started",
        "load finished",
        "load failed",
        "audit started",
        "audit finished",
        "audit found violations",
        "audit failed",
    ),
    "lab": ("version published by the lab", "replay step", "sandbox held back"),
}
"""The kinds by what they are about: each belongs to one group."""


def kinds_of(wanted: Iterable[str]) -> frozenset[str]:
    """The kinds of these groups or kinds; unknown words name none."""
    named = set(wanted)
    return frozenset(kind for group, kinds in GROUPS.items() for kind in kinds if group in named or kind in named)


UNCOUNTED: dict[str, str] = {
    "reorganisation started": "{What} started.",
    "reorganisation finished": "{What} finished in {seconds} s.",
}
"""The same of work that counts no rows."""
UNEXPLAINED: dict[str, str] = {
    "reorganisation resumed": "{What} resumed where it stopped.",
    "change throttled": "{who} limited change {change} to {rows} a second.",
    "change approved": "{who} approved change {change}.",
}
"""The same when nothing was wrong (somebody had paused it, or its driver was replaced), or nobody said why."""
NO_ROWS = UNCOUNTED | {
    "reorganisation finished": "{What} finished: nothing to do.",
    "load finished": "{file} has no rows: nothing was loaded into {table}.",
    "load failed": "The load of {file} into {table} failed, and no row of it is there: {error}",
    "audit finished": "The audit of {table} found that it has no rows, and nothing else either.",
}


SENTENCES_IN = "sentences"
"""The key of a payload under which details that are sentences of ours have their values."""
NODES = frozenset({"whom"})
"""Details that list nodes by what they use."""


def shortened(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload as stored: long texts are cut, with their length; sentences of ours stay translatable."""
    body = {
        name: (detail if len(detail) <= TEXT_MAX else f"{detail[:TEXT_MAX]} .. ({len(detail)} characters)")
        if isinstance(detail, str)
        else detail
        for name, detail in payload.items()
    }
    sentences = {
        name: to_json(detail)
        for name, detail in payload.items()
        if isinstance(detail, Sentence) and len(detail) <= TEXT_MAX
    }
    return body | {SENTENCES_IN: sentences} if sentences else body


def sentence(kind: str, payload: Mapping[str, Any], translate: Callable[[str], str] = str) -> str:
    """The event in English, or by `translate`; a missing detail is "?". Raises `UnknownKind`."""
    if kind not in SENTENCES:
        raise UnknownKind(f"there is no sentence for events of kind {kind!r}")
    rows = payload.get("rows")
    short = (UNCOUNTED if rows is None else {} if rows else NO_ROWS) | ({} if payload.get("why") else UNEXPLAINED)
    form = translate(short.get(kind, SENTENCES[kind]))
    known = {name: from_json(one) for name, one in payload.get(SENTENCES_IN, {}).items()}
    details = _Details({name: _in_words(name, detail) for name, detail in {**payload, **known}.items()})
    details |= {n: in_other_words(one, translate) for n, one in details.items() if isinstance(one, Sentence)}
    details |= {name: nodes_in_other_words(str(details[name]), translate) for name in NODES & details.keys()}
    details["What"] = details["what"][:1].upper() + details["what"][1:]
    return form.format_map(details)


def particulars(payload: Mapping[str, Any]) -> str:
    return str(payload.get("error") or "").partition("\n")[2]


def _in_words(name: str, detail: Any) -> Any:
    """A value in words: time of day (UTC), numbers with units and groups of digits, an error's first line."""
    if name == "rows" and isinstance(detail, int):
        return Sentence("1 row") if detail == 1 else Sentence("{n} rows", n=f"{detail:,}")
    if name in ("statements", "wrong", "per_s", "violations") and isinstance(detail, int):
        return f"{detail:,}"
    if name == "seconds" and isinstance(detail, float):
        return f"{detail:.1f}"
    if name == "error" and isinstance(detail, str):
        return first_line(detail)
    if name == "needless":
        return " and ".join(f"change {one}" for one in detail)
    if isinstance(detail, str) and MOMENT.fullmatch(detail):
        return datetime.fromisoformat(detail).astimezone(UTC).strftime("%H:%M:%S")
    return detail


class _Details(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"
