"""The values of `catalog.text.message`."""

from catalog.text.message import (
    NOTHING,
    Text,
    Values,
    added,
    beside,
    clauses,
    followed,
    from_json,
    joined,
    listed,
    names_listed,
    to_json,
)

__all__ = [
    "NOTHING",
    "Text",
    "Values",
    "added",
    "beside",
    "clauses",
    "followed",
    "from_json",
    "joined",
    "listed",
    "names_listed",
    "to_json",
]
