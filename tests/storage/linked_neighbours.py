"""Which states of a foreign key may live together: `tests.storage.neighbours` with two tables, of which child refers to
parent. Their versions are published together (L11), and a node leases each by itself: while two are in use, it may have
the one of the child and the other of the parent."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, REFERENCED, Column, ColumnId, Constraint, ConstraintId, Kind, State, TableId
from catalog.values.types import SqlType
from storage import encoding
from storage.integrity.clauses import Referenced, Violation, check
from storage.integrity.references import demands, place_of, refers_still
from storage.mutations import Op, delete_row, insert_row, update_row
from storage.pairs import StoredRow, prefix, rows_of
from tests.storage.neighbours import Danger, Pairs, Refused, Statement, Universe, dangers_in, states_of

ID, REFERS = ColumnId(1), ColumnId(2)
ONE = encoding.encode(SqlType.BIGINT, 1)
"""The key of the one parent, and of the one row that may refer to it."""

_KEY = Column(ID, "id", SqlType.BIGINT, not_null=True)
_PARENT = Descriptor(TableId(2), "parent", 1, (_KEY,), (ID,))
_CHILD = Descriptor(TableId(1), "child", 1, (_KEY, Column(REFERS, "parent", SqlType.BIGINT)), (ID,))
_LINK = Constraint(
    ConstraintId(1), "refers", FOREIGN_KEY, (REFERS,), references=_PARENT.table_id, reference_columns=(ID,),
    partner=ConstraintId(1),
)  # fmt: skip
_OTHER_SIDE = replace(_LINK, rule=REFERENCED, columns=(ID,), references=_CHILD.table_id, reference_columns=(REFERS,))


@dataclass(frozen=True, slots=True)
class Both:
    """A version of each table, as one node has them."""

    child: Descriptor
    parent: Descriptor


def in_states(child: State, parent: State) -> Both:
    """The two tables, the foreign key in these states."""
    return Both(_with(_CHILD, _LINK, child), _with(_PARENT, _OTHER_SIDE, parent))


def _with(table: Descriptor, link: Constraint, state: State) -> Descriptor:
    return table if state is State.ABSENT else replace(table, constraints=(replace(link, state=state),))


def unsafe_pairs() -> dict[frozenset[State], Danger]:
    """Every two states of a foreign key that may not live together, and why."""
    found = {}
    for one, other in combinations(states_of(Kind.CONSTRAINT), 2):
        danger = dangers_in(_TwoTables(one, other))
        if danger.first:
            found[frozenset({one, other})] = danger
    return found


class _TwoTables(Universe[Both]):
    """Both tables in one state or the other: what is published judges, and nodes have any mixture of it."""

    def __init__(self, one: State, other: State) -> None:
        published = [(state.value, in_states(state, state)) for state in (one, other)]
        mixed = [
            (f"{child.value} in child and {parent.value} in parent", in_states(child, parent))
            for child, parent in permutations((one, other))
        ]
        super().__init__((*published, *mixed), STATEMENTS, range(len(published)))

    def new_pairs(self) -> Iterator[Op]:
        yield from insert_row(_PARENT, StoredRow(ONE), 1)
        for value in (ONE, encoding.NULL):
            yield from insert_row(_CHILD, StoredRow(ONE, {REFERS: value}), 1)

    def check(self, version: Both, pairs: Pairs) -> list[Violation]:
        own, others = ({k: v for k, v in pairs.items() if _is_of(t, k)} for t in (version.child, version.parent))
        found = check(version.child, [own], buckets=1, referenced=[Referenced(version.parent, [others])])
        return [*found, *check(version.parent, [others], buckets=1)]


def _is_of(table: Descriptor, key: bytes) -> bool:
    return key.startswith(prefix(table, table.placement.id))


def _put(value: bytes) -> Statement[Both]:
    """Insert the row of child, or update it when it is there."""

    def statement(both: Both, pairs: Pairs) -> list[Op]:
        old, row = _row(both.child, pairs), StoredRow(ONE, {REFERS: value})
        for demand in demands(both.child, [(old, row)]):
            if place_of(both.parent, demand.constraint, demand.values, 1).key not in pairs:
                raise Refused
        return insert_row(both.child, row, 1) if old is None else update_row(both.child, old, row.columns, buckets=1)

    return statement


def _remove_child(both: Both, pairs: Pairs) -> list[Op]:
    old = _row(both.child, pairs)
    return [] if old is None else delete_row(both.child, old, 1)


def _remove_parent(both: Both, pairs: Pairs) -> list[Op]:
    old, child = _row(both.parent, pairs), _row(both.child, pairs)
    if old is None:
        return []
    if child is not None and any(refers_still(both.child, one, child) for one in demands(both.parent, [(old, None)])):
        raise Refused
    return delete_row(both.parent, old, 1)


def _put_parent(both: Both, pairs: Pairs) -> list[Op]:
    return insert_row(both.parent, StoredRow(ONE), 1)


def _row(table: Descriptor, pairs: Pairs) -> StoredRow | None:
    return next(iter(rows_of(table, table.placement, sorted(pairs.items()))), None)


STATEMENTS: tuple[tuple[str, Callable[[Both, Pairs], list[Op]]], ...] = (
    ("puts a row that refers to parent 1", _put(ONE)),
    ("puts a row that refers to nothing", _put(encoding.NULL)),
    ("deletes the row", _remove_child),
    ("inserts parent 1", _put_parent),
    ("deletes parent 1", _remove_parent),
)
