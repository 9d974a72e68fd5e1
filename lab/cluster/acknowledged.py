"""Lost writes of requests: rows that are read back otherwise than they were acknowledged, which no clause forbids. A
value is meant for the column of its name in the newest version when the storages accepted it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from catalog.text.sentence import Sentence
from lab.cluster.world import World
from lab.scripts.text import key_text, stored, value_text
from storage.pairs import StoredRow, encoded_value, rows_of


@dataclass(frozen=True, slots=True)
class AcknowledgedRow:
    request: int
    version: int
    values: Mapping[str, str | None]


@dataclass
class AcknowledgedRows:
    rows: dict[tuple[TableId, bytes], AcknowledgedRow] = field(default_factory=dict)

    def done(self, table: TableId, key: bytes, done: AcknowledgedRow) -> None:
        self.rows[table, key] = done

    def gone(self, table: TableId, key: bytes) -> None:
        self.rows.pop((table, key), None)

    def misread(self, world: World, table: TableId) -> Iterator[tuple[int, Sentence]]:
        for (of, key), done in self.rows.items():
            if of == table:
                descriptor = world.control.version(table, done.version)
                newest = world.control.newest(table)
                pairs = sorted(pair for held in world.pairs(table) for pair in held if pair[1] is not None)
                row = next((row for row in rows_of(newest, newest.placement, pairs) if row.key == key), None)
                why = _misread(descriptor, key, done, row)
                if why:
                    yield done.version, why


def _misread(descriptor: Descriptor, key: bytes, done: AcknowledgedRow, row: StoredRow | None) -> Sentence | None:
    named = key_text(descriptor, key).strip("()")
    if row is None:
        why = "request {number} has acknowledged row {row}, which is not there"
        return Sentence(why, number=done.request, row=named)
    columns = [descriptor.column_named(name) for name in sorted(done.values)]
    meant = {column.name: stored(column.type, done.values[column.name], column.length) for column in columns}
    found = {column.name: encoded_value(descriptor, row, column.id) for column in columns}
    if meant == found:
        return None
    right, read = (
        ", ".join(f"{column.name} = {value_text(column, values[column.name])}" for column in columns)
        for values in (meant, found)
    )
    why = "request {number} has acknowledged row {row} with {right}, and it is read as {read}"
    return Sentence(why, number=done.request, row=named, right=right, read=read)
