"""The parts of a world of a rollout, and the outcomes of a step: values without behaviour."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from rollouts.statements.definitions import Definition
from rollouts.statements.effects import Answer, Statement
from rollouts.statements.tables import Identity, Lock, Schema, Values, Write
from rollouts.statements.values import Value, text_of

TRANSACTIONS_MAX = 2
"""Operations of several statements under way at once; a backfill comes on top."""

INTEGER_KEYS, OTHER_KEYS = (1, 2), (101, 102)
"""Keys, and those that are taken where users give 1 or 2 as a value."""

TEXT_KEYS = ("k-one", "k-two")
BACKFILL = -1
ALL = "all rows"
RowsOf = tuple[str, tuple[tuple[Identity, Values], ...]]
Rows = tuple[RowsOf, ...]
Environment = tuple[tuple[str, Value], ...]
Meaning = tuple[tuple[str, Value], ...] | None


class Transaction(NamedTuple):
    """`snapshot` is set while its statement is between beginning and end."""

    release: int
    operation: str
    at: int
    environment: Environment
    writes: tuple[Write, ...] = ()
    locks: frozenset[Lock] = frozenset()
    tables: frozenset[str] = frozenset()
    gave: frozenset[str] = frozenset()
    allowed: frozenset[Meaning] = frozenset()
    snapshot: Rows | None = None


class World(NamedTuple):
    stage: int
    rows: Rows
    meant: tuple[Meaning, ...]
    transactions: tuple[Transaction, ...] = ()
    todo: tuple[Value, ...] = ()
    lingering: frozenset[tuple[int, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Stage:
    """A gate between two deploys, or the middle of one. `done` counts the deploys that have ended."""

    number: int
    done: int
    running: tuple[int, ...]
    schema: Schema
    kind: str = "end"
    """The next event: schema, starts (a release), gone (the one before), backfill, trigger, end; on Schema Lab publish,
    drain, verify."""

    text: str = ""
    statements: tuple[Statement, ...] = ()
    older: Schema | None = None
    """On Schema Lab the version that other servers use beside `schema`."""

    definition: Definition | None = None
    """Of a step on Schema Lab that existing rows meet: they are changed, or verified."""

    base: Schema | None = None
    """The schema before the statement of that step."""


class Step(NamedTuple):
    """One event. `release`: an index, `BACKFILL`, or None for a deploy."""

    kind: str
    stage: int
    release: int | None = None
    operation: str = ""
    at: int = 0
    environment: Environment = ()
    answer: Answer | None = None
    met: int | None = None
    under: str = ""
    """On Schema Lab, while two versions are in use: older or newer."""


class Fault(NamedTuple):
    kind: str
    about: str
    values: tuple[tuple[str, Any], ...]


class Waits(NamedTuple):
    locks: frozenset[Lock]


Outcome = World | Fault | Waits


def same(given: Value, wanted: Value) -> bool:
    """True for a value that was meant: 10 is 10.00, '10' is not 10."""
    if isinstance(given, int | float | Decimal) and isinstance(wanted, int | float | Decimal):
        return isinstance(given, bool) == isinstance(wanted, bool) and Decimal(text_of(given)) == Decimal(
            text_of(wanted)
        )
    if isinstance(given, str) or isinstance(wanted, str) or given is None or wanted is None:
        return given == wanted or (wanted is not None and given is not None and text_of(given) == text_of(wanted))
    return given == wanted
