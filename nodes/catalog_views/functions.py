"""pg_proc: the functions that a node has, as PostgreSQL 18 describes them, with its oids.

`functions.tsv` has a line for each: those of the types (their input and output), and of those that statements may call
the ones whose arguments PostgreSQL declares as a node does. Calls that a node reads in a way of its own are not among
them.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from catalog.descriptor import Descriptor
from expressions.values.object_names import SIGNATURES
from nodes.catalog_views.values import OWNER, PG_CATALOG, Row


class Function(NamedTuple):
    """A line: what pg_proc has, and the texts that `pg_get_function_arguments` and `.._result` give."""

    oid: int
    name: str
    kind: str
    arguments: tuple[int, ...]
    result: int
    gives_rows: bool
    volatile: str
    is_strict: bool
    parallel: str
    cost: int
    rows: int
    language: int
    variadic: int
    defaults: int
    source: str
    shown_arguments: str
    shown_result: str
    is_leakproof: bool


@cache
def lines_of(file: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a table beside this file, each cut at its tabs."""
    return tuple(tuple(line.split("\t")) for line in Path(__file__).with_name(file).read_text().splitlines())


@cache
def known() -> tuple[Function, ...]:
    return tuple(map(_function, lines_of("functions.tsv")))


def _function(words: Sequence[str]) -> Function:
    oid, name, kind, arguments, result, rows, volatile, strict, parallel, *more = words
    cost, count, language, variadic, defaults, source, shown_arguments, shown_result, leakproof = more
    return Function(
        int(oid), name, kind, tuple(map(int, arguments.split())), int(result), rows == "t", volatile, strict == "t",
        parallel, int(cost), int(count), int(language), int(variadic), int(defaults), source, shown_arguments,
        shown_result, leakproof == "t",
    )  # fmt: skip


def _rows(_: Sequence[Descriptor]) -> Iterator[Row]:
    for one in known():
        yield {
            "oid": one.oid, "proname": one.name, "pronamespace": PG_CATALOG, "proowner": OWNER, "prolang": one.language,
            "procost": float(one.cost), "prorows": float(one.rows), "provariadic": one.variadic, "prokind": one.kind,
            "proleakproof": one.is_leakproof, "proisstrict": one.is_strict, "proretset": one.gives_rows,
            "provolatile": one.volatile, "proparallel": one.parallel, "pronargs": len(one.arguments),
            "pronargdefaults": one.defaults, "prorettype": one.result, "proargtypes": one.arguments,
            "prosrc": one.source,
        }  # fmt: skip


def _signatures(_: Sequence[Descriptor]) -> Iterator[Row]:
    for one in known():
        yield {"oid": one.oid, "arguments": one.shown_arguments, "result": one.shown_result}


def _languages(_: Sequence[Descriptor]) -> Iterator[Row]:
    for oid, name in ((12, "internal"), (13, "c"), (14, "sql")):
        yield {"oid": oid, "lanname": name, "lanowner": OWNER, "lanpltrusted": name == "sql"}


MADE = {"pg_proc": _rows, "pg_language": _languages, SIGNATURES: _signatures}
