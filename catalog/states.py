"""The rule table: what a statement does to an element's pairs in each state (F1 paper, section 3; protocol.md, section
3).

Two servers may be one version apart, so neighbouring states must tolerate each other; `tests.storage.neighbours` finds
those that do not by trying all. Delete-only removes pairs and never makes them, so entries of a server one step behind
cannot outlive their row. Write-only makes, removes and never reads them, so that a backfill may run.
"""

from dataclasses import dataclass
from enum import Enum

from catalog.elements import Kind, State


class Write(Enum):
    """The act of insert, update or delete on an element's pairs."""

    UNKNOWN = "refused as unknown"
    NOTHING = "-"
    REMOVE_ROW = "del everything of the row"
    REMOVE = "del"
    REMOVE_OLD = "del the old pair when its source changes, never put"
    PUT = "put"
    PUT_DEFAULT = "put its default"
    REPLACE = "del old, put new when its source changes"
    ENFORCE = "enforced"


class Read(Enum):
    """A query's use of the element."""

    UNKNOWN = "refused as unknown"
    UNUSED = "not used"
    USED = "used"
    UNRELIED = "not relied on"
    RELIED = "relied on"


@dataclass(frozen=True, slots=True)
class Rule:
    insert: Write
    update: Write
    delete: Write
    read: Read


_COLUMN = {
    State.DELETE_ONLY: Rule(Write.NOTHING, Write.NOTHING, Write.REMOVE, Read.UNKNOWN),
    State.WRITE_ONLY: Rule(Write.PUT_DEFAULT, Write.NOTHING, Write.REMOVE, Read.UNKNOWN),
    State.PUBLIC: Rule(Write.PUT, Write.PUT, Write.REMOVE, Read.USED),
}

_INDEX = {
    State.DELETE_ONLY: Rule(Write.NOTHING, Write.REMOVE_OLD, Write.REMOVE, Read.UNUSED),
    State.WRITE_ONLY: Rule(Write.PUT, Write.REPLACE, Write.REMOVE, Read.UNUSED),
    State.PUBLIC: Rule(Write.PUT, Write.REPLACE, Write.REMOVE, Read.USED),
}

_TABLE = {
    State.DELETE_ONLY: Rule(Write.UNKNOWN, Write.UNKNOWN, Write.REMOVE_ROW, Read.UNKNOWN),
    State.PUBLIC: Rule(Write.PUT, Write.PUT, Write.REMOVE_ROW, Read.USED),
}

_CONSTRAINT = {
    State.WRITE_ONLY: Rule(Write.ENFORCE, Write.ENFORCE, Write.ENFORCE, Read.UNRELIED),
    State.PUBLIC: Rule(Write.ENFORCE, Write.ENFORCE, Write.ENFORCE, Read.RELIED),
}

RULES: dict[Kind, dict[State, Rule]] = {
    Kind.TABLE: _TABLE,
    Kind.OPTIONAL_COLUMN: _COLUMN,
    Kind.REQUIRED_COLUMN: _COLUMN,
    Kind.DERIVED_COLUMN: _INDEX,
    Kind.INDEX: _INDEX,
    Kind.UNIQUE_INDEX: _INDEX,
    Kind.PLACEMENT: _INDEX,
    Kind.CONSTRAINT: _CONSTRAINT,
}

ABSENT = Rule(Write.NOTHING, Write.NOTHING, Write.NOTHING, Read.UNKNOWN)
"""An absent element is as if it had never been."""


class UndefinedState(ValueError):
    """A state that this kind cannot be in, such as a delete-only constraint."""


def possible_states(kind: Kind) -> frozenset[State]:
    """All but write-only for tables, delete-only for constraints."""
    return frozenset({State.ABSENT, *RULES[kind]})


def rule(kind: Kind, state: State) -> Rule:
    """Raises `UndefinedState`."""
    if state is State.ABSENT:
        return ABSENT
    try:
        return RULES[kind][state]
    except KeyError:
        raise UndefinedState(f"a {kind.value} is never {state.value}") from None
