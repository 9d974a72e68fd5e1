"""Descriptions that PostgreSQL has of its own functions, operators, types and schemas, where a node has them.

`descriptions.tsv` has a line for each: the relation that it is a row of, its oid, the text.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from catalog.descriptor import Descriptor
from nodes.catalog_views.functions import lines_of
from nodes.catalog_views.relations import OIDS
from nodes.catalog_views.values import Row


@cache
def known() -> tuple[tuple[str, int, str], ...]:
    """Relation, oid, text."""
    return tuple((relation, int(oid), text) for relation, oid, text in lines_of("descriptions.tsv"))


def _rows(_: Sequence[Descriptor]) -> Iterator[Row]:
    for relation, oid, text in known():
        yield {"objoid": oid, "classoid": OIDS[relation], "objsubid": 0, "description": text}


MADE = {"pg_description": _rows}
