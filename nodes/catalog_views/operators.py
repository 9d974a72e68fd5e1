"""pg_operator and pg_cast: the operators and casts that a node has, as PostgreSQL 18 describes them, with its oids.

`operators.tsv` has a line for each operator that a node takes between its own types with the same result,
`casts.tsv` for each cast; the functions they name are in `functions.tsv`, though most are called by no name.
"""

from collections.abc import Iterator, Sequence

from catalog.descriptor import Descriptor
from nodes.catalog_views.functions import lines_of
from nodes.catalog_views.values import OWNER, PG_CATALOG, Row, Value


def _operators(_: Sequence[Descriptor]) -> Iterator[Row]:
    refers = ("oprleft", "oprright", "oprresult", "oprcom", "oprnegate", "oprcode", "oprrest", "oprjoin")
    for oid, name, kind, merges, hashes, *oids in lines_of("operators.tsv"):
        row: dict[str, Value] = {"oid": int(oid), "oprname": name, "oprnamespace": PG_CATALOG, "oprowner": OWNER}
        row |= {"oprkind": kind, "oprcanmerge": merges == "t", "oprcanhash": hashes == "t"}
        yield row | dict(zip(refers, map(int, oids), strict=True))


def _casts(_: Sequence[Descriptor]) -> Iterator[Row]:
    for oid, source, target, function, context, method in lines_of("casts.tsv"):
        yield {
            "oid": int(oid), "castsource": int(source), "casttarget": int(target), "castfunc": int(function),
            "castcontext": context, "castmethod": method,
        }  # fmt: skip


MADE = {"pg_operator": _operators, "pg_cast": _casts}
