"""The rows of one use of a table as a query over pair views: for each storage a GROUP BY, then UNION ALL. Pure.

    SELECT decode(k) AS "id", decode(c2) AS "dest" FROM (
        (SELECT substr(k, 5) AS k, any_value(v) FILTER (WHERE c = 2) AS c2 FROM pair_views.t7_v13_s1
         WHERE k >= $2 AND k < $3 AND c IN (0, 2) GROUP BY k HAVING bool_or(c = 0) OFFSET '0')
        UNION ALL (.. of storage 2)
    ) AS pairs

A row exists where its pair c = 0 is there. OFFSET keeps conditions of the user's text outside: within, they would be
computed for keys without a row, too. Key ranges are parameters behind the user's own, so that one text serves many.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, Column, Index
from catalog.text.sql_names import quoted
from catalog.values.types import SqlType
from nodes.sql.conditions.access_paths import Access
from nodes.sql.conditions.lookups import Lookup, Part
from storage.encoding import NULL
from storage.pair_views import bytea, pair_view
from storage.pairs import TABLE_BYTES, missing_value, prefix, stored_key
from storage.sql_values import decode_key_sql, decode_sql, encode_key_sql, row_key_of_entry_sql

BYTEA, BYTEA_ARRAY = 17, 1001
APART = "OFFSET '0'"
"""With OFFSET 0, which is not of the type that OFFSET has, PostgreSQL would use no parallel worker."""
HEADER_BYTES = 4
"""Of k before K(r): placement and index."""


@dataclass
class Given:
    """Parameters behind the user's own: their types and values, in binary."""

    first: int
    """The number of the first one."""
    oids: list[int] = field(default_factory=list)
    values: list[bytes | list[bytes]] = field(default_factory=list)

    def add(self, value: bytes | list[bytes], oid: int | None = None) -> str:
        """Its placeholder; without `oid` it is bytea or an array of it."""
        self.oids.append(oid or (BYTEA if isinstance(value, bytes) else BYTEA_ARRAY))
        self.values.append(value)
        return f"${self.first + len(self.values) - 1}"


def rows_sql(
    version: Descriptor,
    columns: Mapping[str, Column],
    access: Access,
    homes: Sequence[tuple[int, list[bytes]]] | None,
    given: Given,
) -> str:
    """The query, of columns by the names that they get. `homes`: where each k lies that is to be read, for an access to
    rows by their whole keys."""
    stored = [column for column in columns.values() if column.id not in version.primary_key]
    if homes is not None:
        arms = [_of_keys(version, storage, stored, given.add(keys)) for storage, keys in homes]
    elif access.index is not None:
        arms = list(_of_entries(version, access.index, stored, access, given))
    else:
        arms = [arm for storage in access.storages for arm in _of_ranges(version, storage, stored, access, given)]
    return _decoded_rows(version, columns, stored, arms)


def looked_up_sql(
    version: Descriptor,
    columns: Mapping[str, Column],
    lookup: Lookup,
    storages: Sequence[int],
    source: str,
    given: Given,
) -> str:
    """The query of rows whose keys other relations give, each once. `source`: the query of the table beside, if one
    gives them."""
    stored = [column for column in columns.values() if column.id not in version.primary_key]
    index = lookup.index
    start = bytea(prefix(version, version.placement.id, index.id if index else PRIMARY)[TABLE_BYTES:])
    low = " || ".join((start, *(_key_part(part, given) for part in lookup.parts)))
    behind = bytea(b"\xff" * (lookup.left_out + 1))
    if index is None and not lookup.left_out:
        keys = f"k = ANY (ARRAY(SELECT {low} FROM ({source}) AS w))" if source else f"k = {low}"
        arms = [f"({_grouped(version, storage, stored, keys)})" for storage in storages]
        return _decoded_rows(version, columns, stored, arms)
    lows = f"(SELECT DISTINCT {low} AS low FROM ({source}) AS w)" if source else f"(SELECT {low} AS low)"
    within = f"k >= r.low AND k < r.low || {behind}" if source else f"k >= {low} AND k < {low} || {behind}"
    if index is None:
        arms = [_grouped(version, storage, stored, within) for storage in storages]
        if source:
            arms = [f"SELECT found.* FROM {lows} AS r CROSS JOIN LATERAL ({arm}) AS found" for arm in arms]
        return _decoded_rows(version, columns, stored, [f"({arm})" for arm in arms])

    def keys_on(storage: int) -> list[str]:
        view = pair_view(version.table_id, version.version, storage, index.id)
        entries = f"SELECT k, v FROM {view} WHERE {within}"
        rows = f"{lows} AS r CROSS JOIN LATERAL ({entries}) AS e" if source else f"({entries}) AS e"
        return [f"SELECT {_row_key(version, index)} FROM {rows}"]

    return _decoded_rows(version, columns, stored, list(_named_by_entries(version, index, stored, storages, keys_on)))


def _key_part(part: Part, given: Given) -> str:
    if isinstance(part.value, bytes):
        return given.add(part.value)
    source = part.value.source
    value = part.value.sql if source is None else f"w.c{source.id}"
    return encode_key_sql(part.column, value, descending=part.descending, of=part.value.of)


def kept_sql(query: str) -> str:
    """The rows of a query that is repeated for each row of one around it: they are computed once."""
    return f"WITH kept AS MATERIALIZED ({query}) SELECT * FROM kept"


def _decoded_rows(
    version: Descriptor, columns: Mapping[str, Column], stored: Sequence[Column], arms: Sequence[str]
) -> str:
    if not arms:
        nothing = ", ".join(f"NULL::bytea AS {name}" for name in ("k", *(f"c{column.id}" for column in stored)))
        arms = [f"(SELECT {nothing} WHERE false {APART})"]
    keys, shown = [uncut(key) for key in version.key_columns], []
    for name, column in columns.items():
        whole = uncut(column)
        is_key = column.id in version.primary_key
        sql = decode_key_sql(keys, keys.index(whole), "k") if is_key else decode_sql(whole, f"c{column.id}")
        shown.append(f"{padded(column, sql)} AS {quoted(name)}")
    return f"SELECT {', '.join(shown)} FROM ({' UNION ALL '.join(arms)}) AS pairs"


def padded(column: Column, sql: str) -> str:
    """A char with its blanks, which are not stored."""
    if column.type is not SqlType.CHAR or column.length is None:
        return sql
    text = f"({sql})::pg_catalog.text"
    return f"rpad({text}, greatest({int(column.length)}, length({text})))::pg_catalog.bpchar"


def uncut(column: Column) -> Column:
    """The column without its length: a version reads values that are longer than those it takes, as they are."""
    return replace(column, length=None)


def _of_keys(version: Descriptor, storage: int, stored: Sequence[Column], keys: str) -> str:
    return f"({_grouped(version, storage, stored, f'k = ANY ({keys})')})"


def _of_entries(
    version: Descriptor, index: Index, stored: Sequence[Column], access: Access, given: Given
) -> Iterable[str]:
    """Rows that entries name. A unique entry without NULL has K(r) for its value, and lies anywhere."""
    ranges = [(stored_key(low)[0], stored_key(high)[0]) for low, high in access.ranges]
    if not ranges:
        return
    bounds = [(given.add(low), given.add(high)) for low, high in ranges]

    def keys_on(storage: int) -> list[str]:
        view = pair_view(version.table_id, version.version, storage, index.id)
        return [
            f"SELECT {_row_key(version, index)} FROM {view} WHERE k >= {low} AND k < {high}" for low, high in bounds
        ]

    yield from _named_by_entries(version, index, stored, access.storages, keys_on)


def _named_by_entries(
    version: Descriptor,
    index: Index,
    stored: Sequence[Column],
    storages: Sequence[int],
    keys_on: Callable[[int], list[str]],
) -> Iterator[str]:
    """Rows on each storage whose keys these queries of entries give. Of a unique index they are asked everywhere."""
    everywhere = [one for storage in storages for one in keys_on(storage)] if index.unique else []
    for storage in storages:
        yield _of_keys(version, storage, stored, f"ARRAY({' UNION ALL '.join(everywhere or keys_on(storage))})")


def _row_key(version: Descriptor, index: Index) -> str:
    start = bytea(prefix(version, version.placement.id)[TABLE_BYTES:])
    parts = [(version.column(part.column), part.descending) for part in index.columns]
    key = row_key_of_entry_sql(parts, f"substr(k, {HEADER_BYTES + 1})")
    return f"{start} || CASE WHEN octet_length(v) > 0 THEN v ELSE {key} END" if index.unique else f"{start} || {key}"


def _of_ranges(
    version: Descriptor, storage: int, stored: Sequence[Column], access: Access, given: Given
) -> Iterable[str]:
    if access.is_everything:
        return [f"({_grouped(version, storage, stored, '')})"]
    ranges = [(stored_key(low)[0], stored_key(high)[0]) for low, high in access.ranges]
    if len(ranges) == 1:
        [(low, high)] = ranges
        return [f"({_grouped(version, storage, stored, f'k >= {given.add(low)} AND k < {given.add(high)}')})"]
    if not ranges:
        return []
    lows, highs = given.add([low for low, _ in ranges]), given.add([high for _, high in ranges])
    each = _grouped(version, storage, stored, "k >= r.low AND k < r.high")
    return [f"(SELECT found.* FROM unnest({lows}, {highs}) AS r (low, high) CROSS JOIN LATERAL ({each}) AS found)"]


def _grouped(version: Descriptor, storage: int, stored: Sequence[Column], within: str) -> str:
    view = pair_view(version.table_id, version.version, storage, PRIMARY)
    start = f"substr(k, {HEADER_BYTES + 1}) AS k"
    where = f"{within} AND " if within else ""
    if not stored:
        return f"SELECT {start} FROM {view} WHERE {where}c = {EXISTS} {APART}"
    numbers = ", ".join(str(int(number)) for number in (EXISTS, *(column.id for column in stored)))
    values = []
    for column in stored:
        value, missing = f"any_value(v) FILTER (WHERE c = {column.id})", missing_value(column)
        if missing != NULL:
            value = f"coalesce({value}, {bytea(missing)})"
        values.append(f"{value} AS c{column.id}")
    found = f"SELECT {start}, {', '.join(values)} FROM {view} WHERE {where}c IN ({numbers})"
    return f"{found} GROUP BY {view.partition('.')[2]}.k HAVING bool_or(c = {EXISTS}) {APART}"
