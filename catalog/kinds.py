"""The kinds of elements, a row for each (protocol sections 2 and 4). Planner, review, storage, reorganisations and lab
use this table. A new kind is a row here, and its rules in `catalog.states`; incompatible neighbour states follow
(`changes.review.neighbour_states`)."""

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
    """The part of a descriptor in which an element stands."""

    TABLE = "table"
    COLUMN = "column"
    INDEX = "index"
    CONSTRAINT = "constraint"
    PLACEMENT = "placement"


class Kind(Enum):
    """Optional and required columns have different ladders."""

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
        return KINDS[self]

    @property
    def family(self) -> Family:
        return KINDS[self].family

    @property
    def is_column(self) -> bool:
        return KINDS[self].family is Family.COLUMN

    @property
    def is_user_column(self) -> bool:
        return self.is_column and not KINDS[self].is_derived

    @property
    def is_index(self) -> bool:
        return KINDS[self].family is Family.INDEX

    @property
    def has_pairs(self) -> bool:
        """A reorganisation deletes pairs before the element is absent."""
        return bool(KINDS[self].left_breaks)

    @property
    def is_swapped(self) -> bool:
        """It takes the place of another element, which follows it from then on."""
        return KINDS[self].is_swapped

    @property
    def is_filled(self) -> bool:
        """A reorganisation fills it; when dropped, its pairs are incomplete from delete-only on."""
        return self.has_pairs and bool(KINDS[self].unfilled_breaks)


@dataclass(frozen=True, slots=True)
class Facts:
    """One row of the table. `ladder`: states when added, backwards when dropped. `unfilled_breaks`: the clause that
    breaks when it becomes public over unfilled rows, `left_breaks` when it becomes absent with pairs left ("": none).
    `is_derived`: pairs must match other values (C5). `is_rule`: verification may find violations. `is_swapped`: the
    other element is written until delete-only."""

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
