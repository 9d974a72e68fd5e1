"""The types of expressions: the nine a column may have, and two that only expressions have.

`unknown` is a quoted literal or a parameter before its context gives it a type, `interval` is what
dates are moved by. There is no numeric: a literal with a point, an average, a sum of bigints past
64 bits are double precision or an error, and docs say so.
"""

from dataclasses import dataclass

from catalog.types import SqlType
from expressions.errors import FEATURE_NOT_SUPPORTED, UNDEFINED_OBJECT, SqlError


@dataclass(frozen=True, slots=True)
class Type:
    """A type of an expression. `duck` is its name in the query engine."""

    name: str
    oid: int
    typlen: int
    duck: str
    category: str
    is_preferred: bool = False
    sql_type: SqlType | None = None

    def __str__(self) -> str:
        return self.name


def _of(sql_type: SqlType, duck: str, category: str, *, preferred: bool = False, name: str | None = None) -> Type:
    return Type(name or sql_type.value, sql_type.oid, sql_type.typlen, duck, category, preferred, sql_type)


BOOL = _of(SqlType.BOOLEAN, "BOOLEAN", "B", preferred=True)
INT4 = _of(SqlType.INTEGER, "INTEGER", "N")
INT8 = _of(SqlType.BIGINT, "BIGINT", "N")
FLOAT8 = _of(SqlType.DOUBLE, "DOUBLE", "N", preferred=True)
TEXT = _of(SqlType.TEXT, "VARCHAR", "S", preferred=True)
DATE = _of(SqlType.DATE, "DATE", "D")
TIMESTAMP = _of(SqlType.TIMESTAMP, "TIMESTAMP", "D", name="timestamp without time zone")
TIMESTAMPTZ = _of(SqlType.TIMESTAMPTZ, "TIMESTAMPTZ", "D", preferred=True, name="timestamp with time zone")
UUID = _of(SqlType.UUID, "UUID", "U")
INTERVAL = Type("interval", 1186, 16, "INTERVAL", "T", is_preferred=True)
UNKNOWN = Type("unknown", 705, -2, "VARCHAR", "X")

NINE = (BOOL, INT4, INT8, FLOAT8, TEXT, DATE, TIMESTAMP, TIMESTAMPTZ, UUID)
OF_SQL_TYPE = {t.sql_type: t for t in NINE}

_NAMES = {
    "bool": BOOL, "boolean": BOOL, "int4": INT4, "int": INT4, "integer": INT4, "int8": INT8, "bigint": INT8,
    "float8": FLOAT8, "text": TEXT, "varchar": TEXT, "name": TEXT, "date": DATE, "timestamp": TIMESTAMP,
    "timestamptz": TIMESTAMPTZ, "uuid": UUID, "interval": INTERVAL,
}  # fmt: skip

TYPE_WORDS = {word: of for word, of in _NAMES.items() if word not in ("varchar", "name")} | {
    of.name: of for of in (*NINE, INTERVAL)
}
"""The names of types that are really there: varchar is only taken for text."""

_REFUSED = {
    "int2": "smallint: use integer", "float4": "real: use double precision", "numeric": "numeric: use double precision",
    "bpchar": "character(n): use text", "json": "json: use text", "jsonb": "jsonb: use text", "bytea": "bytea",
    "time": "time", "timetz": "time with time zone", "regclass": "regclass", "oid": "oid: use bigint", "bit": "bit",
    "inet": "inet", "xml": "xml", "money": "money", "char": '"char"',
}  # fmt: skip

PARAMETER_OIDS = {t.oid: t for t in NINE} | {
    21: INT4, 26: INT8, 700: FLOAT8, 1700: FLOAT8, 1043: TEXT, 1042: TEXT, 19: TEXT, 1186: INTERVAL,
}  # fmt: skip
"""What a client may declare a parameter to be: smaller and fixed kinds widen to one of ours."""


def type_named(name: str, offset: int, *, length: int | None = None) -> Type:
    """The type a cast names. Raises 42704 for an unknown one and 0A000, by name, for one a node has not."""
    if name in _REFUSED:
        raise SqlError(FEATURE_NOT_SUPPORTED, f"there is no type {_REFUSED[name]}", offset)
    if length is not None:
        raise SqlError(FEATURE_NOT_SUPPORTED, f"a length or precision of type {name} is not supported", offset)
    try:
        return _NAMES[name]
    except KeyError:
        raise SqlError(UNDEFINED_OBJECT, f'type "{name}" does not exist', offset) from None


def parameter_type(oid: int, number: int) -> Type:
    """The type of parameter `number` that a client declared with `oid` (0 or 705: not at all)."""
    if oid in (0, UNKNOWN.oid):
        return UNKNOWN
    try:
        return PARAMETER_OIDS[oid]
    except KeyError:
        raise SqlError(
            FEATURE_NOT_SUPPORTED, f"parameter ${number} has a type (oid {oid}) that a node does not have"
        ) from None
