"""Faults of contents: the clauses under each version in force, and what users see: lost writes, a row read in two
placements, a column without room for a value, a constraint that refuses every writer of this version."""

from collections.abc import Iterator
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import Column, State
from catalog.text.sentence import Sentence
from catalog.values.types import SqlType, limit_of
from lab.explorer.contents.numbered import NOT_NAMED, Acknowledged, Fault, InForce, NumberedContents, Snapshot
from lab.explorer.contents.statements import NO_VALUE, inserted
from lab.explorer.model import Model
from lab.explorer.plans.program import Program, Schema
from lab.explorer.plans.small_tables import (
    FIRST_VALUE,
    A,
    descriptor,
    element_labels,
    refuses,
    row_key_of,
    value_column,
)
from lab.explorer.rules_left_out import Broken
from storage.encoding import decode
from storage.integrity.clauses import Violation, check
from storage.mutations import readable_columns
from storage.pairs import PairName, StoredRow, name_of, rows_of, version_named


class Judgement(NumberedContents):
    def __init__(self, model: Model, program: Program) -> None:
        super().__init__(model.storages_there)
        self.model, self.program = model, program
        self.takes_tombstones = model.lacks(Broken.TOMBSTONE_ROW)
        self.widest = descriptor(
            model, (State.PUBLIC, State.WRITE_ONLY) if model.has_placements else (State.PUBLIC,) * len(model.kinds), 0
        )
        self._faults: dict[tuple[int, InForce, bool], tuple[Fault, ...]] = {}
        self._sound: set[tuple[int, InForce, bool]] = set()
        self._names: dict[bytes, PairName] = {}
        unnumbered = [replace(described, version=0) for described in program.descriptors]
        self._alike = [unnumbered.index(described) for described in unnumbered]
        self._alike_schemas: dict[Schema, Schema] = {}

    def name_of(self, key: bytes) -> PairName:
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = name_of(self.table_of(key), key)
        return found

    def table_of(self, key: bytes) -> Descriptor:
        return self.widest

    def alike(self, schema: Schema) -> Schema:
        """The first versions that differ from these in their numbers only: transactions of both do the same."""
        found = self._alike_schemas.get(schema)
        if found is None:
            found = self._alike_schemas[schema] = tuple(self._alike[place] for place in schema)
        return found

    def faults(self, contents: int, in_force: InForce, ended: bool) -> tuple[Fault, ...]:
        key = contents, in_force, ended
        found = self._faults.get(key)
        if found is None:
            found = self._faults[key] = self._judged(contents, in_force, ended)
        return found

    def _judged(self, contents: int, in_force: InForce, ended: bool) -> tuple[Fault, ...]:
        """Contents without a fault have none under all versions alike."""
        key = contents, tuple(map(self.alike, in_force)), ended
        if key in self._sound:
            return ()
        found = tuple(self._judge(contents, in_force, ended))
        if not found:
            self._sound.add(key)
        return found

    def verifies(self, contents: int, schema: Schema) -> bool:
        """True if nothing breaks under the version that makes the element public."""
        described = self.program.descriptors[schema[0]]
        unfinished = element_labels(described, self.model)
        return not check(described, self.snapshot(contents).storages, unfinished=unfinished)

    def _judge(self, contents: int, in_force: InForce, ended: bool) -> Iterator[Fault]:
        there, acknowledged = self.snapshot(contents), self.known[contents].acknowledged
        for schema in in_force[0]:
            described = self.program.descriptors[schema]
            unfinished = frozenset() if ended else element_labels(described, self.model)
            for violation in check(described, there.storages, unfinished=unfinished):
                yield Fault(violation.clause, described.version, self._why(described, violation))
            if described.state is State.PUBLIC:
                yield from self._lost(described, there, acknowledged)
                read = [p for p in described.placements if p.state is State.PUBLIC]
                keys = [r.key for p in read for pairs in there.storages for r in rows_of(described, p, pairs.items())]
                for row in range(1, self.model.rows + 1):
                    if keys.count(row_key_of(row)) > 1:
                        why = Sentence("row id = {row} is read in both placements", row=row)
                        yield Fault("read twice", described.version, why)
                yield from self._unreadable(described, there)
                yield from self._refused(described, there)

    def _why(self, described: Descriptor, violation: Violation) -> str:
        """In the model's names: a version that lacks an element cannot name its pairs."""
        if violation.clause != "C3":
            return violation.why
        name = self.name_of(violation.key)
        if any(index.id == name.index for index in described.indexes):
            return violation.why
        why, index = "index {index} has an entry, and {version} contains no such index", self.widest.index(name.index)
        return Sentence(why, index=index.name, version=version_named(described))

    def _lost(self, described: Descriptor, found: Snapshot, acknowledged: Acknowledged) -> Iterator[Fault]:
        rows = found.rows(described)
        for row, value in enumerate(acknowledged, 1):
            there = rows.get(row_key_of(row))
            if (there is None) != (value is None):
                missing, back = (
                    "row id = {row} is missing, though its insert was acknowledged",
                    "row id = {row} is back after its delete",
                )
                why = Sentence(missing if there is None else back, row=row)
                yield Fault("lost write", described.version, why)
            elif there is not None and value != NOT_NAMED:
                column = value_column(described)
                read = None if column is None else readable_columns(described, there).get(column.id)
                if read is not None and read != value:
                    other = "row id = {row} reads another value of {column} than the last one that was acknowledged"
                    yield Fault("lost write", described.version, Sentence(other, row=row, column="a"))

    def _unreadable(self, described: Descriptor, found: Snapshot) -> Iterator[Fault]:
        if not self.model.widths:
            return
        column = described.column(A)
        for row in found.rows(described).values():
            number, _ = decode(SqlType.BIGINT, row.columns[column.id])
            if isinstance(number, int) and number >= limit_of(column.type):
                key, _ = decode(SqlType.BIGINT, row.key)
                value = number - FIRST_VALUE + 1  # as statements call it
                why = "row id = {row} has {value} in {column}, which the narrower type lacks"
                yield Fault("unreadable value", described.version, Sentence(why, row=key, value=value, column="a"))

    def _refused(self, described: Descriptor, found: Snapshot) -> Iterator[Fault]:
        """Writes that a constraint refuses for a value that this version cannot name, so no writer can correct it."""
        column = next((c for c in described.columns if c.id == A), None)
        if column is None or column.state is State.PUBLIC or not described.constraints:
            return
        put = inserted(described, NO_VALUE)
        if put is not None and refuses(described, StoredRow(row_key_of(1), put)):
            why = Sentence("no row can be inserted: {why}", why=self._cannot_name(column))
            yield Fault("refused writes", described.version, why)
        for key, there in found.rows(described).items():
            if refuses(described, there):
                row = next(r for r in range(1, self.model.rows + 1) if row_key_of(r) == key)
                why = Sentence("row id = {row} cannot be changed: {why}", row=row, why=self._cannot_name(column))
                yield Fault("refused writes", described.version, why)

    def _cannot_name(self, column: Column) -> Sentence:
        name = next((constraint.name for constraint in self.widest.constraints), "a_not_null")
        why = "{constraint} does not hold, and {column} is {state}"
        return Sentence(why, constraint=name, column="a", state=column.state.value)
