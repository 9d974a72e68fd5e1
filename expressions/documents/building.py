"""Documents made of other values: to_json, json_build_object, json_agg and the like, and the same of jsonb.

A value of any type becomes a document first. A json has PostgreSQL's own blanks; a jsonb is what that is read as.

    json_build_object('a', 1, 'b', 2)    {"a" : 1, "b" : 2}
    json_build_array(1, 2), json_agg     [1, 2]
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from catalog.values.types import SqlType, to_text
from expressions.errors import (
    DATATYPE_MISMATCH,
    INVALID_PARAMETER_VALUE,
    NULL_NOT_ALLOWED,
    UNDEFINED_FUNCTION,
    SqlError,
    unsupported,
)
from expressions.limits import guarded, refuse_length
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    BYTEA,
    CHAR,
    DATE,
    DOCUMENTS,
    FLOATS,
    INTEGERS,
    INTERVAL,
    JSON,
    JSONB,
    NAME,
    NUMERIC,
    OID,
    TEXT,
    TEXTUAL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    UUID,
    Type,
)
from expressions.typed import Call, Expr, Literal, PyValue, lazy_call
from expressions.values import arithmetic
from expressions.values.array_values import made

NULL = "null"
ROW = "row"
"""The call that makes a document of a row."""
Parts = list[str | Expr]


class Casts(Protocol):
    """The maker of casts (`expressions.analysis.building`)."""

    def known(self, expr: Expr) -> Expr: ...

    def cast(self, expr: Expr, target: Type, offset: int) -> Expr: ...

    def output_text(self, arg: Expr) -> Expr: ...

    def operator(self, name: str, args: Sequence[Expr], offset: int) -> Expr: ...


# -- a value as a document


def quoted(text: str) -> str:
    """A text as a string of a document."""
    return json.dumps(text, ensure_ascii=False)


def _number(of: Type) -> Callable[[Any], str]:
    sql_type = of.sql_type
    assert sql_type is not None

    def written(value: Any) -> str:
        text = to_text(sql_type, value)
        return f'"{text}"' if "N" in text or "I" in text else text

    return written


def _moment(value: Any) -> str:
    return quoted(value.isoformat() if not value.microsecond else value.isoformat().rstrip("0"))


_WRITERS: dict[Type, Callable[[Any], str]] = {
    BOOL: lambda value: "true" if value else "false",
    **dict.fromkeys((*INTEGERS, OID), str),
    **{of: _number(of) for of in (NUMERIC, *FLOATS)},
    **dict.fromkeys((*TEXTUAL, NAME, CHAR), quoted),
    DATE: lambda value: quoted(value.isoformat()),
    TIMESTAMP: _moment,
    UUID: lambda value: quoted(str(value)),
    **dict.fromkeys(DOCUMENTS, str),
}


def _array(of: Type) -> Callable[[Sequence[Any]], str]:
    write = _WRITERS[of]
    return lambda items: f"[{','.join(NULL if item is None else write(item) for item in items)}]"


WRITERS = _WRITERS | {ARRAY_OF[of]: _array(of) for of in _WRITERS if of in ARRAY_OF}
"""How values of a type become documents."""
_OF_MOMENT = "document_quoted(regexp_replace(replace(CAST({0} AS VARCHAR), ' ', 'T'), '([+-]\\d\\d)$', '\\1:00'))"


def document_of(casts: Casts, given: Expr) -> Expr:
    """A value as a json; NULL stays NULL."""
    arg = casts.known(given)
    of = arg.type
    if of in DOCUMENTS:
        return casts.cast(arg, JSON, arg.offset)
    if of is TIMESTAMPTZ:  # in the zone of the session, which the engine knows
        return Call("to_json", _OF_MOMENT, (arg,), JSON, offset=arg.offset)
    if of not in WRITERS:
        if of not in (BYTEA, TIME, INTERVAL):
            raise unsupported(f"{of} within a json", arg.offset, hint="cast it to text")
        text = casts.cast(arg, TEXT, arg.offset)
        return Call("to_json", "document_quoted({0})", (text,), JSON, quoted, offset=arg.offset)
    return Call("to_json", f"document_of_{of.oid}({{0}})", (arg,), JSON, WRITERS[of], offset=arg.offset)


def _as(of: Type, whole: Expr, offset: int) -> Expr:
    """The text that was made, as a json or a jsonb. What has documents within is read anew: it may be too deep."""
    if of is JSON:
        if not (isinstance(whole, Call) and whole.name.startswith("build ") and any(map(_is_document, whole.args))):
            return whole
        return Call("json", "document_json({0})", (whole,), JSON, arithmetic.text_to(SqlType.JSON), offset=offset)
    return Call("jsonb", "document_jsonb({0})", (whole,), JSONB, arithmetic.text_to(SqlType.JSONB), offset=offset)


def _is_document(part: Expr) -> bool:
    """True of what was one before, not made of another value."""
    return not (isinstance(part, Call) and part.name in ("to_json", "name", "name_in_jsonb"))


# -- several of them


def name_of(text: str | None) -> str:
    """The name of a member. Raises 22004 when there is none."""
    if text is None:
        raise SqlError(NULL_NOT_ALLOWED, "null value not allowed for object key")
    return quoted(text)


def name_in_jsonb(text: str | None) -> str:
    """The name of a member of a jsonb. Raises 22023 when there is none."""
    if text is None:
        raise SqlError(INVALID_PARAMETER_VALUE, "field name must not be null")
    return quoted(text)


def _name(casts: Casts, given: Expr, of: Type) -> Expr:
    text = casts.output_text(casts.known(given))
    word, name = ("name_in_jsonb", name_in_jsonb) if of is JSONB else ("name", name_of)

    def named(_: Any, value: Callable[[], Any]) -> PyValue:
        return name(value())

    return lazy_call(word, f"document_{word}({{0}})", (text,), JSON, named, given.offset)


def _composed(first: str, betweens: Sequence[str], last: str) -> Callable[..., PyValue]:
    def compose(_: Any, *thunks: Callable[[], Any]) -> str:
        parts = [first]
        for thunk, between in zip(thunks, betweens, strict=True):
            value = thunk()
            parts += [between, NULL if value is None else value]
        whole = "".join([*parts, last])
        refuse_length(len(whole))
        return whole

    return compose


def _constant(text: str) -> str:
    """A text in a template of the engine."""
    return "'" + text.replace("'", "''").replace("{", "{{").replace("}", "}}") + "'"


def _put_together(signs: str, betweens: Sequence[str], args: Sequence[Expr], offset: int) -> Call:
    """Documents with what stands before each, between two brackets."""
    pieces = (f"{_constant(between)}, coalesce({{{n}}}, 'null')" for n, between in enumerate(betweens))
    first, last = map(_constant, signs)
    inner = f"concat({', '.join([first, *pieces, last])})"
    template = f"list_transform([{inner}], lambda x: {guarded('strlen(x)', 'x')})[1]"
    compute = _composed(signs[0], betweens, signs[1])
    return lazy_call(f"build {signs}", template, args, JSON, compute, offset)


def built_object(casts: Casts, args: Sequence[Expr], of: Type, offset: int) -> Expr:
    """json_build_object, jsonb_build_object."""
    if len(args) % 2:
        message = "argument list must have even number of elements"
        raise SqlError("22023", message, offset, hint=f"{of}_build_object takes keys and values in turn")
    documents = [_name(casts, arg, of) if not n % 2 else document_of(casts, arg) for n, arg in enumerate(args)]
    betweens = ["" if n == 0 else " : " if n % 2 else ", " for n in range(len(args))]
    return _as(of, _put_together("{}", betweens, documents, offset), offset)


def of_row(casts: Casts, fields: Sequence[tuple[str, Expr]], offset: int) -> Expr:
    """A row as a json, as row_to_json gives it."""
    betweens = [f"{',' if n else ''}{quoted(name)}:" for n, (name, _) in enumerate(fields)]
    whole = _put_together("{}", betweens, [document_of(casts, value) for _, value in fields], offset)
    return replace(whole, name=ROW)


def row_converted(casts: Casts, args: Sequence[Expr], of: Type, offset: int) -> Expr:
    """row_to_json, of a row that is a document already."""
    is_plain = len(args) == 1 or (len(args) == 2 and isinstance(args[1], Literal) and args[1].value is False)
    if not args or not is_row_document(args[0]):
        shown = ", ".join(str(arg.type) for arg in args)
        raise SqlError(UNDEFINED_FUNCTION, f"function row_to_json({shown}) does not exist", offset)
    if not is_plain:
        raise unsupported("row_to_json over several lines", offset, hint="leave out its second argument")
    return Call("build row", "{0}", (args[0],), JSON, lambda document: document, offset=offset)


def array_converted(casts: Casts, args: Sequence[Expr], of: Type, offset: int) -> Expr:
    """array_to_json."""
    if len(args) != 1 or args[0].type.element is None:
        shown = ", ".join(str(arg.type) for arg in args)
        raise SqlError(UNDEFINED_FUNCTION, f"function array_to_json({shown}) does not exist", offset)
    return converted(casts, args, of, offset)


def is_row_document(arg: Expr) -> bool:
    """True of a document that was made of a row."""
    return isinstance(arg, Call) and (arg.name == ROW or (arg.name == "case" and is_row_document(arg.args[1])))


def built_array(casts: Casts, args: Sequence[Expr], of: Type, offset: int) -> Expr:
    """json_build_array, jsonb_build_array."""
    documents = [document_of(casts, arg) for arg in args]
    betweens = ["" if n == 0 else ", " for n in range(len(args))]
    return _as(of, _put_together("[]", betweens, documents, offset), offset)


def refuse_unknown(arg: Expr) -> None:
    """Refuses a quoted constant and NULL where a document is made of a value of whatever type it has."""
    if arg.type is UNKNOWN and isinstance(arg, Literal):
        message = "could not determine polymorphic type because input has type unknown"
        raise SqlError(DATATYPE_MISMATCH, message, arg.offset, hint="cast it, as in 'a'::text")


def converted(casts: Casts, args: Sequence[Expr], of: Type, offset: int) -> Expr:
    """to_json, to_jsonb."""
    if len(args) != 1:
        raise SqlError("42883", f"to_{of} takes one value", offset)
    refuse_unknown(args[0])
    return _as(of, document_of(casts, args[0]), offset)


def extracted(casts: Casts, args: Sequence[Expr], of: Type, offset: int, *, as_text: bool = False) -> Expr:
    """json_extract_path and its kin: the other arguments are the path."""
    document, *steps = args
    path = lazy_call(
        "array", "[{all}]", [casts.cast(step, TEXT, offset) for step in steps], ARRAY_OF[TEXT], made, offset
    )
    return casts.operator("#>>" if as_text else "#>", (casts.cast(document, of, offset), path), offset)


def extracted_text(casts: Casts, args: Sequence[Expr], of: Type, offset: int) -> Expr:
    return extracted(casts, args, of, offset, as_text=True)


Build = Callable[[Casts, Sequence[Expr], Type, int], Expr]
_OF_ROWS: dict[str, tuple[Build, Type]] = {
    "row_to_json": (row_converted, JSON),
    "array_to_json": (array_converted, JSON),
}
BUILT: dict[str, tuple[Build, Type]] = _OF_ROWS | {
    f"{beginning}{of}{end}": (build, of)
    for of in DOCUMENTS
    for beginning, end, build in (
        ("to_", "", converted), ("", "_build_object", built_object), ("", "_build_array", built_array),
        ("", "_extract_path", extracted), ("", "_extract_path_text", extracted_text),
    )
}  # fmt: skip
"""Functions that take values of any types."""

AGGREGATES = {f"{of}{end}": of for of in DOCUMENTS for end in ("_agg", "_object_agg")}
"""Those that take them of all rows."""


def aggregated(name: str, casts: Casts, args: Sequence[Expr], offset: int) -> Parts:
    """The parts that the engine strings together: the document of each row, with its name."""
    if len(args) != (2 if name.endswith("_object_agg") else 1):
        raise SqlError("42883", f"function {name} takes other arguments", offset)
    if len(args) == 1:
        refuse_unknown(args[0])
    value: Parts = ["coalesce(", document_of(casts, args[-1]), ", 'null')"]
    if len(args) == 1 and (is_row_document(args[0]) or args[0].type.element is not None):
        return ["coalesce('\n ' || ", document_of(casts, args[0]), ", 'null')"]  # each on a line of its own
    if len(args) == 1:
        return value
    return [_name(casts, args[0], AGGREGATES[name]), " || ' : ' || ", *value]


def finished(name: str, parts: Sequence[str | Expr]) -> tuple[str | Expr, ...]:
    """The document of all rows."""
    first, last = ("{ ", " }") if name.endswith("_object_agg") else ("[", "]")
    guard = guarded("strlen(x)", "x")
    whole = (f"list_transform(['{first}' || ltrim(", *parts, f", '\n ') || '{last}'], lambda x: {guard})[1]")
    return ("document_jsonb(", *whole, ")") if AGGREGATES[name] is JSONB else whole


# -- documents of texts


def object_of_pairs(items: Sequence[str | None]) -> str:
    """json_object of names and values in turn."""
    if len(items) % 2:
        raise SqlError("2202E", "array must have even number of elements")
    return object_of_two(items[::2], items[1::2])


def object_of_two(names: Sequence[str | None], values: Sequence[str | None]) -> str:
    """json_object of names, and of as many values."""
    if len(names) != len(values):
        raise SqlError("2202E", "mismatched array dimensions")
    pairs = (f"{name_of(n)} : {'null' if v is None else quoted(v)}" for n, v in zip(names, values, strict=True))
    return f"{{{', '.join(pairs)}}}"
