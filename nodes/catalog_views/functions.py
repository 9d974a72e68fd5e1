"""pg_proc: the functions that a node has, as PostgreSQL 18 describes them, with its oids.

`functions.tsv` has a line for each: those of the types (their input and output), and of those that statements may call
the ones whose arguments PostgreSQL declares as a node does. Calls that a node reads in a way of its own are not among
them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from catalog.descriptor import Descriptor
from expressions.values.object_names import FUNCTIONS, SIGNATURES, SOURCES, spelled, spelled_function
from nodes.catalog_views.values import OWNER, PG_CATALOG, Row


class Function(NamedTuple):
    """A line: what pg_proc has, and the texts that `pg_get_function_arguments` and the like give.

    `shown` is the function with the types of its arguments,
    `body` what a function of SQL returns where it is kept parsed.
    """

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
    shown: str
    support: str
    body: str


@cache
def lines_of(file: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a table beside this file, each cut at its tabs."""
    return tuple(tuple(line.split("\t")) for line in Path(__file__).with_name(file).read_text().splitlines())


@cache
def known() -> tuple[Function, ...]:
    return tuple(map(_function, lines_of("functions.tsv")))


def _function(words: Sequence[str]) -> Function:
    oid, name, kind, arguments, result, rows, volatile, strict, parallel, *more = words
    cost, count, language, variadic, defaults, source, shown_arguments, shown_result, leakproof, *last = more
    return Function(
        int(oid), name, kind, tuple(map(int, arguments.split())), int(result), rows == "t", volatile, strict == "t",
        parallel, int(cost), int(count), int(language), int(variadic), int(defaults), source, shown_arguments,
        shown_result, leakproof == "t", *last,
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
    for oid, name in LANGUAGES.items():
        yield {"oid": oid, "lanname": name, "lanowner": OWNER, "lanpltrusted": name == "sql"}


LANGUAGES = {12: "internal", 13: "c", 14: "sql"}
VOLATILITIES = {"i": " IMMUTABLE", "s": " STABLE", "v": ""}
PARALLEL = {"s": " PARALLEL SAFE", "r": " PARALLEL RESTRICTED", "u": ""}
USUAL_COST, USUAL_COST_OF_SQL, USUAL_ROWS = 1, 100, 1000


def definition(one: Function) -> str:
    """The statement that makes the function, as PostgreSQL writes it."""
    language = LANGUAGES[one.language]
    options = " WINDOW" if one.kind == "w" else ""
    options += VOLATILITIES[one.volatile] + PARALLEL[one.parallel]
    options += " STRICT" * one.is_strict + " LEAKPROOF" * one.is_leakproof
    if one.cost != (USUAL_COST_OF_SQL if language == "sql" else USUAL_COST):
        options += f" COST {one.cost}"
    if one.gives_rows and one.rows != USUAL_ROWS:
        options += f" ROWS {one.rows}"
    if one.support:
        options += f" SUPPORT {one.support}"
    name = one.shown[: one.shown.index("(")]
    lines = [
        f"CREATE OR REPLACE FUNCTION pg_catalog.{name}({one.shown_arguments})",
        f" RETURNS {one.shown_result}",
        f" LANGUAGE {language}",
        *([options] if options else []),
        one.body or f"AS $function${one.source}$function$",
    ]
    return "\n".join(lines) + "\n"


def _sources(_: Sequence[Descriptor]) -> Iterator[Row]:
    for one in known():
        is_aggregate = one.kind == "a"
        yield {
            "oid": one.oid, "definition": None if is_aggregate else definition(one), "body": one.body or None,
            "aggregate": one.name if is_aggregate else None,
        }  # fmt: skip


def _names(_: Sequence[Descriptor]) -> Iterator[Row]:
    counts = Counter(one.name for one in known())
    for one in known():
        shown = one.shown[: one.shown.index("(")]
        shown = shown if counts[one.name] == 1 else f"pg_catalog.{shown}"
        for spelling in (spelled(one.name), f"pg_catalog.{spelled(one.name)}"):
            yield {"kind": "p", "oid": one.oid, "shown": shown, "spelled": spelling}
        yield {"kind": "d", "oid": one.oid, "shown": one.shown, "spelled": spelled_function(one.shown)}


MADE = {
    "pg_proc": _rows, "pg_language": _languages, SIGNATURES: _signatures, SOURCES: _sources, FUNCTIONS: _names,
}  # fmt: skip
