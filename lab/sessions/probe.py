"""The rows that `SELECT .. WHERE a = 1` finds under a version: by the table, and by the entries that a node's planner
would read (`nodes.sql.conditions.access_paths`). An orphan entry is the row's number and a hole, "1 ∅": a query reads
it in vain, and a unique index refuses because of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter

from catalog.descriptor import Descriptor
from catalog.elements import Index, State
from catalog.values.types import SqlType
from expressions.rows import compiled
from expressions.typed import Context
from lab.explorer.contents.numbered import Pairs
from lab.explorer.plans.small_tables import FIRST_VALUE, value_column
from lab.sessions.names import COLUMN, KEY, MODEL_NAMES, PARENT_KEY, PARENT_TABLE, Names
from lab.sessions.shown import Probe
from nodes.sql.conditions.access_paths import Range, access
from storage import encoding
from storage.buckets import BUCKETS
from storage.mutations import readable_columns
from storage.pairs import name_of, rows_of

HOLE = "∅"


def probes(
    described: Descriptor,
    storages: Sequence[Pairs],
    values: Iterable[int],
    *,
    first_value: int = FIRST_VALUE,
    names: Names = MODEL_NAMES,
) -> Iterator[Probe]:
    """A probe for each value (0: NULL) under one version; of all rows without a column a. Value 1 is stored as
    `first_value`."""
    if described.state is not State.PUBLIC:
        return
    pairs = sorted((pair for held in storages for pair in held.items()), key=itemgetter(0))
    rows = {row.key: row for row in rows_of(described, described.placement, pairs)}
    column = value_column(described)
    key = names.words.get(PARENT_KEY if described.name == PARENT_TABLE else KEY, KEY)
    select = f"SELECT {key} FROM {names.word(described.name)}"
    if column is None or column.state is not State.PUBLIC:
        yield Probe(described.version, select, tuple(map(_number, rows)), None)
        return
    for value in values:
        data = encoding.encode(SqlType.BIGINT, first_value - 1 + value if value else None)
        query = f"{select} WHERE {names.word(COLUMN)} {f'= {names.value(str(value))}' if value else 'IS NULL'}"
        found = {key: row for key, row in rows.items() if readable_columns(described, row).get(column.id) == data}
        test = f"= {first_value - 1 + value}" if value else "IS NULL"
        by_table = tuple(map(_number, found))
        ways = [way for way in (_way(described, index, test) for index in described.public_indexes) if way is not None]
        if not ways:
            yield Probe(described.version, query, by_table, None)
        for ranges in ways:
            live = sorted((key, value) for pairs in storages for key, value in pairs.items() if value is not None)
            entries = [(key, value) for key, value in live if any(low <= key < high for low, high in ranges)]
            led_to = [name_of(described, key).row_key or value for key, value in entries]
            by_index = tuple(_number(key) if key in found else f"{_number(key)} {HOLE}" for key in led_to)
            yield Probe(described.version, query, by_table, by_index)


@lru_cache(maxsize=1024)
def _way(described: Descriptor, index: Index, test: str) -> tuple[Range, ...] | None:
    column = value_column(described)
    assert column is not None
    condition = compiled(described, f'"#{column.id}" {test}')
    way = access(replace(described, indexes=(index,)), [condition], Context(), storages=1, buckets=BUCKETS)
    return None if way.index is None else way.ranges


def _number(key: bytes) -> str:
    number, _ = encoding.decode(SqlType.BIGINT, key)
    return str(number)
