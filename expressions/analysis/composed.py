"""Calls that look at the types or the constants they are given: format, to_char, pg_typeof."""

import re
from collections.abc import Sequence

from expressions.analysis.building import Builder
from expressions.dates.formats import date_pattern
from expressions.errors import unsupported
from expressions.functions import allowed
from expressions.sqltypes import REGTYPE, TEXT, TIMESTAMP, UNKNOWN
from expressions.typed import Call, Expr, Literal
from expressions.values.object_names import OBJECTS


def formatted(builder: Builder, args: Sequence[Expr], offset: int) -> Expr:
    """format(..) with a constant first argument that asks for texts (%s), names (%I) and literals (%L) only."""
    form = args[0]
    if not isinstance(form, Literal) or not isinstance(form.value, str):
        raise unsupported("format with a form that is not a constant", offset, hint="use || or concat")
    (first, *words), rest = re.split("%([sIL])", form.value.replace("%%", "\0")), list(args[1:])
    if "%" in first or any("%" in word for word in words[1::2]) or len(words) // 2 > len(rest):
        what = "format with anything but as many %s, %I or %L as there are values"
        raise unsupported(what, offset, hint="use concat")
    parts: list[Expr] = [Literal(first.replace("\0", "%"), TEXT, offset)]
    for kind, word, value in zip(words[::2], words[1::2], rest, strict=False):
        text: Expr = builder.output_text(builder.known(value))
        if kind == "I":
            text = builder.function("format %I", allowed.FORMATTED_NAME, [text], offset)
        if kind == "L":
            text = builder.function("quote_nullable", allowed.FUNCTIONS["quote_nullable"], [text], offset)
        parts += [text, Literal(word.replace("\0", "%"), TEXT, offset)]
    return builder.function("concat", allowed.FUNCTIONS["concat"], parts, offset)


def shown_date(builder: Builder, value: Expr, pattern: Expr, offset: int) -> Expr:
    """to_char of a date or time."""
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise unsupported("to_char with a pattern that is no constant", offset)
    template = date_pattern(pattern.value, offset)
    return Call("to_char", template, (builder.cast(value, TIMESTAMP, offset),), TEXT, offset=offset)


def type_of(builder: Builder, arg: Expr, offset: int) -> Expr:
    """pg_typeof: known beforehand, but an aggregate in it still makes its query one of groups."""
    if arg.type is UNKNOWN:
        return Literal("unknown", TEXT, offset)
    builder.note_relations(frozenset({OBJECTS}))
    template = f"CASE WHEN {{0}} IS NULL THEN {arg.type.oid} ELSE {arg.type.oid} END"
    return Call("pg_typeof", template, (arg,), REGTYPE, offset=offset)
