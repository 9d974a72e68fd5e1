"""Broken clauses in words, as a task and its remarks name them: `C5@v2` is C5 under version 2."""

from collections.abc import Iterable, Mapping, Sequence

from catalog.text.message import NOTHING, Text, Values, joined
from lab.sessions.severity import CLAUSE_NAMES

LOST = "lost write"

BROKEN: Mapping[str, Text] = {
    "C1": Text("a value that belongs to no row, or to no known column"),
    "C2": Text("a row without a value that it must have"),
    "C3": Text("an entry of an index that is not known"),
    "C4": Text("a row without its entry"),
    "C5": Text("an entry that points to nothing"),
    "C6": Text("a row that breaks a constraint"),
    "C7": Text("something stored that belongs to nothing"),
    LOST: Text("a row that is read otherwise than its request has acknowledged"),
}


def made_instead(wanted: Sequence[str], damage: Iterable[str]) -> Text:
    """The damage that was done if none of it is wanted; clauses with a version or without."""
    goals = [goal.partition("@")[0] for goal in wanted]
    made = sorted(set(damage))
    if set(made) & set(goals) or not set(goals) & BROKEN.keys() or not set(made) & BROKEN.keys():
        return NOTHING
    values: Values = {"made": _named(made), "wanted": _named(goals)}
    return Text("You made: {made}. Wanted: {wanted}.", values)


def _named(clauses: Sequence[str]) -> Text:
    return joined([CLAUSE_NAMES[one] for one in dict.fromkeys(clauses) if one in BROKEN])


def clauses_named(clauses: Sequence[str]) -> Text:
    names = {**CLAUSE_NAMES, "lost message": Text("lost message"), "two editions": Text("too many editions")}
    return joined([names.get(one, Text("{clause}", {"clause": one})) for one in clauses])


def goal_text(goal: str) -> Text:
    clause, _, version = goal.partition("@v")
    if clause not in BROKEN:
        return Text("{clause}", {"clause": goal})
    if clause == LOST:
        return BROKEN[clause]
    if not version:
        return Text("{name}: {what}", {"name": CLAUSE_NAMES[clause], "what": BROKEN[clause]})
    named: Values = {"name": CLAUSE_NAMES[clause], "version": version, "what": BROKEN[clause]}
    return Text("{name} under v{version}: {what}", named)
