"""Mistakes in a sequence that a learner wrote, as texts: the rules of plans word it in English.

    step 2 (C4): index by_a: public and delete-only may not be in use together (C4): a node that puts no entry ..
    step {at}: {what} ({clauses}), and {what} a text itself

Faults are of plans that can run and may not; mistakes of lines that are no plan. What no pattern knows stays in
English: a test mends and spoils the solutions of all chapters at random and finds none.
"""

import re
from collections.abc import Callable, Mapping

from catalog.elements import State
from lab.explorer.narration import STATES
from lab.texts import Patterns, Text, clauses, names_listed, text_of

STATE, KINDS = r"[a-z]+(?:-only)?", r"(?:(?:optional|required) )?column|(?:unique )?index|constraint|foreign key"
ELEMENT = rf"(?P<element>(?:{KINDS}) \w+)"
TOGETHER = rf"(?P<before>{STATE}) and (?P<after>{STATE}) may not be in use together \([C0-9 and]+\)"

FAULTS: Patterns = (
    (rf"{ELEMENT}: {TOGETHER}: (?P<witness>.+)", Text("{element}: {before} and {after} do not get along: {witness}")),
    (
        r"the version before it is not drained: three versions may be in use \(L2\)",
        Text("the version before it is not drained: three versions may be in use (L2)"),
    ),
    (
        r"the last version is not drained when the change is done \(L12\)",
        Text("the last version is not drained when the change is done (L12)"),
    ),
    (
        r"(?P<word>\w+) begins before its version is drained \(L9\)",
        Text("`{word}` begins before its version is drained (L9)"),
    ),
    (
        r"(?P<word>\w+) begins before (?P<tables>.+) is drained with its own version \(L11\)",
        Text("`{word}` begins before {tables} is drained with its own version (L11)"),
    ),
    (
        r"(?P<tables>\S+) is not drained when the change is done \(L11, L12\)",
        Text("{tables} is not drained when the change is done (L11, L12)"),
    ),
    (
        rf"pairs are left of {ELEMENT} that nobody will ever remove",
        Text("pairs of {element} are left behind that nobody will ever remove"),
    ),
    (
        rf"entries are deleted while {ELEMENT} is (?P<state>{STATE}): writers put new ones",
        Text("`delete` comes while {element} is {state}; it belongs to delete-only, where nobody puts new ones"),
    ),
    (
        rf"{ELEMENT} is public without (?P<word>\w+): (?P<witness>.+)",
        Text("{element} is public without `{word}`: {witness}"),
    ),
    (r"the order must be (?P<order>.+)", Text("the order must be {order}")),
    (
        rf"{ELEMENT} becomes (?P<state>{STATE}) while it is NOT NULL: (?P<witness>.+)",
        Text("{element} becomes {state} while it is NOT NULL: {witness}"),
    ),
    (
        rf"{ELEMENT} becomes (?P<state>{STATE}) while constraint (?P<constraint>\w+), which reads it, is not absent "
        r"yet: (?P<witness>.+)",
        Text("{element} becomes {state} while {constraint}, which reads it, is not absent yet: {witness}"),
    ),
    (
        rf"constraint (?P<constraint>\w+) is (?P<before>{STATE}) and {ELEMENT} (?P<state>{STATE}): (?P<witness>.+)",
        Text("{constraint} is {before} and {element} is {state}: {witness}"),
    ),
    (
        rf"{ELEMENT} is (?P<before>{STATE}) in (?P<one>\S+) and (?P<after>{STATE}) in (?P<other>\S+): (?P<witness>.+)",
        Text("{element} is {before} in {one} and {after} in {other}: {witness}"),
    ),
)
"""Faults of plans, without the step and the clauses before them."""

WITNESSES: Patterns = (
    (
        r"a node that writes the index puts an entry; a node that has never heard of it deletes the row, and the entry "
        r"points at nothing",
        Text("a node puts an entry; another one that knows of no index deletes the row, and the entry stays"),
    ),
    (
        r"a node that knows the column writes its value into a row; a node that does not deletes the row, "
        r"and the value stays behind without one",
        Text("a node writes a value; another one that does not know the column deletes the row, and the value stays"),
    ),
    (
        r"a node that puts no entry inserts a row; a reader of the public index does not find it",
        Text("a node that puts no entry inserts a row; a reader of the public index does not find it"),
    ),
    (
        r"a node that may not write the column inserts a row without its value; a reader finds a required one missing",
        Text("a node that may not write the column inserts a row; a reader finds a required value missing"),
    ),
    (
        r"a node without the constraint writes a row that breaks it; a reader relies on it",
        Text("a node without the constraint writes a row that breaks it; a reader relies on it"),
    ),
    (
        r"a node that can't write the column any more leaves rows without a value",
        Text("a node that cannot write the column any more leaves rows without a value"),
    ),
    (
        r"a node that can't write the column any more breaks it for a node that enforces it",
        Text("a node that cannot write the column any more breaks it for one that enforces it"),
    ),
    (
        r"a node writes rows without the value that the constraint is about",
        Text("a node writes rows without the value that the constraint is about"),
    ),
    (
        r"a node deletes a row of the one table to which a row of the other refers, and nothing tells it to look",
        Text("a node deletes a row of one table to which a row of the other refers, and nothing tells it to look"),
    ),
    (
        r"one table relies on what the other one only enforces, and may not enforce any more in the version next to it",
        Text("one table relies on what the other one only enforces, and may not enforce in the version next to it"),
    ),
    (
        r"nobody has looked whether all rows are as it says \(R10\)",
        Text("nobody has looked whether all rows are as it says (R10)"),
    ),
    (
        r"a chunk of the fill may still be written after its row was deleted without a tombstone \(R7\)",
        Text("the look at the rows of before is not ended (R7)"),
    ),
)
"""Who is harmed by a fault, in a sentence; of two at once they are joined by "; and "."""

ELEMENTS: Patterns = (
    (r"(?:(?:optional|required) )?column (?P<name>\w+)", Text("column {name}")),
    (r"(?:unique )?index (?P<name>\w+)", Text("index {name}")),
    (r"(?:constraint|foreign key) (?P<name>\w+)", Text("constraint {name}")),
)
"""An element with its kind."""

AT = r"step (?P<at>\d+)"

MISTAKES: Patterns = (
    (
        r"a plan publishes at least one version: .+",
        Text("a plan publishes at least one version, such as `publish delete-only`"),
    ),
    (r"a (?:plan|sequence) has 1 to (?P<most>\d+) .+", Text("write 1 to {most} lines")),
    (
        rf"{AT}, (?P<text>.+), is none of (?P<words>.+)",
        Text("line {at}, {text}, does not begin with one of these words: {words}"),
    ),
    (rf"{AT}: (?P<word>\w+) stands alone, without .+", Text("line {at}: `{word}` stands alone")),
    (
        rf"{AT}: (?P<text>.+) names none of (?P<words>.+)",
        Text("line {at}: {text} names no element; there are: {words}"),
    ),
    (
        rf"{AT}: {ELEMENT} is absent before it; it can't be published (?P<state>{STATE})",
        Text("line {at}: {element} is absent by then; it cannot become {state}"),
    ),
    (
        rf"{AT}: {ELEMENT} is absent in (?P<table>\S+); it can't be published (?P<state>{STATE})",
        Text("line {at}: {element} is absent in {table}; it cannot become {state}"),
    ),
    (
        rf"{AT}: {ELEMENT} is about a column that is absent before it",
        Text("line {at}: {element} is about a column that is absent by then"),
    ),
    (
        rf"{AT}: publish one of (?P<words>.+), not (?P<text>.+)",
        Text("line {at}: after `publish` comes one of {words}, not {text}"),
    ),
    (rf"{AT}: a .+ is never filling", Text("line {at}: this element is never filling")),
    (
        rf"{AT}: {ELEMENT} is in one table only, and needs no name of it",
        Text("line {at}: {element} is in one table only, and needs no name of it"),
    ),
    (
        rf"{AT}: {ELEMENT} is in (?P<one>\w+) and (?P<other>\w+), not in (?P<table>.+)",
        Text("line {at}: {element} is in {one} and {other}, not in {table}"),
    ),
    (
        r"unknown state (?P<text>.+); states are: (?P<words>.+)",
        Text("{text} is no state; states are: {words}"),
    ),
    (
        r"(?P<text>\S+) stands twice in a row: .+",
        Text("{text} stands twice in a row: a version differs from the one before"),
    ),
    (
        r"(?P<text>\S+): a version of this .+ model is .+",
        Text("{text}: a line is the states of both, with a plus sign between them"),
    ),
    (r"a model has at least two versions, .+", Text("write at least two versions")),
    (r"a model has at most (?P<most>\d+) versions, .+", Text("write {most} versions at most")),
)
"""Lines that are no sequence in the task's grammar."""


def fault_of_plan(fault: str) -> Text:
    """A fault as the rules of plans word it: the step, the clauses that break, and why."""
    found = re.fullmatch(rf"{AT}(?: \((?P<clauses>[^)]*)\))?: (?P<what>.+)", fault)
    if found is None:
        return Text("{why}", {"why": fault})
    broken = re.findall(r"C\d", found["clauses"] or "")
    values = {"at": found["at"], "what": _known(found["what"], FAULTS)}
    if not broken:
        return Text("step {at}: {what}", values)
    return Text("step {at} ({clauses}): {what}", values | {"clauses": names_listed(broken)})


def mistake_of_lines(why: str) -> Text:
    """The text of what is wrong with lines that are no sequence."""
    return _known(why, MISTAKES)


def _known(sentence: str, patterns: Patterns) -> Text:
    return text_of(sentence, patterns, INNER)


def _state(name: str) -> Text:
    return STATES[State(name)]


def _witness(words: str) -> Text:
    return clauses([_known(one, WITNESSES) for one in words.split("; and ")])


def _element(words: str) -> Text:
    return _known(words, ELEMENTS)


INNER: Mapping[str, Callable[[str], Text]] = {
    "state": _state,
    "before": _state,
    "after": _state,
    "witness": _witness,
    "element": _element,
}
"""The names that stand for words which are texts themselves."""
