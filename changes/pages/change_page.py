"""A change as its page shows it. Browsers count seconds themselves, so that a page without news is not sent again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.text.sentence import Sentence
from changes.executor.interventions import ENDED
from changes.executor.state import whom
from changes.pages.plan_ladder import rungs
from changes.pages.timeline import points, span_s, taken
from spark_tasks.runs.feedback import Verdict, Why, are_counted

Json = dict[str, Any]
WORKS = ("fill", "verify", "delete")
MOVING = ("running", "waiting", "paused", "rolling_back")
GIVES_WAY_AT = 0.9
"""A run that works no more than this of its time gives way: less would be noise."""


def view(snapshot: Mapping[str, Any], leases: Sequence[Mapping[str, Any]]) -> Json:
    taken = [
        step | {"is_back": direction == "back"} for direction, steps in snapshot["roads"].items() for step in steps
    ]
    is_open = snapshot["status"] not in ENDED
    return summary(snapshot, leases) | {
        "dangers": snapshot["plan"]["dangers"],
        "costs": snapshot["plan"]["costs"],
        "names": snapshot["plan"]["names"],
        "forward": forward_timeline(snapshot),
        "ladder": rungs(snapshot["plan"]["steps"], table_id=snapshot["table_id"], leases=leases if is_open else ()),
        "back": back_timeline(snapshot),
        "steps": [_taken(step) for step in taken if step["started_at"]],
        "failure": snapshot["failure"],
        "behind": snapshot["behind"],
        "needless": snapshot["needless"],
        "may_cancel": snapshot["may_cancel"],
        "may_pause": snapshot["may_pause"],
        "may_resume": snapshot["may_resume"],
        "may_throttle": snapshot["may_throttle"],
        "may_retry": snapshot["may_retry"],
        "tried_again": snapshot["tried_again"],
        "why_not": snapshot["why_not"],
        "steered_by": snapshot["steered_by"],
        "approval": snapshot["approval"],
        "is_past_return": snapshot["is_past_return"],
        "pending": [Sentence(request["wish"]) for request in snapshot["wishes"]],
        "undo": snapshot["undo"],
        "no_undo": snapshot["no_undo"],
    }


def summary(snapshot: Mapping[str, Any], leases: Sequence[Mapping[str, Any]]) -> Json:
    step, is_back = snapshot["step"], snapshot["road"] == "back"
    kept = (
        "id",
        "table",
        "table_id",
        "table_ids",
        "partners",
        "statement",
        "status",
        "who",
        "created_at",
        "started_at",
        "ended_at",
    )
    return {name: snapshot[name] for name in kept} | {
        "tables": tables(snapshot),
        "element": snapshot["plan"]["headline"],
        "is_open": snapshot["status"] not in ENDED,
        "is_back": is_back,
        "took_s": span_s(snapshot["started_at"], snapshot["ended_at"]),
        "now": step["text"] if step and snapshot["status"] in MOVING else "",
        "timeline": back_timeline(snapshot) if is_back else forward_timeline(snapshot),
        "wait": wait(snapshot, leases),
        "progress": progress(snapshot),
        "next": following(snapshot),
    }


def following(snapshot: Mapping[str, Any]) -> list[Json]:
    """The next steps in order: versions with their states, work, at last "done"."""
    position = _position(snapshot)
    steps = snapshot["roads"].get(snapshot["road"], [])
    shown: list[Json] = []
    for step in steps[max(position, 0) :] if snapshot["status"] not in ENDED else ():
        if step["kind"] == "publish":
            moved = step["transitions"] or [{"after": "public"}]
            shown.append({"kind": "publish", "version": step["version"], "state": moved[0]["after"]})
        elif step["kind"] in WORKS and step["number"] > position:
            shown.append({"kind": step["kind"], "version": step["version"], "state": None})
    return [*shown, {"kind": "done", "version": None, "state": None}]


def tables(change: Mapping[str, Any]) -> str:
    others = ", ".join(one["table"] for one in change["partners"])
    return f"{change['table']} → {others}" if others else str(change["table"])


def line(change: Mapping[str, Any]) -> Json:
    return dict(change) | {"tables": tables(change), "took_s": span_s(change["started_at"], change["ended_at"])}


def forward_timeline(snapshot: Mapping[str, Any]) -> list[Json]:
    """The steps forward; after a failure or rollback, as far as it came."""
    steps, status = snapshot["roads"]["forward"], snapshot["status"]
    if snapshot["road"] == "back" or status in ("failed", "cancelled"):
        return taken(steps)
    return points(steps, _position(snapshot), is_over=status == "done")


def back_timeline(snapshot: Mapping[str, Any]) -> list[Json]:
    steps = snapshot["roads"].get("back", [])
    return points(steps, _position(snapshot), is_over=snapshot["status"] in ENDED)


def _position(snapshot: Mapping[str, Any]) -> int:
    return -1 if snapshot["status"] in ("awaiting", "queued") else int(snapshot["position"])


def wait(snapshot: Mapping[str, Any], leases: Sequence[Mapping[str, Any]]) -> Json | None:
    """The nodes that block the change, and until when at most; None when none does. A transaction that has outlived its
    lease has no such time: its session is ended after a grace (L8)."""
    blockers = snapshot["blockers"]
    if not blockers or snapshot["status"] not in MOVING:
        return None
    held = {blocker["node"] for blocker in blockers}
    everybody = {lease["node"] for lease in leases if lease["table_id"] in snapshot["table_ids"]} | held
    step = snapshot["step"]
    back = 1 if step["kind"] == "publish" else 0
    found: dict[tuple[str, bool], list[Json]] = {}
    for blocker in snapshot["blockers"]:
        found.setdefault((blocker["node"], blocker["until"] is None), []).append(blocker)

    def shown(blockers: Sequence[Json]) -> str:  # the oldest version of each table
        newest_first = sorted(blockers, key=lambda one: -int(one["version"]))
        return _versions({one["table"]: one["version"] for one in newest_first}, snapshot)

    return {
        "newest": _versions({one["table"]: one["version"] - back for one in (step, *step["partners"])}, snapshot),
        "nodes": len(everybody),
        "there": len(everybody - held),
        "holders": [of[0] | {"shown": shown(of), "sessions": _sessions(of)} for of in found.values()],
    }


def _sessions(blockers: Sequence[Json]) -> list[Json]:
    return list({session["session"]: session for one in blockers for session in one["sessions"]}.values())


def _versions(versions: Mapping[str, int], snapshot: Mapping[str, Any]) -> str:
    if not snapshot["partners"]:
        return ", ".join(f"v{version}" for version in versions.values())
    return " · ".join(f"{table} v{version}" for table, version in versions.items())


def progress(snapshot: Mapping[str, Any]) -> Json | None:
    """The progress of the current reorganisation, or an estimate."""
    step = snapshot["step"]
    if step is None or not step["is_reorganisation"]:
        return None
    run = next((r for r in snapshot["runs"] if (r["kind"], r["version"]) == (step["kind"], step["version"])), None)
    if run is None:
        return None
    return dict(run) | {
        "done": run["rows_done"],
        "total": run["rows_total"],
        "percent": int(100 * run["share"]),
        "is_paused": snapshot.get("status") == "paused",
        "permille": int(1000 * run["share"]),
        "gives_way": run["works"] <= GIVES_WAY_AT,
        "works_percent": round(100 * run["works"]),
        "target": {
            "slower_ms": round(run["target"]["slower_ms"]),
            "kept_percent": round(100 * run["target"]["throughput"]),
        },
        "others": _others(run["felt"]),
    }


def _others(felt: Mapping[str, Any]) -> Json:
    """The effect of a run on other statements. `kept_percent`: None for few statements; `slower_ms`: None if
    unknown."""
    verdict = Verdict.from_json({"works": 1.0, "why": Why.UNKNOWN, "before": None, "now": None} | dict(felt))
    found: Json = {"why": felt.get("why", "")}
    before, now = verdict.before, verdict.now
    if before is None or now is None or not before.per_s:
        return found
    kept = round(100 * min(1.0, now.per_s / before.per_s)) if are_counted(before) else None
    return found | {
        "slower_ms": max(0, round(now.slow_ms - before.slow_ms)) if before.slow_ms else None,
        "kept_percent": kept,
        "before": {"per_s": round(before.per_s), "slow_ms": round(before.slow_ms, 1)},
        "now": {"per_s": round(now.per_s), "slow_ms": round(now.slow_ms, 1)},
        "is_silent": not now.per_s,
    }


def _taken(step: Mapping[str, Any]) -> Json:
    kept = ("text", "started_at", "waited_s", "is_back", "tries")
    took_s = span_s(step["started_at"], step["ended_at"])
    return {name: step[name] for name in kept} | {"whom": whom(step["waited_for"]), "took_s": took_s}
