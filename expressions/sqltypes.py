"""The types of expressions: those of columns, arrays, and `unknown`, a quoted literal or parameter before its context
gives it a type. Other types of PostgreSQL are known by their oids alone."""

from dataclasses import dataclass, field

from catalog.values import types
from catalog.values.types import SqlType
from expressions.errors import FEATURE_NOT_SUPPORTED, UNDEFINED_OBJECT, SqlError


@dataclass(frozen=True, slots=True)
class Type:
    """A type of an expression. `element`: of what it is an array."""

    name: str
    oid: int
    typlen: int
    category: str
    is_preferred: bool = False
    sql_type: SqlType | None = None
    element: "Type | None" = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.name


def _of(sql_type: SqlType, category: str, *, preferred: bool = False, name: str | None = None) -> Type:
    return Type(name or sql_type.value, sql_type.oid, sql_type.typlen, category, preferred, sql_type)


BOOL = _of(SqlType.BOOLEAN, "B", preferred=True)
INT2 = _of(SqlType.SMALLINT, "N")
INT4 = _of(SqlType.INTEGER, "N")
INT8 = _of(SqlType.BIGINT, "N")
FLOAT4 = _of(SqlType.REAL, "N")
FLOAT8 = _of(SqlType.DOUBLE, "N", preferred=True)
NUMERIC = _of(SqlType.NUMERIC, "N")
TEXT = _of(SqlType.TEXT, "S", preferred=True)
VARCHAR = _of(SqlType.VARCHAR, "S", name="character varying")
BPCHAR = _of(SqlType.CHAR, "S", name="character")
DATE = _of(SqlType.DATE, "D")
TIMESTAMP = _of(SqlType.TIMESTAMP, "D", name="timestamp without time zone")
TIMESTAMPTZ = _of(SqlType.TIMESTAMPTZ, "D", preferred=True, name="timestamp with time zone")
UUID = _of(SqlType.UUID, "U")
BYTEA = _of(SqlType.BYTEA, "U")
TIME = _of(SqlType.TIME, "D", name="time without time zone")
INTERVAL = _of(SqlType.INTERVAL, "T", preferred=True)
UNKNOWN = Type("unknown", 705, -2, "X")

JSON = _of(SqlType.JSON, "U")
JSONB = _of(SqlType.JSONB, "U")

STORED = (
    BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, TEXT, VARCHAR, BPCHAR, DATE, TIMESTAMP, TIMESTAMPTZ, UUID,
    BYTEA, TIME, INTERVAL, JSON, JSONB,
)  # fmt: skip
OF_SQL_TYPE: dict[SqlType | None, Type] = {t.sql_type: t for t in STORED}
INTEGERS = (INT2, INT4, INT8)
FLOATS = (FLOAT4, FLOAT8)
TEXTUAL = (TEXT, VARCHAR, BPCHAR)
MOMENTS = (TIMESTAMP, TIMESTAMPTZ, TIME)
OF_A_LENGTH = (VARCHAR, BPCHAR, NUMERIC, *MOMENTS)
"""Types that may have a length, a precision and a scale, or a precision."""
DOCUMENTS = (JSON, JSONB)
NO_MODIFIER, HEAD = -1, 4
"""PostgreSQL's modifier of a type is its length and 4, of a time or timestamp its precision alone; -1 is none."""

OID = Type("oid", 26, 4, "N")
NAME = Type("name", 19, 64, "S")

ARRAY_OF = {
    OF_SQL_TYPE[of]: Type(f"{OF_SQL_TYPE[of]}[]", array.oid, array.typlen, "A", sql_type=array, element=OF_SQL_TYPE[of])
    for of, array in types.ARRAY_OF.items()
}
OF_SQL_TYPE |= {array.sql_type: array for array in ARRAY_OF.values() if array.sql_type is not None}

_NAMES = {of.typname: named for of, named in OF_SQL_TYPE.items() if of and not of.element} | {"name": NAME, "oid": OID}

_REFUSED = {
    "timetz": "time with time zone: use time, or timestamptz",
    **{name: name for name in (
        "bit", "varbit", "inet", "cidr", "macaddr", "macaddr8", "xml", "money", "tsvector", "tsquery", "jsonpath",
        "point", "line", "lseg", "box", "path", "polygon", "circle", "int4range", "int8range", "numrange", "daterange",
        "tsrange", "tstzrange",
    )},
}  # fmt: skip
_ELEMENTS = {"bpchar": TEXT}
"""Smaller kinds that an array's elements may be of: they widen to one of ours."""

PARAMETER_OIDS = {t.oid: t for t in STORED} | {
    26: OID, 19: NAME,
} | {t.oid: t for t in ARRAY_OF.values()} | {
    1014: ARRAY_OF[TEXT],
}  # fmt: skip
"""What a client may declare a parameter to be: smaller and fixed kinds widen to one of ours."""


def modifier_of_length(of: Type, length: int | None) -> int:
    """PostgreSQL's modifier of a type, or of an array's elements, that has this length (`Column.length`)."""
    if length is None or (of.element or of) not in OF_A_LENGTH:
        return NO_MODIFIER
    return length if (of.element or of) in MOMENTS else length + HEAD


def length_of_modifier(of: Type, modifier: int) -> int | None:
    """The length of a type, or of an array's elements, with this modifier; None: it has none."""
    if modifier == NO_MODIFIER or (of.element or of) not in OF_A_LENGTH:
        return None
    return modifier if (of.element or of) in MOMENTS else modifier - HEAD


def type_named(name: str, offset: int, *, has_modifier: bool = False) -> Type:
    """The type a cast names. Raises 42704 for an unknown one and 0A000, by name, for one a node has not."""
    if name in _REFUSED:
        raise SqlError(FEATURE_NOT_SUPPORTED, f"there is no type {_REFUSED[name]}", offset)
    try:
        found = _NAMES[name]
    except KeyError:
        raise SqlError(UNDEFINED_OBJECT, f'type "{name}" does not exist', offset) from None
    if has_modifier and found not in OF_A_LENGTH:
        raise SqlError(FEATURE_NOT_SUPPORTED, f"a length or precision of type {name} is not supported", offset)
    return found


def array_type_named(name: str, offset: int) -> Type:
    """The array type of elements that a cast names. Raises 0A000 for elements that a node has no arrays of."""
    element = _ELEMENTS.get(name) or type_named(name, offset)
    if element not in ARRAY_OF:
        raise SqlError(FEATURE_NOT_SUPPORTED, f"there are no arrays of type {element}", offset)
    return ARRAY_OF[element]


def parameter_type(oid: int) -> Type:
    """The type of a parameter that a client declared with `oid` (0 or 705: not at all)."""
    if oid in (0, UNKNOWN.oid):
        return UNKNOWN
    known = PARAMETER_OIDS.get(oid)  # values of a type that no column has go to the store as they came
    return known or Type(_CATALOG_NAMES.get(oid, f"oid {oid}"), oid, -1, UNKNOWN.category)


_CATALOG_NAMES = {18: '"char"', 2205: "regclass", 2206: "regtype"}
