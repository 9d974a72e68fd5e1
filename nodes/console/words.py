"""The trace of a statement (`nodes.trace.record`), in the reader's language."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

Json = dict[str, Any]


def described(trace: Json) -> Json:
    signs = [pair["sign"] for pair in trace.get("pairs", ())]
    return trace | {
        "scans": [_scan(scan) for scan in trace.get("scans", ())],
        "hidden": [one | {"words": _why(one["element"], one["does"]) % one} for one in trace.get("hidden", ())],
        "steps": [step | {"words": _step(step)} for step in trace.get("steps", ())],
        "counts": [(sign, signs.count(sign)) for sign in ("+", "~", "-") if sign in signs],
        "unchanged": trace.get("keys", 0) - len(trace.get("pairs", ())),
        "not_shown": trace.get("left_out", 0),
    }


def _scan(scan: Json) -> Json:
    match scan["by"]:
        case "index":
            words = gettext("%(table)s v%(version)s was read by index %(index)s.")
        case "key":
            words = gettext("%(table)s v%(version)s was read by its primary key.")
        case "keys, if few":
            words = gettext("%(table)s v%(version)s was read by keys that other tables say, or row by row if many.")
        case _:
            words = gettext("%(table)s v%(version)s was read row by row: no index that may be used serves.")
    of_index, missed = gettext("%(index)s is %(state)s in v%(version)s: this scan may not use it."), []
    for one in scan["not_used"]:
        about = {"index": one["name"], "state": one["state"], "version": scan["version"]}
        missed.append(one | {"words": of_index % about})
    return scan | {"words": words % scan, "missed": missed}


def _why(element: str, does: str) -> str:
    """Why an element is invisible to the statement, and what a write does with it all the same."""
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
        case "lease" if step["was_held"]:
            return gettext("The node holds a lease on %(table)s v%(version)s: nobody was asked.") % step
        case "lease" | "version" if step["fresh"]:
            return gettext("The node asked for the newest version: %(table)s v%(version)s.") % step
        case "lease":
            return gettext("The node acquired a lease on %(table)s v%(version)s.") % step
        case "version":
            return gettext("The node uses %(table)s v%(version)s without a lease: the storages check it.") % step
        case "plan":
            used = ", ".join(f"{name} v{version}" for name, version in step["versions"])
            if not used:
                return gettext("Planned without a table.")
            return gettext("Planned with %(versions)s.") % {"versions": used}
        case "retry" if step["fresh"]:
            return gettext("Refused (%(sqlstate)s): %(message)s. Tried again with the newest versions.") % step
        case "retry":
            return gettext("Refused (%(sqlstate)s): %(message)s. Tried again.") % step
        case "reload" if step.get("found") is not None:
            about = {"ms": step["took_ms"], "version": step["found"]}
            return gettext("Reloaded in %(ms)s ms: the newest version is v%(version)s.") % about
        case "reload":
            return gettext("%(message)s: an old version could explain that, so the newest ones were asked for.") % step
        case "request":
            hashes = ", ".join(f"{name} {digits[:6]}" for name, digits in step["sent"].items())
            about = {"table": step["table"], "version": step["version"], "hashes": hashes or "-"}
            return gettext("This attempt uses %(table)s v%(version)s; hashes that go along: %(hashes)s.") % about
        case "sent":
            return gettext("Sent to the storages, with version and hashes.")
        case "accepted":
            return gettext("The storages accepted %(table)s v%(version)s.") % step
        case "refused":
            return gettext("Refused before anything was written: %(message)s.") % step
        case "join":
            return gettext("Waited %(ms)s ms for a reload that another request had caused.") % {"ms": step["took_ms"]}
        case "write":
            return gettext("Operations on pairs sent to the storages: %(n)s.") % {"n": step["operations"]}
    return str(step["do"])
