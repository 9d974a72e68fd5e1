"""Texts composed of values of any type: `format`."""

import re
from collections.abc import Sequence

from expressions import functions
from expressions.building import Builder
from expressions.errors import unsupported
from expressions.sqltypes import TEXT
from expressions.typed import Expr, Literal


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
