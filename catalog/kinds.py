"""The kinds of elements, and what is true of each: one table, a row for each kind (protocol sections 2 and 4).

    kind              part of      added through                  unfilled  left behind   derived   rule   swapped
    optional column   column       delete-only                    -         C1            -         -      -
    index             index        delete-only, write-only        C4        C3            yes       -      -
    constraint        constraint   write-only                     C6        -             -         yes    -
    placement         placement    delete-only, write-only        C4        C3            yes       -      yes

Planner, review, storage, reorganisations and lab ask this table. A new kind is a row here, and its rules in
`catalog.states`; which of its states may not be neighbours follows (`changes.review.neighbour_states`).
"""

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """The part of an element that a server may use (F1 paper, section 3)."""

    __hash__ = object.__hash__  # by identity: an enum's own is computed in Python, at every look-up in the rule table

    ABSENT = "absent"
    DELETE_ONLY = "delete-only"
    WRITE_ONLY = "write-only"
    PUBLIC = "public"


class Family(Enum):
    """The part of a descriptor in which an element stands, and what it has in the store."""

    TABLE = "table"
    COLUMN = "column"
    INDEX = "index"
    CONSTRAINT = "constraint"
    PLACEMENT = "placement"


class Kind(Enum):
    """The kind of an element. Optional and required columns climb different ladders."""

    __hash__ = object.__hash__

    TABLE = "table"
    OPTIONAL_COLUMN = "optional column"
    REQUIRED_COLUMN = "required column"
    DERIVED_COLUMN = "derived column"
    INDEX = "index"
    UNIQUE_INDEX = "unique index"
    CONSTRAINT = "constraint"
    PLACEMENT = "placement"

    @property
    def facts(self) -> "Facts":
        """The kind's row of the table."""
        return KINDS[self]

    @property
    def family(self) -> Family:
        return KINDS[self].family

    @property
    def is_column(self) -> bool:
        return KINDS[self].family is Family.COLUMN

    @property
    def is_user_column(self) -> bool:
        """A column whose values users give; those of a derived one follow from another column."""
        return self.is_column and not KINDS[self].is_derived

    @property
    def is_index(self) -> bool:
        return KINDS[self].family is Family.INDEX

    @property
    def has_pairs(self) -> bool:
        """Elements of the kind have pairs in the store, which a reorganisation deletes before they are absent."""
        return bool(KINDS[self].left_breaks)

    @property
    def is_swapped(self) -> bool:
        """An element of the kind becomes public in the place of another one, which follows it from then on (a swap)."""
        return KINDS[self].is_swapped

    @property
    def is_filled(self) -> bool:
        """A reorganisation fills it on its way up; on its way down its pairs are incomplete from delete-only on."""
        return self.has_pairs and bool(KINDS[self].unfilled_breaks)


@dataclass(frozen=True, slots=True)
class Facts:
    """One row of the table.

    `ladder` has the states through which an element is added, and backwards dropped. `unfilled_breaks` is the clause
    that breaks when it becomes public over rows that nobody filled or verified, `left_breaks` the one that breaks when
    it becomes absent while pairs of it are left; "": nothing does. The pairs of what `is_derived` are made of other
    values of their row, and must match them (C5). A `is_rule` asks something of rows: verification may find some that
    violate it. What `is_swapped` takes the place of another element, which is written until it is delete-only.
    """

    family: Family
    ladder: tuple[State, ...]
    unfilled_breaks: str = ""
    left_breaks: str = ""
    is_derived: bool = False
    is_rule: bool = False
    is_swapped: bool = False


_A, _D, _W, _P = State.ABSENT, State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC

KINDS: dict[Kind, Facts] = {
    Kind.TABLE: Facts(Family.TABLE, (_A, _D, _P), "", "C1"),
    Kind.OPTIONAL_COLUMN: Facts(Family.COLUMN, (_A, _D, _P), "", "C1"),
    Kind.REQUIRED_COLUMN: Facts(Family.COLUMN, (_A, _D, _W, _P), "C2", "C1"),
    Kind.DERIVED_COLUMN: Facts(Family.COLUMN, (_A, _D, _W, _P), "C2", "C1", is_derived=True, is_swapped=True),
    Kind.INDEX: Facts(Family.INDEX, (_A, _D, _W, _P), "C4", "C3", is_derived=True),
    Kind.UNIQUE_INDEX: Facts(Family.INDEX, (_A, _D, _W, _P), "C4", "C3", is_derived=True, is_rule=True),
    Kind.CONSTRAINT: Facts(Family.CONSTRAINT, (_A, _W, _P), "C6", "", is_rule=True),
    Kind.PLACEMENT: Facts(Family.PLACEMENT, (_A, _D, _W, _P), "C4", "C3", is_derived=True, is_swapped=True),
}
