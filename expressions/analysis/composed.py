"""Calls that look at the types or the constants they are given: format, to_char, pg_typeof, num_nulls, OVERLAPS."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from expressions.analysis.building import Builder
from expressions.dates.formats import date_pattern
from expressions.dates.writing_by_patterns import OF_TIMESTAMP
from expressions.errors import INVALID_PARAMETER_VALUE, UNDEFINED_FUNCTION, SqlError, unsupported
from expressions.functions import allowed
from expressions.sqltypes import BOOL, DATE, INT4, INTERVAL, REGTYPE, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UNKNOWN
from expressions.typed import Call, Expr, Literal, lazy_call
from expressions.values.object_names import TYPES

_PLACE = re.compile(r"%(?:(\d+)\$)?(-?)(\*|\d+)?(.?)", re.DOTALL)
WIDTH_MAX = 10_000


def formatted(builder: Builder, args: Sequence[Expr], offset: int) -> Expr:
    """format(..) with a constant first argument: texts (%s), names (%I) and literals (%L), by number and of a width."""
    form = args[0]
    if not isinstance(form, Literal) or not isinstance(form.value, str):
        raise unsupported("format with a form that is not a constant", offset, hint="use || or concat")
    parts: list[Expr] = [Literal("", TEXT, offset)]
    end = number = 0
    for found in _PLACE.finditer(form.value):
        place, is_left, width, kind = found.groups()
        text: Expr
        if found.group() == "%%":
            text = Literal("%", TEXT, offset)
        else:
            number = int(place) if place else number + 1
            _check_place(kind, number, width, len(args), offset)
            text = _written(builder, kind, args[number], offset)
            text = _of_width(text, int(width), is_left=bool(is_left)) if width else text
        parts += [Literal(form.value[end : found.start()], TEXT, offset), text]
        end = found.end()
    parts.append(Literal(form.value[end:], TEXT, offset))
    return builder.function("concat", allowed.FUNCTIONS["concat"], parts, offset)


def _check_place(kind: str, number: int, width: str | None, count: int, offset: int) -> None:
    if not kind:
        message = "unterminated format() type specifier"
        raise SqlError(INVALID_PARAMETER_VALUE, message, offset, hint='For a single "%" use "%%".')
    if kind not in "sIL":
        message = f'unrecognized format() type specifier "{kind}"'
        raise SqlError(INVALID_PARAMETER_VALUE, message, offset, hint='For a single "%" use "%%".')
    if number == 0:
        raise SqlError(
            INVALID_PARAMETER_VALUE, "format specifies argument 0, but arguments are numbered from 1", offset
        )
    if width == "*" or int(width or 0) > WIDTH_MAX:
        raise unsupported("format with such a width", offset, hint="use lpad or rpad")
    if number >= count:
        raise SqlError(INVALID_PARAMETER_VALUE, "too few arguments for format()", offset)


def _written(builder: Builder, kind: str, value: Expr, offset: int) -> Expr:
    text: Expr = builder.output_text(builder.known(value))
    if kind == "I":
        text = builder.function("format %I", allowed.FORMATTED_NAME, [text], offset)
    if kind == "L":
        text = builder.function("quote_nullable", allowed.FUNCTIONS["quote_nullable"], [text], offset)
    return text


def _of_width(text: Expr, width: int, *, is_left: bool) -> Expr:
    pad = "rpad" if is_left else "lpad"
    template = f"{pad}(coalesce({{0}}, ''), CAST(greatest({width}, length(coalesce({{0}}, ''))) AS INTEGER), ' ')"
    return Call("padded", template, (text,), TEXT, strict=False, offset=text.offset)


def shown_date(builder: Builder, value: Expr, pattern: Expr, offset: int) -> Expr:
    """to_char of a date or time."""
    local = builder.cast(value, TIMESTAMP, offset)
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        template = date_pattern(pattern.value)
        if template is not None:
            return Call("to_char", template, (local,), TEXT, offset=offset)
    args = (local, builder.coerce(pattern, TEXT))
    return Call("to_char", OF_TIMESTAMP.template, args, TEXT, OF_TIMESTAMP.compute, offset=offset)


def type_of(builder: Builder, arg: Expr, offset: int) -> Expr:
    """pg_typeof: known beforehand, but an aggregate in it still makes its query one of groups."""
    if arg.type is UNKNOWN:
        return Literal("unknown", TEXT, offset)
    builder.note_relations(frozenset({TYPES}))
    template = f"CASE WHEN {{0}} IS NULL THEN {arg.type.oid} ELSE {arg.type.oid} END"
    return Call("pg_typeof", template, (arg,), REGTYPE, offset=offset)


def counted_nulls(builder: Builder, args: Sequence[Expr], offset: int, *, of_nulls: bool) -> Expr:
    """num_nulls and num_nonnulls: of values of any types."""
    word = "NULL" if of_nulls else "NOT NULL"
    template = " + ".join(f"CASE WHEN {{{place}}} IS {word} THEN 1 ELSE 0 END" for place in range(len(args)))

    def compute(_: Any, *values: Callable[[], Any]) -> int:
        return sum((value() is None) is of_nulls for value in values)

    name = "num_nulls" if of_nulls else "num_nonnulls"
    return lazy_call(name, f"({template})", [builder.known(arg) for arg in args], INT4, compute, offset)


_SPANS = (
    "list_transform([{{'a': least({0}, {1}), 'b': CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN greatest({0}, {1})"
    " END, 'c': least({2}, {3}), 'd': CASE WHEN {2} IS NOT NULL AND {3} IS NOT NULL THEN greatest({2}, {3}) END}}],"
    " lambda s: CASE WHEN s.a > s.c THEN CASE WHEN s.a < s.d THEN true WHEN s.b IS NOT NULL AND s.d IS NOT NULL"
    " THEN false END WHEN s.a < s.c THEN CASE WHEN s.c < s.b THEN true WHEN s.b IS NOT NULL AND s.d IS NOT NULL THEN"
    " false END WHEN s.a = s.c AND s.b IS NOT NULL AND s.d IS NOT NULL THEN true END)[1]"
)


def overlapping(builder: Builder, args: Sequence[Expr], offset: int) -> Expr:
    """(start, end or length) OVERLAPS (start, end or length)."""
    ends = list(args)
    for start in (0, 2):
        if ends[start + 1].type is INTERVAL:
            ends[start + 1] = builder.operator("+", (ends[start], ends[start + 1]), offset)
    spans, of = builder.common(ends, "OVERLAPS")
    if of not in (DATE, TIMESTAMP, TIMESTAMPTZ, TIME):
        shown = ", ".join(str(arg.type) for arg in args)
        raise SqlError(UNDEFINED_FUNCTION, f"function pg_catalog.overlaps({shown}) does not exist", offset)
    return lazy_call("overlaps", _SPANS, spans, BOOL, _overlap, offset)


def _overlap(_: Any, *thunks: Callable[[], Any]) -> bool | None:
    first, second = ([thunk() for thunk in pair] for pair in (thunks[:2], thunks[2:]))
    starts: list[Any] = [min((end for end in pair if end is not None), default=None) for pair in (first, second)]
    lasts: list[Any] = [None if None in pair else max(pair) for pair in (first, second)]
    if None in starts:
        return None
    if starts[0] != starts[1]:
        later = 0 if starts[0] > starts[1] else 1
        if lasts[1 - later] is not None and starts[later] < lasts[1 - later]:
            return True
        return None if None in lasts else False
    return None if None in lasts else True
