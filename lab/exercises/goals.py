"""Broken clauses in words, as a task and its remarks name them: `C5@v2` is what version 2 meets of C5."""

from collections.abc import Mapping

from lab.texts import Text, Values

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


def goal_text(goal: str) -> Text:
    """A goal in words; one that is no clause stands for itself."""
    clause, _, version = goal.partition("@v")
    if clause not in BROKEN:
        return Text("{clause}", {"clause": goal})
    if clause == LOST:
        return BROKEN[clause]
    if not version:
        return Text("{what} ({clause})", {"what": BROKEN[clause], "clause": clause})
    named: Values = {"what": BROKEN[clause], "version": version, "clause": clause}
    return Text("{what}, seen by version {version} ({clause})", named)
