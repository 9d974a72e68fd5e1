"""Functions that the query engine has not: it calls the very ones that compute a row here (`nodes.execution`).

A module has a table of them, one line each; `expressions.functions` and the engine read the same lines.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from catalog.values.types import SqlType
from expressions.sqltypes import ARRAY_OF, BOOL, BYTEA, FLOAT8, INTERVAL, TEXT, TIME, TIMESTAMPTZ, Type
from expressions.values import arithmetic

OWN_WORD = "own_"
"""The beginning of their names in the engine."""


@dataclass(frozen=True, slots=True)
class Own:
    """A function or operator: its names, the types that it takes and gives, what it computes.

    `group` and `name` are its name in the engine, which has no two functions of one name and other types.
    """

    group: str
    name: str
    called: tuple[str, ...]
    args: tuple[Type, ...]
    result: Type
    compute: Callable[..., Any]

    @property
    def engine_name(self) -> str:
        return f"{OWN_WORD}{self.group}_{self.name}"

    @property
    def template(self) -> str:
        return f"{self.engine_name}({', '.join(f'{{{place}}}' for place in range(len(self.args)))})"


def lines(
    group: str, *table: tuple[str, tuple[Type, ...], Type, Callable[..., Any]], signs: bool = False
) -> Iterator[Own]:
    """The lines of a table: names with blanks between them, or one operator; types; what it computes.

    Lines are numbered in the engine, where operators have no names.
    """
    for number, (called, args, result, compute) in enumerate(table):
        name = f"operator_{number}" if signs else f"{called.split()[0]}_{number}"
        yield Own(group, name, tuple(called.split()), args, result, compute)


def _of_texts(of: Type) -> tuple[Own, Own, Own]:
    """A text as a value, a value as its text, and whether a text is a value."""
    sql_type = of.sql_type
    assert sql_type is not None
    group = sql_type.name.lower()
    return (
        Own(group, "of_text", (), (TEXT,), of, arithmetic.text_to(sql_type)),
        Own(group, "text", (), (of,), TEXT, arithmetic.text_of(sql_type)),
        Own(group, "is_valid", (), (TEXT,), BOOL, lambda text: arithmetic.is_valid(text, of.name)),
    )


TEXTS = {of: _of_texts(of) for of in (BYTEA, TIME, INTERVAL)}
ARRAY_TEXTS = tuple(
    own
    for element, array in ARRAY_OF.items()
    if array.sql_type is not None and element is not TIMESTAMPTZ
    for own in _of_texts(array)[:2]
)
"""The same of arrays. The text of a timestamptz depends on the session, so that there is none of an array of them."""
DOUBLE_TEXT = Own("double", "text", (), (FLOAT8,), TEXT, arithmetic.text_of(SqlType.DOUBLE))
"""The text of a double from 2^54 on: halfway between two of them the engine's would be shorter than PostgreSQL's."""
