"""Texts composed of values of any type: `format` and `json_build_object`."""

import re
from collections.abc import Sequence

from expressions import functions
from expressions.building import Builder
from expressions.errors import SqlError, unsupported
from expressions.sqltypes import BOOL, CHAR, FLOATS, INTEGERS, JSON, NAME, NUMERIC, OID, TEXT, TEXTUAL
from expressions.typed import Expr, Fragment, Literal


def formatted(builder: Builder, args: Sequence[Expr], offset: int) -> Expr:
    """format(..) with a constant first argument that asks for texts (%s) and names (%I) only."""
    form = args[0]
    if not isinstance(form, Literal) or not isinstance(form.value, str):
        raise unsupported("format with a form that is not a constant", offset, hint="use || or concat")
    (first, *words), rest = re.split("%([sI])", form.value.replace("%%", "\0")), list(args[1:])
    if "%" in first or any("%" in word for word in words[1::2]) or len(words) // 2 > len(rest):
        raise unsupported("format with anything but as many %s or %I as there are values", offset, hint="use concat")
    parts: list[Expr] = [Literal(first.replace("\0", "%"), TEXT, offset)]
    for kind, word, value in zip(words[::2], words[1::2], rest, strict=False):
        text: Expr = builder.output_text(builder.known(value))
        if kind == "I":
            text = builder.function("format %I", functions.FORMATTED_NAME, [text], offset)
        parts += [text, Literal(word.replace("\0", "%"), TEXT, offset)]
    return builder.function("concat", functions.FUNCTIONS["concat"], parts, offset)


def json_object(builder: Builder, args: Sequence[Expr], offset: int) -> Expr:
    if len(args) % 2:
        message = "argument list must have even number of elements"
        raise SqlError("22023", message, offset, hint="json_build_object takes keys and values in turn")
    parts: list[str | Expr] = ["concat('{', "]
    for place, arg in enumerate(builder.known(arg) for arg in args):
        before = "', '" if place and not place % 2 else "' : '" if place else "''"
        if arg.type not in (BOOL, *INTEGERS, NUMERIC, *FLOATS, *TEXTUAL, OID, NAME, CHAR):
            raise unsupported(f"json_build_object of {arg.type}", arg.offset)
        arg = builder.output_text(arg) if arg.type is NUMERIC and not place % 2 else arg
        if arg.type in (NUMERIC, *FLOATS) and place % 2:  # as its text; JSON has no number for three of them
            quoted = "CASE WHEN t LIKE '%N%' OR t LIKE '%I%' THEN '\"' || t || '\"' ELSE t END"
            parts += [before, ", coalesce(list_transform([", builder.output_text(arg), "], lambda t: "]
            parts += [quoted, ")[1], 'null'), "]
        else:
            parts += [before, ", coalesce(CAST(to_json(", arg, ") AS VARCHAR), 'null'), "]
    return Fragment((*parts, "'}')"), JSON, offset=offset)
