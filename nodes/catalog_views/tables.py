"""Rows of pg_catalog about tables: their columns, indexes, constraints, and the sequences behind identity columns."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, FOREIGN_KEY, PRIMARY, REFERENCED, RESTRICT, Column, ColumnId, Constraint, State
from catalog.values.types import INT_LIMITS, TEXTS
from expressions.sqltypes import OF_SQL_TYPE, TEXTUAL, modifier_of_length
from nodes.catalog_views import texts
from nodes.catalog_views.fixed import BY_VALUE, OPERATOR_CLASSES, STORAGES, alignment_of
from nodes.catalog_views.values import BTREE, DEFAULT_COLLATION, HEAP, OWNER, OWNER_NAME, PUBLIC, Row
from nodes.wire.oids import column_oid, constraint_oid, index_oid, key_oid, table_oid
from storage.shadow.keys import is_shown_as_constraint, keys_of, required_columns
from storage.shadow.names import quoted

PG_CLASS, PG_CONSTRAINT = 1259, 2606
COMMENTS = {PG_CLASS: "r", PG_CONSTRAINT: "c"}
"""Kinds of `definitions` by the relation that has what a comment is on."""
LINKS = (FOREIGN_KEY, REFERENCED)
"""Rules that PostgreSQL keeps by triggers of its own."""
EQUALS = {"boolean": 91, "smallint": 94, "integer": 96, "bigint": 410, "real": 620, "double precision": 670,
    "text": 98, "varchar": 98, "bpchar": 1054, "date": 1093, "timestamp": 2060, "timestamptz": 1320,
    "uuid": 2972}  # fmt: skip
"""Oids of the operators that compare values of a foreign key."""


def _classes(tables: Sequence[Descriptor]) -> Iterator[Row]:
    """Tables, their sequences and their indexes, the primary key's first."""
    usual: Row = {"relnamespace": PUBLIC, "relowner": OWNER, "relpersistence": "p", "relispopulated": True}
    for table in tables:
        yield {
            **usual, "oid": table_oid(table.table_id), "relname": table.name, "relkind": "r", "relam": HEAP,
            "relhasindex": any(keys_of(table)), "relreplident": "d",
            "relnatts": max(c.number for c in table.public_columns),
            "relchecks": sum(1 for c in _constraints(table) if c.rule == CHECK),
            "relhastriggers": any(c.rule in LINKS and c.state is State.PUBLIC for c in table.constraints),
        }  # fmt: skip
        for column in table.public_columns:
            if column.identity:
                yield {
                    **usual, "oid": column_oid(table.table_id, column.id), "relname": table.sequence_name(column),
                    "relkind": "S", "relreplident": "n", "relnatts": 3,
                }  # fmt: skip
        for key in keys_of(table):
            yield {
                **usual, "oid": index_oid(table.table_id, key.id), "relname": key.name, "relkind": "i", "relam": BTREE,
                "relreplident": "n", "relnatts": len(key.columns),
            }  # fmt: skip


def _attributes(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        required = required_columns(table)
        for column in table.public_columns:
            yield {
                "attrelid": table_oid(table.table_id), "attname": column.name, "attnum": column.number,
                "attnotnull": column.id in required, "atthasdef": column.default is not None,
                "attidentity": ("a" if column.identity_always else "d") if column.identity else "", **_kind(column),
            }  # fmt: skip
        for key in keys_of(table):
            for number, part in enumerate(key.columns, start=1):
                column = table.column(part.column)
                yield {
                    "attrelid": index_oid(table.table_id, key.id), "attname": column.name, "attnum": number,
                    "attidentity": "", **_kind(column),
                }  # fmt: skip


def _kind(column: Column) -> Row:
    of, is_text = OF_SQL_TYPE[column.type], (column.type.element or column.type) in TEXTS
    oid, typlen = of.oid, of.typlen
    return {
        "atttypid": oid, "attlen": typlen,
        "atttypmod": modifier_of_length(of, column.length), "attbyval": typlen in BY_VALUE,
        "attalign": alignment_of(of), "attndims": 0 if of.element is None else 1, "attcompression": "",
        "attgenerated": "", "attstorage": STORAGES.get(of, "p"),
        "attislocal": True, "attcollation": DEFAULT_COLLATION if is_text else 0,
        "attstattarget": None,
    }  # fmt: skip


def _defaults(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for column in table.public_columns:
            if column.default is not None:
                yield {
                    "oid": column_oid(table.table_id, column.id), "adrelid": table_oid(table.table_id),
                    "adnum": column.number, "adbin": texts.default_of(column),
                }  # fmt: skip


def _indexes(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for key in keys_of(table):
            columns = [table.column(part.column) for part in key.columns]
            kinds = [OF_SQL_TYPE[column.type] for column in columns]
            yield {
                "indexrelid": index_oid(table.table_id, key.id), "indrelid": table_oid(table.table_id),
                "indnatts": len(columns), "indnkeyatts": len(columns), "indisunique": key.unique,
                "indisprimary": key.primary, "indimmediate": True, "indisvalid": True, "indisready": True,
                "indislive": True, "indkey": tuple(int(column.number) for column in columns),
                "indcollation": tuple(DEFAULT_COLLATION if of in TEXTUAL else 0 for of in kinds),
                "indclass": tuple(OPERATOR_CLASSES[of][1] for of in kinds),
                "indoption": tuple(3 if part.descending else 0 for part in key.columns),
                "indpred": texts.condition_of(table, key.where),
            }  # fmt: skip


def _constraint_rows(tables: Sequence[Descriptor]) -> Iterator[Row]:
    by_id = {table.table_id: table for table in tables}
    usual: Row = {
        "connamespace": PUBLIC, "conenforced": True, "convalidated": True, "conislocal": True,
        "confupdtype": " ", "confdeltype": " ", "confmatchtype": " ",
    }  # fmt: skip
    for table in tables:
        of_table: Row = {**usual, "conrelid": table_oid(table.table_id)}
        for key in keys_of(table):
            if is_shown_as_constraint(key):
                yield {
                    **of_table, "oid": key_oid(table.table_id, key.id), "conname": key.name, "connoinherit": True,
                    "contype": "p" if key.primary else "u", "conindid": index_oid(table.table_id, key.id),
                    "conkey": _numbers(table, (part.column for part in key.columns)),
                }  # fmt: skip
        required = required_columns(table)
        for column in table.public_columns:
            if column.id in required:
                yield {
                    **of_table, "oid": column_oid(table.table_id, column.id), "contype": "n",
                    "conname": table.not_null_name(column), "conkey": (int(column.number),),
                }  # fmt: skip
        for constraint in _constraints(table):
            row: Row = {
                **of_table, "oid": constraint_oid(table.table_id, constraint.id), "conname": constraint.name,
                "conkey": _numbers(table, texts.columns_of(table, constraint)),
            }  # fmt: skip
            if constraint.rule == CHECK:
                yield {**row, "contype": "c", "conbin": texts.condition_of(table, constraint.expression)}
            elif constraint.references in by_id:
                yield {**row, **_foreign_key(constraint, by_id[constraint.references])}


def _numbers(table: Descriptor, columns: Iterable[ColumnId]) -> tuple[int, ...]:
    return tuple(int(table.column(column).number) for column in columns)


def _foreign_key(constraint: Constraint, other: Descriptor) -> Row:
    equals = tuple(EQUALS[other.column(c).type.value] for c in constraint.reference_columns)
    return {
        "contype": "f", "confrelid": table_oid(other.table_id), "connoinherit": True, "confmatchtype": "s",
        "conindid": index_oid(other.table_id, constraint.index),
        "confkey": _numbers(other, constraint.reference_columns),
        "confupdtype": "r" if constraint.on_update == RESTRICT else "a",
        "confdeltype": "r" if constraint.on_delete == RESTRICT else "a",
        "conpfeqop": equals, "conppeqop": equals, "conffeqop": equals,
    }  # fmt: skip


def _sequences(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for column in table.public_columns:
            if column.identity:
                yield {
                    "seqrelid": column_oid(table.table_id, column.id), "seqtypid": OF_SQL_TYPE[column.type].oid,
                    "seqstart": column.identity_start, "seqincrement": 1, "seqmin": 1, "seqcache": 1,
                    "seqmax": INT_LIMITS[column.type] - 1,
                }  # fmt: skip


def _dependencies(tables: Sequence[Descriptor]) -> Iterator[Row]:
    """A sequence goes with its column: what tools ask of pg_depend."""
    for table in tables:
        for column in table.public_columns:
            if column.identity:
                yield {
                    "classid": PG_CLASS, "objid": column_oid(table.table_id, column.id), "refclassid": PG_CLASS,
                    "refobjid": table_oid(table.table_id), "refobjsubid": column.number, "deptype": "i",
                }  # fmt: skip


def _tables(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        yield {
            "schemaname": "public", "tablename": table.name, "tableowner": OWNER_NAME,
            "hasindexes": any(keys_of(table)),
        }  # fmt: skip


def _index_texts(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for key in keys_of(table):
            yield {
                "schemaname": "public", "tablename": table.name, "indexname": key.name,
                "indexdef": texts.index_of(table, key, pretty=False),
            }  # fmt: skip


def _sequence_names(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for column in table.public_columns:
            if column.identity:
                yield {
                    "schemaname": "public", "sequencename": table.sequence_name(column), "sequenceowner": OWNER_NAME,
                    "data_type": column.type.oid, "start_value": column.identity_start, "min_value": 1,
                    "increment_by": 1,
                    "cache_size": 1, "max_value": INT_LIMITS[column.type] - 1,
                    "last_value": None,
                }  # fmt: skip


def _constraints(table: Descriptor) -> list[Constraint]:
    """The public CHECKs and foreign keys of a table's own rows."""
    return [c for c in table.constraints if c.rule in (CHECK, FOREIGN_KEY) and c.state is State.PUBLIC]


def definitions(tables: Sequence[Descriptor]) -> Iterator[tuple[str, int, int, bool, str]]:
    """Indexes and constraints as SQL, and comments: kind, oid, part, whether for people, text."""
    for oid, relation, place, text in comments(tables):
        yield COMMENTS[relation], oid, place, False, text
    by_id = {table.table_id: table for table in tables}
    for pretty in (False, True):
        for table in tables:
            for key in keys_of(table):
                oid = index_oid(table.table_id, key.id)
                yield "i", oid, 0, pretty, texts.index_of(table, key, pretty=pretty)
                for number, part in enumerate(key.columns, start=1):
                    yield "i", oid, number, pretty, quoted(table.column(part.column).name)
                if is_shown_as_constraint(key):
                    yield "k", key_oid(table.table_id, key.id), 0, pretty, texts.key_of(table, key)
            for column in table.public_columns:
                text = f"NOT NULL {quoted(column.name)}"
                yield "k", column_oid(table.table_id, column.id), 0, pretty, text
            for constraint in _constraints(table):
                other = by_id.get(constraint.references) if constraint.references is not None else None
                if constraint.rule == FOREIGN_KEY and other is None:
                    continue
                text = texts.constraint_of(table, constraint, other, pretty=pretty)
                yield "k", constraint_oid(table.table_id, constraint.id), 0, pretty, text


def comments(tables: Sequence[Descriptor]) -> Iterator[tuple[int, int, int, str]]:
    """Comments: the oid of what has one, the relation that it is a row of, the number of a column or 0, the text."""
    for table in tables:
        relation = table_oid(table.table_id)
        yield from _commented(PG_CLASS, relation, table.comment)
        for column in table.public_columns:
            yield from _commented(PG_CLASS, relation, column.comment, column.number)
        for index in table.public_indexes:
            yield from _commented(PG_CLASS, index_oid(table.table_id, index.id), index.comment)
            yield from _commented(PG_CONSTRAINT, key_oid(table.table_id, index.id), index.constraint_comment)
        yield from _commented(PG_CONSTRAINT, key_oid(table.table_id, PRIMARY), table.key_comment)
        for constraint in _constraints(table):
            yield from _commented(PG_CONSTRAINT, constraint_oid(table.table_id, constraint.id), constraint.comment)


def _commented(relation: int, oid: int, text: str | None, part: int = 0) -> Iterator[tuple[int, int, int, str]]:
    if text is not None:
        yield oid, relation, part, text


def _descriptions(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for oid, relation, part, text in comments(tables):
        yield {"objoid": oid, "classoid": relation, "objsubid": part, "description": text}


MADE: dict[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    "pg_class": _classes,
    "pg_attribute": _attributes,
    "pg_attrdef": _defaults,
    "pg_index": _indexes,
    "pg_constraint": _constraint_rows,
    "pg_sequence": _sequences,
    "pg_depend": _dependencies,
    "pg_tables": _tables,
    "pg_indexes": _index_texts,
    "pg_sequences": _sequence_names,
    "pg_description": _descriptions,
}
