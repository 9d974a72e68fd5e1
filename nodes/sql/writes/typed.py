"""SQL around what a user's text computes: values as a column takes them, and rows that a node has, as a table. Pure. No
value passes through a text, so none depends on a client's settings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from catalog.elements import Column, ColumnId
from catalog.text.sql_names import quoted
from catalog.values.types import WHOLE, SqlType, type_name, type_of_bytes
from expressions.sqltypes import OF_SQL_TYPE, Type, modifier_of_length
from nodes.sql.pair_queries import padded
from nodes.sql.writes.pieces import Piece, Pieces
from storage.sql_values import decode_sql

ROWS = '"\x02"'
"""The rows that a node gives; no name of a user's is like it."""
NUMBER = '"\x02n"'
"""Their order."""
CUT = {SqlType.VARCHAR: "pg_catalog.varchar", SqlType.CHAR: "pg_catalog.bpchar"}
"""Types whose explicit casts cut what is too long; these calls refuse it, as an assignment does."""


def assigned(pieces: Sequence[Piece], column: Column) -> Pieces:
    length, cut = column.length, CUT.get(column.type)
    if length is not None and cut is not None:
        modifier = modifier_of_length(OF_SQL_TYPE[column.type], length)
        return (f"{cut}((", *pieces, f")::{cut}, {modifier}, false)")
    if length is not None and column.type in WHOLE:  # nodes of the narrower type still read it
        return ("((", *pieces, f")::{type_of_bytes(length).value})::{column.type.value}")
    if column.type.element in CUT:
        length = None  # a cast would cut the elements: the node refuses them
    return ("(", *pieces, f")::{type_name(column.type, length)}")


def shown(pieces: Sequence[Piece], of: Type) -> Pieces:
    return ("(", *pieces, f")::{of.name if of.sql_type is None else of.sql_type.value}")


@dataclass(frozen=True, slots=True)
class Given:
    """A column that a node gives, by its relation in the user's text, its name and type. `number`: where its value is
    found in a row of the node's."""

    relation: str
    name: str
    type: SqlType
    number: ColumnId
    length: int | None = None

    @classmethod
    def of(cls, relation: str, column: Column, number: ColumnId | None = None) -> "Given":
        return cls(relation, column.name, column.type, number or column.id, column.length)

    def decoded(self, data: str) -> str:
        column = Column(ColumnId(1), self.name, self.type)
        return padded(replace(column, length=self.length), decode_sql(column, data))


def parameters(columns: Sequence[Given], first: int) -> str:
    """Rows of these columns, in FROM. `first`: the number of the first one's parameter."""
    arrays = ", ".join(f"${first + place}::pg_catalog.bytea[]" for place in range(len(columns)))
    names = ", ".join([*(_name(place) for place in range(len(columns))), NUMBER])
    return f"unnest({arrays}) WITH ORDINALITY AS {ROWS} ({names})"


def relation(columns: Sequence[Given], name: str) -> str:
    """The columns among these that the user's text calls by this relation, in FROM behind the rows."""
    values = [
        f"{given.decoded(f'{ROWS}.{_name(place)}')} AS {quoted(given.name)}"
        for place, given in enumerate(columns)
        if given.relation == name
    ]
    return f"LATERAL (SELECT {', '.join(values)}) AS {quoted(name)}"


def _name(place: int) -> str:
    return f'"\x02{place}"'
