"""By which names a statement calls the functions of json and jsonb.

A line is one function: its name, the types it takes, the one it gives, and what computes it, here for one row and as a
function of the query engine, which is called `document_` and its word.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from catalog.values.documents import Jsonb, key_of, parsed
from catalog.values.types import SqlType
from expressions.documents import jsonb, parts
from expressions.documents.building import WRITERS, name_in_jsonb, name_of, object_of_pairs, object_of_two, quoted
from expressions.errors import SqlError
from expressions.limits import look_at
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    DOCUMENTS,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    JSON,
    JSONB,
    NUMERIC,
    TEXT,
    Type,
)
from expressions.values import arithmetic

WORD = "document_"
"""The beginning of the engine's names."""
Compute = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One way to call a function. `word` is the engine's; the same word is the same function."""

    name: str
    args: tuple[Type, ...]
    result: Type
    word: str
    compute: Compute

    @property
    def template(self) -> str:
        return f"{WORD}{self.word}({', '.join(f'{{{n}}}' for n in range(len(self.args)))})"

    def computed(self, *args: Any) -> Any:
        """The value, as this node has values of the result's type."""
        for arg in args:
            if isinstance(arg, str):
                look_at(len(arg))
        found = self.compute(*args)
        return Jsonb(found) if self.result is JSONB and found is not None and not isinstance(found, Jsonb) else found


_TEXTS = ARRAY_OF[TEXT]


def operators() -> Iterator[Line]:
    for of in DOCUMENTS:
        yield Line("->", (of, TEXT), of, "member", parts.member)
        yield Line("->>", (of, TEXT), TEXT, "member_text", parts.member_text)
        yield Line("#>", (of, _TEXTS), of, "at_path", parts.at_path)
        yield Line("#>>", (of, _TEXTS), TEXT, "text_at_path", parts.text_at_path)
    yield Line("->", (JSON, INT4), JSON, "element", parts.element)
    yield Line("->>", (JSON, INT4), TEXT, "element_text", parts.element_text)
    yield Line("->", (JSONB, INT4), JSONB, "jsonb_element", parts.element_of_jsonb)
    yield Line("->>", (JSONB, INT4), TEXT, "jsonb_element_text", parts.element_text_of_jsonb)
    two = (JSONB, JSONB)
    yield Line("@>", two, BOOL, "contains", jsonb.contains)
    yield Line("<@", two, BOOL, "is_contained", jsonb.is_contained)
    yield Line("?", (JSONB, TEXT), BOOL, "has_name", jsonb.has_name)
    yield Line("?|", (JSONB, _TEXTS), BOOL, "has_any", jsonb.has_any)
    yield Line("?&", (JSONB, _TEXTS), BOOL, "has_all", jsonb.has_all)
    yield Line("||", two, JSONB, "joined", jsonb.joined)
    yield Line("-", (JSONB, TEXT), JSONB, "without_name", jsonb.without_name)
    yield Line("-", (JSONB, INT4), JSONB, "without_element", jsonb.without_element)
    yield Line("-", (JSONB, _TEXTS), JSONB, "without_names", jsonb.without_names)
    yield Line("#-", (JSONB, _TEXTS), JSONB, "without_path", jsonb.without_path)


def functions() -> Iterator[Line]:
    for of in DOCUMENTS:
        yield Line(f"{of}_typeof", (of,), TEXT, "kind_of", parts.kind_of)
        yield Line(f"{of}_array_length", (of,), INT4, "length_of", parts.length_of)
    yield Line("jsonb_set", (JSONB, _TEXTS, JSONB), JSONB, "with_value", jsonb.with_value)
    yield Line("jsonb_set", (JSONB, _TEXTS, JSONB, BOOL), JSONB, "with_value_if", jsonb.with_value)
    yield Line("jsonb_insert", (JSONB, _TEXTS, JSONB), JSONB, "with_inserted", jsonb.with_inserted)
    yield Line("jsonb_insert", (JSONB, _TEXTS, JSONB, BOOL), JSONB, "with_inserted_at", jsonb.with_inserted)
    yield Line("jsonb_strip_nulls", (JSONB,), JSONB, "without_nulls", jsonb.without_nulls)
    for word, args, compute in (("pairs", (_TEXTS,), object_of_pairs), ("two", (_TEXTS, _TEXTS), object_of_two)):
        yield Line("json_object", args, JSON, f"object_of_{word}", compute)
        yield Line("jsonb_object", args, JSONB, f"jsonb_of_{word}", _normal(compute))
    yield Line("jsonb_pretty", (JSONB,), TEXT, "pretty", jsonb.pretty)


def sets() -> Iterator[Line]:
    """Functions that give rows, as lists of them; `result` is the type of a row."""
    yield Line("json_array_elements", (JSON,), JSON, "json_elements", parts.elements_of_json)
    yield Line("json_array_elements_text", (JSON,), TEXT, "json_element_texts", parts.element_texts_of_json)
    yield Line("jsonb_array_elements", (JSONB,), JSONB, "jsonb_elements", parts.elements_of_jsonb)
    yield Line("jsonb_array_elements_text", (JSONB,), TEXT, "jsonb_element_texts", parts.element_texts_of_jsonb)
    yield Line("json_object_keys", (JSON,), TEXT, "json_keys", parts.keys_of_json)
    yield Line("jsonb_object_keys", (JSONB,), TEXT, "jsonb_keys", parts.keys_of_jsonb)


def pairs() -> Iterator[Line]:
    """Functions that give rows of two columns: a line for the keys, one for the values."""
    for of in DOCUMENTS:
        for name, result, values in ((f"{of}_each", of, parts.values_of), (f"{of}_each_text", TEXT, parts.texts_of)):
            yield Line(name, (of,), TEXT, f"{name}_keys", partial(parts.keys_of_each, name=name))
            yield Line(name, (of,), result, f"{name}_values", partial(values, name=name))


def _normal(compute: Compute) -> Compute:
    """The same in the one form of a jsonb."""
    read = arithmetic.text_to(SqlType.JSONB)
    return lambda *args: read(compute(*args))


NUMBERS = (INT2, INT4, INT8, NUMERIC, FLOAT4, FLOAT8)


def _is_valid(of: SqlType) -> Callable[[str], bool]:
    def tested(text: str) -> bool:
        try:
            arithmetic.text_to(of)(text)
        except SqlError:
            return False
        return True

    return tested


def own() -> Iterator[Line]:
    """Functions that no statement names: casts, comparisons, and the making of documents."""
    yield Line("json", (TEXT,), JSON, "json", arithmetic.text_to(SqlType.JSON))
    yield Line("jsonb", (TEXT,), JSONB, "jsonb", arithmetic.text_to(SqlType.JSONB))
    yield Line("is json", (TEXT,), BOOL, "is_json", _is_valid(SqlType.JSON))
    yield Line("is jsonb", (TEXT,), BOOL, "is_jsonb", _is_valid(SqlType.JSONB))
    for of, write in WRITERS.items():
        yield Line("to_json", (of,), JSON, f"of_{of.oid}", write)
    yield Line("name", (TEXT,), JSON, "name", name_of)
    yield Line("name", (TEXT,), JSON, "name_in_jsonb", name_in_jsonb)
    yield Line("quoted", (TEXT,), JSON, "quoted", quoted)
    yield Line("boolean", (JSONB,), BOOL, "to_boolean", jsonb.boolean_of)
    yield Line("number", (JSONB, TEXT), NUMERIC, "to_number", jsonb.number_of)


def key(document: str) -> bytes:
    """The bytes that a jsonb is compared by."""
    return key_of(parsed(document))


def casts() -> Iterator[tuple[Type, Type, str, Compute]]:
    """Casts of json and jsonb: the engine's text, and what computes one here."""
    yield TEXT, JSON, f"{WORD}json({{0}})", arithmetic.text_to(SqlType.JSON)
    yield TEXT, JSONB, f"{WORD}jsonb({{0}})", arithmetic.text_to(SqlType.JSONB)
    yield JSON, JSONB, f"{WORD}jsonb({{0}})", arithmetic.text_to(SqlType.JSONB)
    yield JSONB, JSON, "{0}", str
    yield JSON, TEXT, "{0}", str
    yield JSONB, TEXT, "{0}", str
    yield JSONB, BOOL, f"{WORD}to_boolean({{0}})", jsonb.boolean_of
    yield JSONB, NUMERIC, f"{WORD}to_number({{0}}, '{NUMERIC}')", _to_number(NUMERIC)


def number_casts() -> dict[tuple[Type, Type], Compute]:
    """Casts of a jsonb to the other numbers, by way of numeric."""
    return {(JSONB, of): _to_number(of) for of in NUMBERS}


def _to_number(of: Type) -> Compute:
    cast = arithmetic.CASTS.get((NUMERIC, of))

    def number(document: str) -> Any:
        value = jsonb.number_of(document, of.name)
        return value if value is None or cast is None else cast(value)

    return number
