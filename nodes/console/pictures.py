"""A request's trace as a sequence diagram, and as an address that shows it to others. The address holds the trace
itself, signed: it shows what this cluster has recorded, and nothing that a person wrote."""

from __future__ import annotations

from typing import Any

from django.core import signing
from django.utils.translation import gettext, ngettext

from catalog.diagrams.sequence import Event, draw
from nodes.console.words import described

Json = dict[str, Any]
SALT = "trace of a request"
ADDRESS_CHARS_MAX = 7000
SQL_CHARS_SHOWN = 500


class NoTrace(Exception):
    """An address that is cut off, or of another cluster."""


def is_request(trace: Json) -> bool:
    return any(step["do"] == "request" for step in trace.get("steps", ()))


def shown(trace: Json, node: str) -> Json:
    """A trace in the reader's language; of a request with its picture, and its address (empty: it is too long)."""
    if not is_request(trace):
        return described(trace)
    found = described(trace | {"steps": with_sending(trace["steps"])})
    return found | {"picture": picture(found, node), "address": address(trace, node)}


def with_sending(steps: list[Json]) -> list[Json]:
    """The steps, with the sending of an attempt of which only the storages' answer was recorded."""
    found, is_sent = list[Json](), False
    for step in steps:
        if step["do"] in ("accepted", "refused") and not is_sent:
            found.append({"do": "sent", "ms": found[-1]["ms"] if found else 0.0})
        is_sent = step["do"] == "write" or (is_sent and step["do"] != "request")
        found.append(step)
    return found


def picture(trace: Json, node: str) -> str:
    catalog, storages = gettext("catalog"), gettext("storages")
    events, before = [], 0.0
    for number, step in enumerate(trace["steps"], 1):
        took = max(step["ms"] - before, 0.0)
        before = step["ms"]
        sentence = step["words"] if step["do"] == "sent" else f"{step['words']} +{took:.1f} ms"
        match step["do"]:
            case "refused":
                events.append(Event(storages, f"{number}", sentence, is_refused=True))
            case "accepted":
                events.append(Event(storages, f"{number}", sentence, node))
            case do if do in ("reload", "join") or (do == "lease" and not step["was_held"]):
                events.append(Event(node, f"{number}", sentence, catalog))
            case "sent" | "write":
                events.append(Event(node, f"{number}", sentence, storages))
            case _:
                events.append(Event(node, f"{number}", sentence))
    title = ngettext("%(n)s step, %(ms)s ms", "%(n)s steps, %(ms)s ms", len(events))
    title %= {"n": len(events), "ms": f"{trace['ms']:.1f}"}
    return draw(title, (node, catalog, storages), events, (), alone=False)


def address(trace: Json, node: str) -> str:
    """The signed text that stands for a trace; empty when it does not fit into an address."""
    kept = {"node": node, "sql": trace["sql"][:SQL_CHARS_SHOWN], "ms": trace["ms"], "steps": trace["steps"]}
    text = signing.dumps(kept, salt=SALT, compress=True)
    return text if len(text) <= ADDRESS_CHARS_MAX else ""


def read(text: str) -> Json:
    if len(text) > ADDRESS_CHARS_MAX:
        raise NoTrace("the address is too long")
    try:
        kept: Json = signing.loads(text, salt=SALT)
    except (signing.BadSignature, ValueError) as error:
        raise NoTrace("the address was cut off, or is of another cluster") from error
    return kept
