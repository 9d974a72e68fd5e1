"""Which states of an element may live together: found by trying everything in a tiny universe.

    for every representation that is consistent with both versions,
        for every statement that a node may run under either of them,
            what it leaves must be consistent with both (protocol.md, section 2)

The universe is a table of two columns with one element more, a row or two, and two values: some hundreds of
representations. A test holds it against the table of planner and docs (`changes.review.neighbour_states`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from typing import Generic, TypeVar

from catalog.descriptor import Descriptor
from catalog.elements import (
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Derivation,
    Index,
    IndexColumn,
    IndexId,
    Kind,
    Placement,
    PlacementId,
    State,
    TableId,
)
from catalog.states import RULES
from catalog.values.types import SqlType
from storage import encoding
from storage.integrity.clauses import Violation, check
from storage.integrity.constraints import constraint_violations
from storage.mutations import Op, TableNotWritable, delete_row, in_order, insert_row, update_row
from storage.pairs import CannotDerive, StoredRow, row_key, rows_of
from storage.store import DuplicateKey, apply_op


def _number(value: int) -> bytes:
    return encoding.encode(SqlType.INTEGER, value)


ID, SOURCE, ADDED = ColumnId(1), ColumnId(2), ColumnId(3)
KEYS, VALUES, DEFAULT, OTHER = (1, 2), (1, -1), 7, 5

Pairs = Mapping[bytes, bytes | None]
Frozen = frozenset[tuple[bytes, bytes | None]]
V = TypeVar("V")
"""A version as a node has it: of the one table, or of several."""

Statement = Callable[[V, Pairs], list[Op]]


@dataclass(frozen=True, slots=True)
class Breach:
    """One statement that breaks a clause: a node of version `by` runs it, and under version `seen_by` `why` is so."""

    clause: str
    by: str
    seen_by: str
    statement: str
    why: str

    def __str__(self) -> str:
        return f"a node in {self.by} {self.statement}; in {self.seen_by}, {self.clause}: {self.why}"


@dataclass(frozen=True, slots=True)
class Danger:
    """Why two states may not live together: what one statement breaks, and what a second one breaks after it."""

    first: tuple[Breach, ...]
    then: tuple[Breach, ...]

    @property
    def clauses(self) -> frozenset[str]:
        return frozenset(breach.clause for breach in self.first)

    @property
    def later_clauses(self) -> frozenset[str]:
        return frozenset(breach.clause for breach in self.then) - self.clauses


class Refused(Exception):
    """The statement is none that a node of this version would run."""


TABLE = Descriptor(
    table_id=TableId(1),
    name="t",
    version=1,
    columns=(Column(ID, "id", SqlType.BIGINT, not_null=True), Column(SOURCE, "a", SqlType.INTEGER)),
    primary_key=(ID,),
)
_ADDED = Column(ADDED, "b", SqlType.INTEGER)
_COLUMNS = {
    Kind.OPTIONAL_COLUMN: _ADDED,
    Kind.REQUIRED_COLUMN: replace(_ADDED, added_with_default=True, default=str(DEFAULT), fill_value=_number(DEFAULT)),
    Kind.DERIVED_COLUMN: replace(_ADDED, derived=Derivation(SOURCE, f'- "#{SOURCE}"')),
}
_INDEX = Index(IndexId(1), "i", (IndexColumn(SOURCE),))
_CHECK = Constraint(ConstraintId(1), "positive", "check", (SOURCE,), f'"#{SOURCE}" > 0')


def with_element(kind: Kind, state: State) -> Descriptor:
    """The tiny table with an element of `kind` in `state`."""
    if kind is Kind.TABLE:
        return replace(TABLE, state=state)
    if state is State.ABSENT:
        return TABLE
    if kind.is_column:
        return replace(TABLE, columns=(*TABLE.columns, replace(_COLUMNS[kind], state=state)))
    if kind.is_index:
        return replace(TABLE, indexes=(replace(_INDEX, state=state, unique=kind is Kind.UNIQUE_INDEX),))
    if kind is Kind.CONSTRAINT:
        return replace(TABLE, constraints=(replace(_CHECK, state=state),))
    return replace(TABLE, placements=(*TABLE.placements, Placement(PlacementId(2), state=state)))


def states_of(kind: Kind) -> tuple[State, ...]:
    """The states an element of `kind` can be in. A second placement is public only where the first one is not."""
    defined = {State.ABSENT, *RULES[kind]} - ({State.PUBLIC} if kind is Kind.PLACEMENT else set())
    return tuple(state for state in State if state in defined)


def unsafe_pairs(kind: Kind) -> dict[frozenset[State], Danger]:
    """Every two states of `kind` that may not live together, and why."""
    found = {}
    for one, other in combinations(states_of(kind), 2):
        versions = {state.value: with_element(kind, state) for state in (one, other)}
        danger = dangers(versions, rows=2 if kind is Kind.UNIQUE_INDEX else 1)
        if danger.first:
            found[frozenset({one, other})] = danger
    return found


def dangers(versions: Mapping[str, Descriptor], *, rows: int = 1) -> Danger:
    """What can go wrong while nodes hold these versions at once; nothing: both are empty. A single row shows all that
    is no matter of two rows."""
    return dangers_in(_OneTable(tuple(versions.items()), KEYS[:rows]))


def dangers_in(universe: "Universe[V]") -> Danger:
    """What can go wrong in a universe."""
    first: dict[tuple[str, str], Breach] = {}
    then: dict[tuple[str, str], Breach] = {}
    for pairs in universe.representations():
        if universe.is_consistent(pairs):
            for breach, broken in universe.breaches(pairs):
                first.setdefault((breach.clause, breach.seen_by), breach)
                for later, _ in universe.breaches(broken):
                    then.setdefault((later.clause, later.seen_by), later)
    return Danger(tuple(first.values()), tuple(then.values()))


class Universe(Generic[V]):
    """All pairs that versions can have, all statements that they allow. `judges` are the places of those that judge."""

    def __init__(
        self, versions: tuple[tuple[str, V], ...], statements: Iterable[tuple[str, Statement[V]]], judges: range
    ) -> None:
        self.versions, self.statements, self.judges = versions, tuple(statements), judges
        self.violations = cache(self._violations)
        self.breaches = cache(self._breaches)

    def new_pairs(self) -> Iterator[Op]:
        """Everything the versions' inserts could leave."""
        raise NotImplementedError

    def check(self, version: V, pairs: Pairs) -> list[Violation]:
        """What is wrong with these pairs under a version."""
        raise NotImplementedError

    def representations(self) -> Iterator[Frozen]:
        """Each pair that an insert could leave there or not, in any mixture."""
        values: dict[bytes, set[bytes]] = {}
        for op in self.new_pairs():
            values.setdefault(op.key, set()).add(op.value)
        choices = [[None, *((key, value) for value in sorted(found))] for key, found in sorted(values.items())]
        for chosen in product(*choices):
            yield frozenset(pair for pair in chosen if pair is not None)

    def is_consistent(self, pairs: Frozen) -> bool:
        return not any(self.violations(place, pairs) for place in self.judges)

    def _violations(self, place: int, pairs: Frozen) -> frozenset[tuple[str, str]]:
        found = self.check(self.versions[place][1], dict(pairs))
        return frozenset((violation.clause, violation.why) for violation in found)

    def _breaches(self, pairs: Frozen) -> tuple[tuple[Breach, Frozen], ...]:
        """What one statement more breaks that is not broken yet."""
        found = []
        for by, version in self.versions:
            for words, statement in self.statements:
                left = _after(version, statement, pairs)
                if left is None:
                    continue
                for place in self.judges:
                    new, seen_by = self.violations(place, left) - self.violations(place, pairs), self.versions[place][0]
                    found += [(Breach(clause, by, seen_by, words, why), left) for clause, why in sorted(new)]
        return tuple(found)


class _OneTable(Universe[Descriptor]):
    """Versions of the tiny table, with rows of these keys."""

    def __init__(self, versions: tuple[tuple[str, Descriptor], ...], keys: tuple[int, ...]) -> None:
        super().__init__(versions, _statements(keys), range(len(versions)))
        self.keys = keys

    def new_pairs(self) -> Iterator[Op]:
        for _, descriptor in self.versions:
            for row in _new_rows(descriptor, self.keys):
                yield from _allowed(lambda d=descriptor, r=row: insert_row(d, r, 1))  # type: ignore[misc]

    def check(self, version: Descriptor, pairs: Pairs) -> list[Violation]:
        return check(version, [pairs], buckets=1)


def _statements(keys: tuple[int, ...]) -> Iterator[tuple[str, Statement[Descriptor]]]:
    for key in keys:
        yield f"deletes row {key}", _delete(key)
        yield f"gives row {key} the key {3 - key}", _move(key, 3 - key)
        for value in VALUES:
            yield f"inserts row {key} with a = {value}", _insert(key, value)
            yield f"sets a = {value} in row {key}", _update(key, SOURCE, value)
        yield f"sets b = {OTHER} in row {key}", _update(key, ADDED, OTHER)


def _new_rows(descriptor: Descriptor, keys: tuple[int, ...]) -> Iterator[StoredRow]:
    """Rows as a node gives them to `insert_row`: values of public columns, defaults of hidden ones."""
    added = [(ADDED, value) for value in (DEFAULT, OTHER)]
    for key, value, extra in product(keys, VALUES, added):
        known = {column.id for column in descriptor.stored_columns}
        columns = {column_id: _number(given) for column_id, given in ((SOURCE, value), extra) if column_id in known}
        yield StoredRow(row_key(TABLE, [key]), columns)


def _insert(key: int, value: int) -> Statement[Descriptor]:
    def statement(descriptor: Descriptor, pairs: Pairs) -> list[Op]:
        given = {SOURCE: value, ADDED: DEFAULT}
        columns = {c.id: _number(given[c.id]) for c in descriptor.stored_columns if c.state is not State.DELETE_ONLY}
        row = StoredRow(row_key(TABLE, [key]), columns)
        _refuse_broken(descriptor, row)
        return insert_row(descriptor, row, 1)

    return statement


def _update(key: int, column_id: ColumnId, value: int) -> Statement[Descriptor]:
    def statement(descriptor: Descriptor, pairs: Pairs) -> list[Op]:
        column = next((c for c in descriptor.public_columns if c.id == column_id), None)
        if column is None or column.derived is not None:
            raise Refused
        old, assigned = _stored(descriptor, pairs, key), {column_id: _number(value)}
        _refuse_broken(descriptor, StoredRow(old.key, {**old.columns, **assigned}))
        return update_row(descriptor, old, assigned, buckets=1)

    return statement


def _move(key: int, to: int) -> Statement[Descriptor]:
    return lambda descriptor, pairs: update_row(
        descriptor, _stored(descriptor, pairs, key), {}, row_key(TABLE, [to]), buckets=1
    )


def _delete(key: int) -> Statement[Descriptor]:
    return lambda descriptor, pairs: delete_row(descriptor, _stored(descriptor, pairs, key), 1)


def _stored(descriptor: Descriptor, pairs: Pairs, key: int) -> StoredRow:
    """The row as a node reads it; a table that is absent has none."""
    if descriptor.state is State.ABSENT:
        raise Refused
    wanted = row_key(TABLE, [key])
    found = (row for row in rows_of(descriptor, descriptor.placement, sorted(pairs.items())) if row.key == wanted)
    for row in found:
        known = {c.id for c in descriptor.columns}
        return StoredRow(row.key, {c: value for c, value in row.columns.items() if c in known})
    raise Refused


def _refuse_broken(descriptor: Descriptor, row: StoredRow) -> None:
    if constraint_violations(descriptor, row):
        raise Refused


def _allowed(statement: Callable[[], list[Op]]) -> list[Op]:
    try:
        return statement()
    except (Refused, TableNotWritable, CannotDerive):
        return []


def _after(version: V, statement: Statement[V], pairs: Frozen) -> Frozen | None:
    """The pairs that a statement leaves; None when it is refused or changes nothing."""
    left = dict(pairs)
    try:
        for op in in_order(_allowed(lambda: statement(version, left))):
            apply_op(left, op)
    except DuplicateKey:
        return None
    frozen = frozenset(left.items())
    return None if frozen == pairs else frozen
