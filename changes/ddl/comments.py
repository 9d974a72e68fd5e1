"""Reads COMMENT ON a table, column, index or constraint; IS NULL and an empty text remove the comment."""

from __future__ import annotations

from typing import Any

from changes.ddl.actions import UNNAMED, Name, SetComment
from changes.ddl.errors import unsupported
from changes.ddl.source import Source, check_schema

Node = Any
KEPT = {"TABLE": "table", "COLUMN": "column", "INDEX": "index", "TABCONSTRAINT": "constraint"}
"""Objects of the grammar whose comments are kept, and what an action calls them."""


def object_of(node: Node) -> str:
    """The grammar's word for the object of a COMMENT, such as TABCONSTRAINT."""
    return str(node.DESCRIPTOR.fields_by_name["objtype"].enum_type.values_by_number[node.objtype].name)[
        len("OBJECT_") :
    ]


def read_comment(node: Node, source: Source) -> SetComment:
    of = KEPT.get(object_of(node))
    if of is None:
        what = object_of(node).replace("_", " ")
        raise unsupported(f"COMMENT ON {what}", position=source.find("on"))
    words = [item.string.sval for item in node.object.list.items]
    order = [words[-1], *words[:-1]] if of == "constraint" else words  # as they stand in the text
    found = [Name(word, place) for word, place in zip(order, source.find_each(order), strict=True)]
    names = [*found[1:], found[0]] if of == "constraint" else found
    own = names.pop() if of in ("column", "constraint") else UNNAMED
    table = names.pop()
    check_schema(".".join(name.text for name in names), names[0].position if names else None)
    text = node.comment or None
    if of == "index":
        return SetComment(UNNAMED, of, table, text)
    return SetComment(table, of, own, text)
