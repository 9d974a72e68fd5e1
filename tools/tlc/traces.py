"""A trace of TLC as the steps of `manage.py explore --steps`.

    act = <<n1, "commit", r1, x2>>          n1.read.1  n1.write.update.1.2  n1.commit

The explorer writes under a live lease only (T4): if the lease ends before the commit, the write is put before that.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tools.tlc.runs import Result

ABSENT = "NoRow"


def story_of(result: Result) -> str:
    """A trace of liveness in words: the events, and those that repeat for ever."""
    again = result.again or len(result.trace)
    states = [*result.trace, result.trace[result.again - 1]] if result.again else result.trace
    events = [_event(before, after) for before, after in pairwise(states)]
    ending = ", ".join(events[again - 1 :]) or "nothing"
    return ", ".join([*events[: again - 1], f"for ever: {ending}"])


def _event(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    if after["todo"] != before["todo"]:
        step, state = re.findall(r'"([\w-]*)"', before["todo"])[:2]
        return f"{step} {state}".strip()
    if after["dead"] != before["dead"]:
        return f"{after['dead'].strip('{}')} dies"
    leases, now = _function(before["lease"]), _function(after["lease"])
    for node, lease in leases.items():
        old, new = (set(re.findall(r"\d+", versions)) for versions in (lease, now[node]))
        if new - old:
            return f"{node} acquires v{max(new - old)}"
        if old - new:
            return f"{node}'s lease of v{max(old - new)} ends"
    phases, later = _transactions(before["tx"]), _transactions(after["tx"])
    [node] = (node for node in phases if phases[node] != later[node])
    return f"{node} {_PHASES[later[node][0]].format(version=later[node][1])}"


_PHASES = {"pinned": "pins v{version}", "entered": "enters v{version}", "idle": "ends its transaction"}


def _transactions(text: str) -> dict[str, tuple[str, str]]:
    found = {}
    for node, record in re.findall(r"(n\d+) :> (.+?)(?= @@ n\d+ :>|\s*\)?$)", text):
        version = re.search(r"\bv \|-> (\d+)", record)
        found[node] = (re.findall(r'phase \|-> "(\w+)"', record)[0], version[1] if version else "")
    return found


def steps_of(result: Result, *, late_enter: bool = False) -> tuple[str, ...]:
    """`late_enter` as in the model. The run was asked with `traced`."""
    rows = _function(result.trace[0]["row"])
    given = ".".join(_number(value) if value != ABSENT else "-" for _, value in sorted(rows.items()))
    steps = [f"given.{given}"] if set(rows.values()) != {ABSENT} else []
    for before, after in zip(result.trace, result.trace[1:], strict=False):
        who, what, place, value = re.findall(r"[\w-]+", after["act"])
        if who in ("executor", "fill"):
            steps.append(_work(who, what, place, value))
        else:
            _node(steps, who, what, (place, value), before, after, late_enter=late_enter)
    return tuple(steps)


def _work(who: str, what: str, place: str, value: str) -> str:
    if who == "executor":
        return f"{what}.{place}" if what in ("publish", "drain") else what
    if what == "purge":
        return "fill.purge"
    return f"fill.again.{_number(place)}" if what == "again" else f"fill.{what}.{_number(place)}.{value}"


def _node(
    steps: list[str],
    node: str,
    what: str,
    statement: tuple[str, str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    late_enter: bool,
) -> None:
    match what:
        case "enter" if not late_enter:
            steps.append(f"{node}.begin")
        case "pin" if not late_enter:
            return
        case "rollback" if not late_enter and f"{node}.begin" not in _open(steps, node):
            return
        case "expire" if _function(after["lease"])[node] != "{}":
            return
        case "commit":
            write = _write(node, *statement, _function(before["row"]))
            opened = _open(steps, node)
            at = opened.index(f"{node}.expire") - len(opened) if f"{node}.expire" in opened and not late_enter else None
            steps[len(steps) if at is None else at : len(steps) if at is None else at] = write
            steps.append(f"{node}.commit")
        case _:
            steps.append(f"{node}.{what}")


def _open(steps: Sequence[str], node: str) -> Sequence[str]:
    last = max((at for at, step in enumerate(steps) if step == f"{node}.begin"), default=None)
    if last is None or f"{node}.commit" in steps[last:] or f"{node}.rollback" in steps[last:]:
        return ()
    return steps[last:]


def _write(node: str, row: str, value: str, rows: Mapping[str, str]) -> list[str]:
    number = _number(row)
    if value == ABSENT:
        statement = f"delete.{number}.0"
    else:
        statement = f"{'insert' if rows[row] == ABSENT else 'update'}.{number}.{_number(value)}"
    return [f"{node}.read.{number}", f"{node}.write.{statement}"]


def _number(name: str) -> str:
    return name[1:]


def _function(text: str) -> dict[str, str]:
    """A function as TLC writes it: `(r1 :> x1 @@ r2 :> NoRow)`."""
    return dict(re.findall(r"(\w+) :> (\{[^}]*\}|\w+)", text))
