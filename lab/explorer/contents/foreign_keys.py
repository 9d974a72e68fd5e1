"""Effects of statements where rows of one table refer to rows of another.

Each table checks only if its own version enforces the foreign key, and reads the other table under the node's version
of that: a child in write-only beside a parent in absent is a node like any other. A row that only gets another key
keeps its reference and is not checked. Both tables' pairs are in one store: a child's write reads the pair of its
parent, a parent's removal the pairs of all children, and changed ones fail the commit (SERIALIZABLE).
"""

from collections.abc import Iterator
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.text.sentence import Sentence
from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import NOT_NAMED, Acknowledged, Fault, InForce, Occurrence, Pairs, Slot, Snapshot
from lab.explorer.contents.self_references import SelfEffects, demands_made
from lab.explorer.contents.statements import (
    DELETE,
    DELETE_PARENT,
    INSERT,
    INSERT_PARENT,
    MOVE,
    MOVE_PARENT,
    NO_VALUE,
    OF_PARENTS,
    UPDATE,
    Statement,
    inserted,
    statements_of,
)
from lab.explorer.model import Model
from lab.explorer.plans.program import Program, Schema
from lab.explorer.plans.small_tables import CHILD, IDS, PARENT, A, element_labels, encoded, row_key_of, tables_of
from storage.buckets import BUCKETS
from storage.integrity.clauses import Referenced, check
from storage.integrity.references import Change, Demand, place_of, why_unmet
from storage.mutations import Op, delete_row, in_order, insert_row, update_row
from storage.pairs import PREFIX, StoredRow, column_key, name_of, prefix

THERE = b""
"""What was acknowledged of a parent that is there: it has a key and nothing else."""


def effects_of(model: Model, program: Program | None = None) -> Effects:
    if model.foreign_key:
        return LinkedEffects(model, program)
    return SelfEffects(model, program) if model.refers_to_itself else Effects(model, program)


class LinkedEffects(Effects):
    """The schema of a statement is a version of each table."""

    def __init__(self, model: Model, program: Program | None = None) -> None:
        super().__init__(model, program)
        self.tables = tables_of(model, (State.PUBLIC,) * len(model.walkers), (0, 0))
        parents = range(1, model.values + 1)
        self.statements = (*statements_of(model), *_parents_statements(model))
        self.subjects = (*((INSERT_PARENT, parent) for parent in parents), *self.subjects)

    def table_of(self, key: bytes) -> Descriptor:
        return self.tables[IDS.index(PREFIX.unpack_from(key)[0])]

    def given_rows(self, contents: int) -> tuple[str | int, ...]:
        acknowledged = self.known[contents].acknowledged
        values = {encoded(value): value for value in range(self.model.values + 1)} | {NOT_NAMED: NO_VALUE}
        subjects = zip(self.subjects, acknowledged, strict=True)
        return tuple("-" if known is None else values.get(known, number) for (_, number), known in subjects)

    # Statements

    def _accepted(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> list[Op] | None:
        wanted = self._wanted(schema, snapshot, statement)
        return None if wanted is None or self._why_refused(schema, snapshot, statement) else wanted

    def refusal(self, contents: int, schema: Schema, statement: Statement) -> int:
        snapshot = self.snapshot(contents)
        is_wanted = self._wanted(schema, snapshot, statement) is not None
        return self._why_refused(schema, snapshot, statement) if is_wanted else Occurrence.NOTHING

    def _wanted(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> list[Op] | None:
        child, parent = self._both(schema)
        if statement[0] not in OF_PARENTS:
            return self.operations(child, snapshot, statement)
        what, row, other = statement
        there = snapshot.rows(parent)
        old, new = there.get(encoded(row)), StoredRow(encoded(other or row))
        if what == INSERT_PARENT:
            return None if old is not None else in_order(insert_row(parent, new))
        if old is None or (what == MOVE_PARENT and new.key in there):
            return None
        moved = what == MOVE_PARENT
        return in_order(update_row(parent, old, {}, new_key=new.key) if moved else delete_row(parent, old))

    def _why_refused(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> int:
        for demand in self._demands(schema, snapshot, statement):
            child, parent = self._both(schema)
            rows = snapshot.rows(child).values if _has_column(child) else tuple
            other = parent if demand.wants_row else child
            if (
                why_unmet(demand, other, has=lambda at: snapshot.storages[0].get(at.key) is not None, rows=rows)
                is not None
            ):
                return Occurrence.CHILD_REFUSED if demand.wants_row else Occurrence.PARENT_REFUSED
        return Occurrence.NOTHING

    def _demands(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> list[Demand]:
        table = self._both(schema)[PARENT if statement[0] in OF_PARENTS else CHILD]
        return demands_made(self.model, table, self._change(table, snapshot, statement))

    def _change(self, table: Descriptor, snapshot: Snapshot, statement: Statement) -> Change:
        what, row, other = statement
        number = encoded if what in OF_PARENTS else row_key_of
        before = snapshot.rows(table).get(number(row))
        if what == INSERT:
            return before, StoredRow(number(row), inserted(table, other) or {})
        if what == INSERT_PARENT:
            return before, StoredRow(number(row))
        if before is None or what in (DELETE, DELETE_PARENT):
            return before, None
        if what == UPDATE:
            return before, before._replace(columns={**before.columns, A: encoded(other)})
        return before, before._replace(key=number(other))

    def _read_slots(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> Iterator[Slot]:
        what, row, other = statement
        child, parent = self._both(schema)
        table, number = (parent, encoded) if what in OF_PARENTS else (child, row_key_of)
        keys = {number(row)} | ({number(other)} if what in (MOVE, MOVE_PARENT) else set())
        yield from ((0, key) for key in snapshot.storages[0] if _is_of_row(self.table_of(key), key, table, keys))
        asked = self._demands(schema, snapshot, statement)
        for demand in asked:
            if demand.wants_row:
                yield 0, place_of(parent, demand.constraint, demand.values, BUCKETS).key
        if any(not demand.wants_row for demand in asked):
            start = prefix(child, child.placement.id)
            for at in range(1, self.model.rows + 1):
                yield from ((0, column_key(start, row_key_of(at), *column)) for column in ((), (A,)))

    def _acknowledged(self, acknowledged: Acknowledged, statement: Statement) -> Acknowledged:
        what, row, other = statement
        parents, children = acknowledged[: self.model.values], acknowledged[self.model.values :]
        if what not in OF_PARENTS:
            return (*parents, *super()._acknowledged(children, statement))
        known = list(parents)
        known[row - 1] = THERE if what == INSERT_PARENT else None
        if what == MOVE_PARENT:
            known[other - 1] = THERE
        return (*known, *children)

    def _both(self, schema: Schema) -> tuple[Descriptor, Descriptor]:
        return self.program.descriptors[schema[CHILD]], self.program.descriptors[schema[PARENT]]

    # Judgement

    def verifies(self, contents: int, schema: Schema) -> bool:
        storages = self.snapshot(contents).storages
        return not [*self._broken(storages, ((schema[CHILD],), (schema[PARENT],)), ended=False)]

    def _judge(self, contents: int, in_force: InForce, ended: bool) -> Iterator[Fault]:
        found, acknowledged = self.snapshot(contents), self.known[contents].acknowledged
        yield from self._broken(found.storages, in_force, ended=ended)
        child, parent = self._both(tuple(places[-1] for places in in_force))
        yield from self._lost(child, found, acknowledged[self.model.values :])
        there = found.rows(parent)
        for at, known in enumerate(acknowledged[: self.model.values], 1):
            if (encoded(at) in there) != (known is not None):
                why = Sentence("parent {parent} is not as it was acknowledged", parent=at)
                yield Fault("lost write", parent.version, why)

    def _broken(self, storages: list[Pairs], in_force: InForce, *, ended: bool) -> Iterator[Fault]:
        pairs = [{k: v for k, v in storages[0].items() if self.table_of(k) is table} for table in self.tables]
        children, parents = ([self.program.descriptors[place] for place in places] for places in in_force)
        found: dict[str, Fault] = {}
        for parent in parents:
            seen_by_parent = [
                replace(
                    child,
                    version=parent.version,
                    constraints=tuple(one.mirrored(parent.table_id) for one in parent.referenced_by),
                )
                for child in children[-1:]
                if _has_column(child)
            ]
            referenced = [Referenced(parent, [pairs[PARENT]])]
            for described in (*children, *seen_by_parent):
                unfinished = frozenset() if ended else element_labels(described, self.model)
                for violation in check(described, [pairs[CHILD]], unfinished=unfinished, referenced=referenced):
                    found.setdefault(violation.why, Fault(violation.clause, described.version, violation.why))
            for violation in check(parent, [pairs[PARENT]]):
                found.setdefault(violation.why, Fault(violation.clause, parent.version, violation.why))
        yield from found.values()


def _has_column(child: Descriptor) -> bool:
    return any(column.id == A for column in child.columns)


def _is_of_row(of: Descriptor, key: bytes, table: Descriptor, keys: set[bytes]) -> bool:
    return of.table_id == table.table_id and name_of(of, key).row_key in keys


def _parents_statements(model: Model) -> Iterator[Statement]:
    for parent in range(1, model.values + 1):
        yield INSERT_PARENT, parent, parent
        yield DELETE_PARENT, parent, 0
        if model.moves:
            yield from ((MOVE_PARENT, parent, to) for to in range(1, model.values + 1) if to != parent)
