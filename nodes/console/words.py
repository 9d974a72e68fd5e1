"""The trace of a statement (`nodes.trace.record`), in the reader's language."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

Json = dict[str, Any]


def described(trace: Json) -> Json:
    return trace | {
        "scans": [scan | {"words": _scan(scan), "missed": [_missed(scan, one) for one in scan["not_used"]]}
                  for scan in trace.get("scans", ())],
        "hidden": [_hidden(one) for one in trace.get("hidden", ())],
        "steps": [step | {"words": _step(step)} for step in trace.get("steps", ())],
        "counts": _counts(trace.get("pairs", ())),
        "unchanged": trace.get("keys", 0) - len(trace.get("pairs", ())),
        "not_shown": trace.get("left_out", 0),
    }  # fmt: skip


def _counts(pairs: Any) -> list[tuple[str, int]]:
    signs = [pair["sign"] for pair in pairs]
    return [(sign, signs.count(sign)) for sign in ("+", "~", "-") if sign in signs]


def _scan(scan: Json) -> str:
    about = {"table": scan["table"], "version": scan["version"], "index": scan["index"]}
    if scan["by"] == "index":
        return gettext("%(table)s v%(version)s was read by index %(index)s.") % about
    if scan["by"] == "key":
        return gettext("%(table)s v%(version)s was read by its primary key.") % about
    if scan["by"] == "keys, if few":
        return gettext("%(table)s v%(version)s was read by keys that other tables say, or row by row if many.") % about
    return gettext("%(table)s v%(version)s was read row by row: no index that may be used serves.") % about


def _missed(scan: Json, index: Json) -> Json:
    about = {"index": index["name"], "state": index["state"], "version": scan["version"]}
    words = gettext("%(index)s is %(state)s in v%(version)s: this scan may not use it.") % about
    return index | {"words": words}


def _hidden(one: Json) -> Json:
    """Why an element is invisible to the statement, and what a write does with it all the same."""
    about = {"name": one["name"], "state": one["state"], "version": one["version"]}
    return one | {"words": _why(one["element"], one["does"]) % about}


def _why(element: str, does: str) -> str:
    match element, does:
        case "column", "refused as unknown":
            return gettext("column %(name)s is %(state)s in v%(version)s: statements do not know it")
        case "constraint", "not relied on":
            return gettext(
                "constraint %(name)s is %(state)s in v%(version)s: writes keep it, queries do not rely on it"
            )
        case "constraint", _:
            return gettext("constraint %(name)s is %(state)s in v%(version)s: it is enforced already")
        case "index", "not used":
            return gettext("index %(name)s is %(state)s in v%(version)s: queries may not use it")
        case "column", "not used":
            return gettext("column %(name)s is %(state)s in v%(version)s: queries may not use it")
        case "placement", "not used":
            return gettext("placement %(name)s is %(state)s in v%(version)s: queries do not read there")
        case _, "-":
            return gettext("%(name)s is %(state)s in v%(version)s: this statement puts nothing there")
        case _, "put its default":
            return gettext("%(name)s is %(state)s in v%(version)s: its default is put, and no query sees it")
        case _, "del" | "del the old pair when its source changes, never put":
            return gettext("%(name)s is %(state)s in v%(version)s: this statement only removes there")
        case _, _:
            return gettext("%(name)s is %(state)s in v%(version)s: this statement keeps it, and no query sees it")


def _step(step: Json) -> str:
    match step["do"]:
        case "lease":
            about = {"table": step["table"], "version": step["version"]}
            if step["was_held"]:
                return gettext("The node holds a lease on %(table)s v%(version)s: nobody was asked.") % about
            if step["fresh"]:
                return gettext("The node asked for the newest version: %(table)s v%(version)s.") % about
            return gettext("The node acquired a lease on %(table)s v%(version)s.") % about
        case "version":
            about = {"table": step["table"], "version": step["version"]}
            if step["fresh"]:
                return gettext("The node asked for the newest version: %(table)s v%(version)s.") % about
            return gettext("The node uses %(table)s v%(version)s without a lease: the storages check it.") % about
        case "plan":
            used = ", ".join(f"{name} v{version}" for name, version in step["versions"])
            if not used:
                return gettext("Planned without a table.")
            return gettext("Planned with %(versions)s.") % {"versions": used}
        case "retry":
            about = {"sqlstate": step["sqlstate"], "message": step["message"]}
            if step["fresh"]:
                return gettext("Refused (%(sqlstate)s): %(message)s. Tried again with the newest versions.") % about
            return gettext("Refused (%(sqlstate)s): %(message)s. Tried again.") % about
        case "reload" if step.get("found") is not None:
            about = {"ms": step["took_ms"], "version": step["found"]}
            return gettext("Reloaded in %(ms)s ms: the newest version is v%(version)s.") % about
        case "reload":
            about = {"message": step["message"]}
            return gettext("%(message)s: an old version could explain that, so the newest ones were asked for.") % about
        case "request":
            hashes = ", ".join(f"{name} {digits[:6]}" for name, digits in step["sent"].items())
            about = {"table": step["table"], "version": step["version"], "hashes": hashes or "-"}
            return gettext("This attempt uses %(table)s v%(version)s; hashes that go along: %(hashes)s.") % about
        case "sent":
            return gettext("Sent to the storages, with version and hashes.")
        case "accepted":
            about = {"table": step["table"], "version": step["version"]}
            return gettext("The storages accepted %(table)s v%(version)s.") % about
        case "refused":
            return gettext("Refused before anything was written: %(message)s.") % {"message": step["message"]}
        case "join":
            return gettext("Waited %(ms)s ms for a reload that another request had caused.") % {"ms": step["took_ms"]}
        case "write":
            return gettext("Operations on pairs sent to the storages: %(n)s.") % {"n": step["operations"]}
    return str(step["do"])
