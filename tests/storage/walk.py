"""A table walks a whole change, version by version, while statements of both versions in force and a fill go on. After
every step the pairs are consistent with each version in force, and every acknowledged value is there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, ConstraintId, Derivation, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from storage import encoding
from storage.buckets import BUCKETS
from storage.derived import value_to_fill
from storage.integrity.clauses import check
from storage.integrity.constraints import constraint_violations
from storage.mutations import Act, Op, delete_row, entry_bucket, in_order, insert_row, update_row
from storage.pairs import (
    COLUMN,
    CannotDerive,
    StoredRow,
    column_key,
    has_null,
    index_entry,
    index_values,
    prefix,
    row_bucket,
    row_key,
    rows_of,
)
from storage.store import DuplicateKey, SerializationFailure

NAME, AGE, NEW, MORE = (ColumnId(n) for n in range(2, 6))
KEYS = (1, 2, 3)
VALUES: dict[SqlType, Sequence[Any]] = {
    SqlType.TEXT: ("1", "07", "2", None, "1", "2", "07", "x"),
    SqlType.INTEGER: (17, 18, 40, None),
}
DEFAULT = encoding.encode(SqlType.INTEGER, 18)
A, D, W, P = State.ABSENT, State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC

Move = tuple[str, int, int, int, int, bool]
"""What is done: kind, which of the versions in force, key, column or other key, value, and whether it commits late."""


class Store(Protocol):
    def begin(self) -> Any: ...
    def contents(self) -> Sequence[dict[bytes, bytes | None]]: ...
    def fill(self, op: Op) -> object: ...
    def clear_tombstones(self, key_prefix: bytes) -> object: ...
    def delete_all(self, key_prefix: bytes) -> object: ...


@dataclass(frozen=True)
class Scenario:
    """The versions of a change, the works by the place of the version they belong to, and what they are about."""

    versions: tuple[Descriptor, ...]
    works: dict[int, str]
    columns: tuple[ColumnId, ...] = ()
    indexes: tuple[IndexId, ...] = ()
    dropped: tuple[ColumnId, ...] = ()


class Failed(Exception):
    """The change fails as it should: rows that the element cannot take."""


LADDER = ((A, False), (D, False), (W, True), (P, False), (W, False), (D, False), (A, False))
LADDER_WORKS = {2: "fill", 3: "purge", 5: "delete"}


def _numbered(versions: Sequence[Descriptor]) -> tuple[Descriptor, ...]:
    return tuple(replace(version, version=number) for number, version in enumerate(versions, 1))


def of_index(base: Descriptor, **attributes: Any) -> Scenario:
    """An index is added and dropped again."""
    index = Index(IndexId(1), "by_name", (IndexColumn(NAME, descending=True),), **attributes)
    steps = (replace(index, state=state, filling=filling) for state, filling in LADDER)
    versions = [replace(base, indexes=(*base.indexes, *([step] if step.state is not A else ()))) for step in steps]
    return Scenario(_numbered(versions), LADDER_WORKS, indexes=(index.id,))


def of_column(base: Descriptor, *, indexed: bool = False) -> Scenario:
    """A required column, or one with an index over it, is added and dropped again; the index goes first."""
    column = Column(NEW, "new", SqlType.INTEGER, default="18", fill_value=DEFAULT, added_with_default=True)
    index = Index(IndexId(1), "by_new", (IndexColumn(NEW), IndexColumn(NAME)), where=f'"#{NEW}" > 17')

    def version(state: State, filling: bool) -> Descriptor:
        if state is A:
            return base
        columns = (*base.columns, replace(column, state=state, filling=filling))
        indexes = (replace(index, state=state, filling=filling),) if indexed else ()
        return replace(base, columns=columns, indexes=indexes)

    versions = _numbered([version(*step) for step in LADDER])
    return Scenario(versions, LADDER_WORKS, (NEW,), (index.id,) if indexed else (), (NEW,))


def of_optional_column(base: Descriptor) -> Scenario:
    column = Column(NEW, "new", SqlType.INTEGER)
    states = (A, D, P, D, A)
    versions = [
        replace(base, columns=(*base.columns, replace(column, state=s))) if s is not A else base for s in states
    ]
    return Scenario(_numbered(versions), {3: "delete"}, dropped=(NEW,))


def of_type_change(base: Descriptor) -> Scenario:
    """`name` becomes an integer: twin, swap, and the old column goes."""
    forth, back = f'"#{NAME}"::integer', f'"#{NEW}"::text'
    twin = Column(NEW, "name (new)", SqlType.INTEGER)
    old, others = base.column(NAME), [c for c in base.columns if c.id != NAME]

    def before(state: State, *, filling: bool = False) -> Descriptor:
        derived = replace(twin, state=state, filling=filling, derived=Derivation(NAME, forth, back))
        return replace(base, columns=(*base.columns, derived))

    def after(state: State) -> Descriptor:
        left = [replace(old, state=state, derived=Derivation(NEW, back, forth))] if state is not A else []
        return replace(base, columns=(*others, *left, replace(twin, added_with_default=True)))

    versions = [base, before(D), before(W, filling=True), after(W), after(D), after(A)]
    return Scenario(_numbered(versions), {2: "fill", 3: "purge", 4: "delete"}, (NEW,), dropped=(NAME,))


def of_constraint(base: Descriptor, rule: str, expression: str | None = None) -> Scenario:
    """NOT NULL of age, or a CHECK, is added and dropped again."""
    constraint = Constraint(ConstraintId(1), "rule", rule, (AGE,), expression)
    states = (A, W, P, W, A)
    versions = [replace(base, constraints=(replace(constraint, state=s),) if s is not A else ()) for s in states]
    return Scenario(_numbered(versions), {1: "verify"})


def by_age(base: Descriptor) -> Descriptor:
    """Its rows are spread by age: an update of it may move them, and an index guards their primary key."""
    guard = Index(IndexId(9), "users_pkey_guard", (IndexColumn(base.primary_key[0]),), unique=True)
    return replace(base, placements=(replace(base.placement, sharding_key=(AGE,)),), indexes=(guard,))


SCENARIOS: dict[str, Callable[[Descriptor], Scenario]] = {
    "index": of_index,
    "partial index": lambda base: of_index(base, where=f'"#{AGE}" > 17'),
    "partial index over NULLs": lambda base: of_index(base, where=f'"#{AGE}" IS NULL AND "#1" < 3'),
    "unique index": lambda base: of_index(base, unique=True),
    "unique index of rows that move": lambda base: of_index(by_age(base), unique=True),
    "partial unique index": lambda base: of_index(base, unique=True, where=f'"#{AGE}" > 17'),
    "required column": of_column,
    "required column and a partial index over it": lambda base: of_column(base, indexed=True),
    "optional column": of_optional_column,
    "type change": of_type_change,
    "check": lambda base: of_constraint(base, "check", f'"#{AGE}" > 17'),
    "not null": lambda base: of_constraint(base, "not null"),
}


@dataclass
class Walk:
    """One run of a scenario on a store; `values` are acknowledged: (key, column) -> encoded value."""

    scenario: Scenario
    store: Store
    judges_every_step: bool = True
    place: int = 0
    previous: int = 0
    values: dict[tuple[bytes, ColumnId], bytes] = field(default_factory=dict)
    read: list[StoredRow] = field(default_factory=list)
    unread: list[tuple[int, int]] = field(default_factory=list)
    held: list[Callable[[], None]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    @property
    def in_force(self) -> tuple[Descriptor, ...]:
        return tuple(self.scenario.versions[place] for place in sorted({self.previous, self.place}))

    @property
    def now(self) -> Descriptor:
        return self.scenario.versions[self.place]

    def run(self, moves: Sequence[Move]) -> None:
        """Walk all versions with a share of the moves in each phase; `Failed` ends it early."""
        phases = 2 * len(self.scenario.versions)
        share = -(-len(moves) // phases)
        for number in range(phases):
            self.place, is_pair = number // 2, number % 2 == 0
            self.previous = max(self.place - 1, 0) if is_pair else self.place
            work = None if is_pair else self.scenario.works.get(self.place)
            self.start(work)
            for move in moves[number * share : (number + 1) * share]:
                self.do(move, work)
            self.commit_held()
            self.finish(work)
            self.judge(always=True)

    # -- statements

    def do(self, move: Move, work: str | None) -> None:
        kind, which, key, other, value, is_late = move
        if kind == "work":
            self.step(work, other)
        else:
            self.statement(kind, self.in_force[which % len(self.in_force)], KEYS[key], other, value, is_late=is_late)
        self.judge()

    def statement(self, kind: str, at: Descriptor, key: int, other: int, value: int, *, is_late: bool) -> None:
        """A statement of one row under version `at`: it reads now, and writes now or after what comes next."""
        transaction = self.store.begin()
        try:
            rows = {row.key: row for row in rows_in(at, [transaction.scan(s, b"\x00", b"\xff" * 9) for s in (1, 2)])}
            ops, said = _planned(kind, at, rows, key, other, value)
        except (CannotDerive, Refused) as refusal:
            transaction.rollback()
            self.seen.add(type(refusal).__name__)
            return
        self.held.append(lambda: self.write(transaction, ops, said))
        if not is_late:
            self.commit_held()

    def write(self, transaction: Any, ops: list[Op], said: "Said") -> None:
        """Write and commit; what is refused leaves nothing."""
        try:
            transaction.apply(in_order(ops))
            transaction.commit()
        except (SerializationFailure, DuplicateKey) as refusal:
            transaction.rollback()
            self.seen.add(type(refusal).__name__)
        else:
            self.values = said(self.values)

    def commit_held(self) -> None:
        held, self.held = self.held, []
        for write in reversed(held):
            write()

    # -- reorganisations

    def start(self, work: str | None) -> None:
        self.read, self.unread = [], [(storage, key) for storage in (1, 2) for key in KEYS]
        if work == "fill":
            for index in self.scenario.indexes:
                self.store.clear_tombstones(prefix(self.now, self.now.placement.id, index))
            self.clear_columns()

    def clear_columns(self) -> None:
        for key in self.keys_of(self.scenario.columns):
            self.store.clear_tombstones(key)

    def keys_of(self, columns: Sequence[ColumnId]) -> list[bytes]:
        """The keys of all pairs and tombstones of some columns, in one snapshot."""
        start, ends = prefix(self.now, self.now.placement.id), {COLUMN.pack(c) for c in columns}
        return sorted(k for pairs in self.store.contents() for k in pairs if k.startswith(start) and k[-2:] in ends)

    def step(self, work: str | None, pick: int) -> None:
        """A small piece of the work: read the next range, put a row that was read earlier, or delete one value."""
        if work == "fill":
            if pick % 2:
                self.read_range()
            elif self.read:
                self.put(self.read.pop(pick % len(self.read)))
        elif work == "delete":
            self.delete_entries()
            for key in self.keys_of(self.scenario.dropped)[:1]:
                self.store.delete_all(key)

    def delete_entries(self) -> None:
        for index in self.scenario.indexes:
            self.store.delete_all(prefix(self.now, self.now.placement.id, index))

    def rows(self) -> list[StoredRow]:
        return rows_in(self.now, [sorted(pairs.items()) for pairs in self.store.contents()])

    def read_range(self) -> None:
        """The rows of the next range (here: of one key on one storage), read once."""
        if self.unread:
            storage, number = self.unread.pop(0)
            low, pairs = row_key(self.now, [number]), self.store.contents()[storage - 1]
            self.read += [row for row in rows_in(self.now, [sorted(pairs.items())]) if row.key == low]

    def finish(self, work: str | None) -> None:
        if work == "fill":
            while self.unread:
                self.read_range()
            for row in self.read:
                self.put(row)
            self.repair()
        elif work == "purge":
            for index in self.scenario.indexes:
                self.store.clear_tombstones(prefix(self.now, self.now.placement.id, index))
            self.clear_columns()
        elif work == "delete":
            self.delete_entries()
            while keys := self.keys_of(self.scenario.dropped):
                for key in keys:
                    self.store.delete_all(key)
        elif work == "verify" and any(constraint_violations(self.now, row) for row in self.rows()):
            raise Failed("a row breaks the constraint")

    def put(self, row: StoredRow) -> None:
        """Put what a fill puts for the row as it was read, only where nobody has decided (R2)."""
        for column_id in self.scenario.columns:
            column = self.now.column(column_id)
            value = None if column_id in row.columns else value_to_fill(self.now, column, row)
            if value is not None:
                start = prefix(self.now, self.now.placement.id)
                bucket = row_bucket(self.now, self.now.placement, row, BUCKETS)
                self.store.fill(Op(Act.PUT, bucket, column_key(start, row.key, column_id), value))
            elif column_id not in row.columns:
                raise Failed("a row has a value that the new type cannot hold")
        for index_id in self.scenario.indexes:
            op = self.entry(row, self.now.index(index_id), Act.PUT)
            if op is not None:
                self.store.fill(op)

    def entry(self, row: StoredRow, index: Index, act: Act) -> Op | None:
        entry = index_entry(self.now, self.now.placement, index, row)
        bucket = entry_bucket(self.now, self.now.placement, index, row, BUCKETS)
        return None if entry is None else Op(act, bucket, *entry)

    def repair(self) -> None:
        """R10: a row without its unique entry gets it from a transaction, or two rows are duplicates. The fill left it
        out for another row's entry, which is gone since: at its key there is a tombstone."""
        contents = self.store.contents()
        for index in (self.now.index(i) for i in self.scenario.indexes if self.now.index(i).unique):
            mine = [
                r for r in self.rows() if not has_null(self.now, index, r) and self.entry(r, index, Act.PUT) is not None
            ]
            if len({index_values(self.now, index, r) for r in mine}) < len(mine):
                raise Failed("duplicates")
            there = contents[0] | contents[1]
            for op in (self.entry(r, index, Act.PUT) for r in mine):
                assert op is None or op.key in there, "neither the fill nor a writer put the entry"
            transaction = self.store.begin()
            transaction.apply(op for r in mine if (op := self.entry(r, index, Act.PUT_UNIQUE)) is not None)
            transaction.commit()

    # -- judging

    def judge(self, *, always: bool = False) -> None:
        if not (self.judges_every_step or always):
            return
        contents = self.store.contents()
        for descriptor in self.in_force:
            found = check(descriptor, contents, unfinished=self.unfinished())
            assert not found, f"{descriptor}: {found[0]}"
        stored = {row.key: row for row in self.rows()}
        public = {c.id for descriptor in self.in_force for c in descriptor.public_columns}
        for (key, column_id), value in self.values.items():
            assert column_id not in public or stored[key].columns.get(column_id) == value, (
                "an acknowledged value is lost"
            )

    def unfinished(self) -> frozenset[str]:
        """Until the purge is over tombstones may be there."""
        purged = next((place for place, work in self.scenario.works.items() if work == "purge"), 0)
        is_over = self.place > purged
        labels = [f"column {c}" for c in self.scenario.columns] + [f"index {i}" for i in self.scenario.indexes]
        return frozenset() if is_over else frozenset(labels)


class Refused(Exception):
    """No such row, or one that a constraint forbids."""


Said = Callable[[dict[tuple[bytes, ColumnId], bytes]], dict[tuple[bytes, ColumnId], bytes]]


def rows_in(descriptor: Descriptor, storages: Sequence[Any]) -> list[StoredRow]:
    """The rows as a node of this version reads them: pairs of columns it does not know are nothing to it."""
    known = {c.id for c in descriptor.columns}
    rows = [row for pairs in storages for row in rows_of(descriptor, descriptor.placement, pairs)]
    return [StoredRow(r.key, {c: v for c, v in r.columns.items() if c in known}) for r in rows]


def _planned(
    kind: str, at: Descriptor, rows: dict[bytes, StoredRow], number: int, other: int, value: int
) -> tuple[list[Op], Said]:
    """The operations of a statement, and what is acknowledged when it commits."""
    key = row_key(at, [number])
    old = rows.get(key)
    if kind == "insert":
        row = _new_row(at, key, value)
        _refuse_broken(at, row)
        return insert_row(at, row), _wrote(at, key, {c.id: row.columns[c.id] for c in _writable(at)}, is_new=True)
    if old is None:
        raise Refused
    if kind == "delete":
        return delete_row(at, old), lambda values: {k: v for k, v in values.items() if k[0] != key}
    if kind == "move":
        new = row_key(at, [KEYS[other % len(KEYS)]])
        if new == key or new in rows:
            raise Refused
        return update_row(at, old, {}, new), lambda values: {
            (new if k == key else k, c): v for (k, c), v in values.items()
        }
    column = _writable(at)[other % len(_writable(at))]
    assigned = {column.id: _value(column, value)}
    _refuse_broken(at, StoredRow(key, {**old.columns, **assigned}))
    return update_row(at, old, assigned), _wrote(at, key, assigned, is_new=False)


def _writable(at: Descriptor) -> list[Column]:
    return [c for c in at.stored_columns if c.state is P]


def _value(column: Column, pick: int) -> bytes:
    choices = VALUES[column.type]
    return encoding.encode(column.type, choices[pick % len(choices)])


def _new_row(at: Descriptor, key: bytes, pick: int) -> StoredRow:
    columns = {c.id: _value(c, pick + n) for n, c in enumerate(_writable(at))}
    for hidden in at.stored_columns:
        if hidden.state is W:
            columns[hidden.id] = DEFAULT if hidden.default else encoding.NULL
    return StoredRow(key, columns)


def _refuse_broken(at: Descriptor, row: StoredRow) -> None:
    if constraint_violations(at, row):
        raise Refused


def _wrote(at: Descriptor, key: bytes, written: dict[ColumnId, bytes], *, is_new: bool) -> Said:
    """Values that hold from now on; of what else the row has, a new row makes an end, and so does a twin's source."""
    ends = {NAME, NEW} if any(c.derived for c in at.columns) else set()

    def said(values: dict[tuple[bytes, ColumnId], bytes]) -> dict[tuple[bytes, ColumnId], bytes]:
        kept = {
            k: v for k, v in values.items() if k[0] != key or not (is_new or (k[1] in ends and ends & set(written)))
        }
        return kept | {(key, column_id): value for column_id, value in written.items()}

    return said
