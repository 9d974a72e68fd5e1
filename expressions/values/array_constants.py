"""A constant array as one text that the query engine takes apart: its parser needs kilobytes for each constant."""

from collections.abc import Iterator, Sequence
from typing import Any

from catalog.values.packed import PACKED, pack
from catalog.values.types import to_text
from expressions.sqltypes import Type


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def engine_array(items: Sequence[Any], of: Type) -> str:
    """The array as the engine's SQL, with its type."""
    element = of.element
    assert element is not None
    if not items:
        return f"CAST([] AS {of.duck})"
    if element.duck == "VARCHAR":
        return _texts(items)
    if element.duck == "BLOB":
        assert element.sql_type is not None
        written = ",".join("-" if item is None else pack(element.sql_type, item).hex() for item in items)
        return f"list_transform(string_split('{written}', ','), lambda e: unhex(nullif(e, '-')))"
    words = ("NULL" if item is None else _plain(item, element) for item in items)
    return f"CAST('[{', '.join(words)}]' AS {of.duck})"


def _texts(items: Sequence[str | None]) -> str:
    """Texts with something between them, and something for NULL, that is in none of them."""
    missing = next(word for word in _words(["NULL"]) if word not in items)
    words = [missing if item is None else item for item in items]
    between = next(word for word in _words(["\x1f", "\x1e", ", "]) if word.join(words).split(word) == words)
    split = f"string_split({quoted(between.join(words))}, {quoted(between)})"
    return f"list_transform({split}, lambda e: nullif(e, {quoted(missing)}))" if None in items else split


def _words(first: list[str]) -> Iterator[str]:
    """These words, then others without end."""
    yield from first
    number = 0
    while True:
        number += 1
        yield f"<{number}>"


def _plain(value: Any, of: Type) -> str:
    """The value in the engine's own words, without quotes."""
    if isinstance(value, bool | int | float):
        return repr(value)
    assert of.sql_type is not None
    return str(pack(of.sql_type, value)) if of.sql_type in PACKED else to_text(of.sql_type, value)
