"""Results as JSON: `{"metadata": [{name, type, is_nullable}, ..], "rows": [[..], ..]}`, of the version read or written
with. Booleans and finite numbers are JSON's own, every other value is a text in PostgreSQL's form."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column
from expressions.sqltypes import BOOL, FLOATS, INTEGERS, NUMERIC, OF_SQL_TYPE
from nodes.crud.calls import JSON_OID
from nodes.wire.messages import Field

Json = dict[str, Any]
Row = Sequence[bytes | None]
Way = Callable[[bytes], str]
NUMBERS = frozenset(of.oid for of in INTEGERS)
POINTED = frozenset(of.oid for of in (NUMERIC, *FLOATS))


def metadata(descriptor: Descriptor, shown: Sequence[Column]) -> list[Json]:
    key = descriptor.declared_key
    return [{"name": c.name, "type": c.type_name, "is_nullable": not c.not_null and c.id not in key} for c in shown]


def oids_of(shown: Sequence[Column]) -> list[int]:
    return [OF_SQL_TYPE[column.type].oid for column in shown]


def way_of(oid: int) -> Way:
    """The way from PostgreSQL's text form of a value of this type, which is not NULL, to JSON."""
    if oid in NUMBERS:
        return bytes.decode
    if oid == BOOL.oid:
        return lambda value: "true" if value == b"t" else "false"
    if oid in POINTED:  # NaN and Infinity are no numbers of JSON
        return lambda value: value.decode() if value[-1:].isdigit() else encode_basestring(value.decode())
    return lambda value: encode_basestring(value.decode())


def row_json(oids: Sequence[int], row: Row) -> str:
    return _row_json(map(way_of, oids), row)


def _row_json(ways: Iterable[Way], row: Row) -> str:
    values = zip(ways, row, strict=True)
    return f"[{', '.join(['null' if value is None else way(value) for way, value in values])}]"


class AnswerColumns:
    """The columns of an answer under one version: what does not depend on its rows is written once."""

    __slots__ = ("_head", "_ways", "columns")

    def __init__(self, descriptor: Descriptor, columns: Sequence[Column]) -> None:
        self.columns = columns
        self._head = result_json(metadata(descriptor, columns), None).removesuffix("null}")
        self._ways = [way_of(oid) for oid in oids_of(columns)]

    def result(self, rows: Iterable[Row] | None) -> str:
        listed = "null" if rows is None else f"[{', '.join([_row_json(self._ways, row) for row in rows])}]"
        return f"{self._head}{listed}}}"


@dataclass(eq=False)
class WrittenRows:
    """The rows of a batch as they were written, part by part, each under the columns of its own version. The schema may
    move on between two parts. The answer then has the columns that all of them know, as the last version describes
    them: each value stands under its own column, whatever names were given or taken."""

    parts: list[tuple[Descriptor, Sequence[Column], Mapping[int, Row]]] = field(default_factory=list)
    described: tuple[Descriptor, Sequence[Column]] | None = None
    """The version that was tried last; it describes the answer as long as there are no rows."""

    def add(self, descriptor: Descriptor, shown: Sequence[Column], rows: Mapping[int, Row]) -> None:
        """A part that was committed: its rows by their index in the batch, with a value for each of `shown`."""
        if rows:
            self.parts.append((descriptor, shown, rows))

    def columns(self) -> list[Column]:
        if not self.parts:
            return [] if self.described is None else list(self.described[1])
        common = set.intersection(*({(c.id, c.type) for c in shown} for _, shown, _ in self.parts))
        return [c for c in self.parts[-1][1] if (c.id, c.type) in common]

    def metadata(self) -> list[Json]:
        of = self.parts[-1][0] if self.parts else self.described and self.described[0]
        return metadata(of, self.columns()) if of else []

    def listed(self) -> Iterator[str]:
        found: dict[int, tuple[Row, list[int]]] = {}
        oids = oids_of(self.columns())
        for _, shown, rows in self.parts:
            ids = [column.id for column in shown]
            places = [ids.index(column.id) for column in self.columns()]
            for index, row in rows.items():
                found[index] = row, places
        for _, (row, places) in sorted(found.items()):
            yield row_json(oids, [row[place] for place in places])


def result_json(found: Sequence[Json], rows: Sequence[str] | None, **more: str) -> str:
    """An answer with rows, and more, that are JSON already; None: rows were not asked for."""
    head = json.dumps({"metadata": found}, ensure_ascii=False)[:-1]
    tail = "".join(f", {json.dumps(name)}: {value}" for name, value in more.items())
    listed = "null" if rows is None else f"[{', '.join(rows)}]"
    return f'{head}, "rows": {listed}{tail}}}'


def plain_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def field_of(name: str) -> tuple[Field, ...]:
    return (Field(name, JSON_OID, -1),)
