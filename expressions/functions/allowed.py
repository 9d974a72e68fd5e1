"""The operators and functions a statement may use: an allow-list.

A line gives the types and, where one row's value can be computed here, what computes it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from catalog.values.arrays import ELEMENTS_MAX, TOO_MANY_ELEMENTS
from catalog.values.types import to_text
from expressions.dates import reading_by_patterns, writing_by_patterns
from expressions.documents import functions as documents
from expressions.functions import aggregates, casts, moments, numbers, texts
from expressions.functions.overloads import Named, Overload
from expressions.limits import refusal
from expressions.number_patterns import calls as number_patterns
from expressions.regexes import functions as regexes
from expressions.sqltypes import (
    BOOL,
    BPCHAR,
    FLOAT4,
    FLOAT8,
    FLOATS,
    INT4,
    INT8,
    JSON,
    NUMERIC,
    STORED,
    TEXT,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    Type,
    key_text,
)
from expressions.values import (
    arithmetic,
    array_values,
    arrays,
    bytestrings,
    clock_times,
    intervals,
    object_names,
    privileges,
    special_functions,
)
from expressions.values.own import TEXTS, Own


def _table(*groups: Named) -> dict[str, tuple[Overload, ...]]:
    table: dict[str, tuple[Overload, ...]] = {}
    for group in groups:
        for name, overload in group:
            table[name] = (*table.get(name, ()), overload)
    return table


def _documents(lines: Iterator[documents.Line], *, of_rows: bool = False) -> Named:
    for line in lines:
        yield line.name, Overload(line.args, line.result, line.template, None if of_rows else line.computed)


def _arrays(lines: Iterator[arrays.Line]) -> Named:
    for name, args, result, template in lines:
        compute, strict = array_values.compute_of(name, args, _writer(args))
        yield name, Overload(args, result, template, compute, strict)


def _writer(args: Sequence[Type]) -> Callable[[object], str] | None:
    """Shows an element of an array, if that is the same in every session."""
    of = next((of.element for of in args if of.element is not None), None)
    if of is None or of.sql_type is None or of is TIMESTAMPTZ:
        return None
    sql_type = of.sql_type
    return lambda item: to_text(sql_type, item)  # type: ignore[arg-type]


def _own(table: Iterable[Own], *, by_engine_alone: bool = False) -> Named:
    for own in table:
        for name in own.called:
            yield name, Overload(own.args, own.result, own.template, None if by_engine_alone else own.compute)


def _comparisons() -> Named:
    for mixed in ((FLOAT4, FLOAT8), (FLOAT8, FLOAT4)):
        for name, compute in arithmetic.COMPARISONS.items():
            yield name, Overload(mixed, BOOL, f"({{0}} {name} {{1}})", compute)
    for of in (one for one in STORED if one not in (VARCHAR, JSON)):
        for name, compute in arithmetic.COMPARISONS.items():
            yield name, Overload((of, of), BOOL, f"({key_text(of, '{0}')} {name} {key_text(of, '{1}')})", compute)


def _pattern_comparisons() -> Named:
    """Operators by which PostgreSQL compares texts for LIKE: as these are compared here anyway."""
    for of in (TEXT, BPCHAR):
        for name, plain in (("~<~", "<"), ("~<=~", "<="), ("~>~", ">"), ("~>=~", ">=")):
            yield name, Overload((of, of), BOOL, f"({{0}} {plain} {{1}})", arithmetic.COMPARISONS[plain])


def _identifiers() -> Named:
    yield "uuidv7", Overload((), UUID, "uuidv7()")
    for name in ("gen_random_uuid", "uuidv4"):
        yield name, Overload((), UUID, "gen_random_uuid()")


def _series() -> Named:
    """generate_series as a list, of as many numbers as there may be elements."""
    for of in (INT4, INT8):
        for args, step in (((of, of), "1"), ((of, of, of), "{2}")):
            count = f"(CAST({{1}} AS HUGEINT) - {{0}}) // nullif({step}, 0)"
            stop = f"CASE WHEN {count} >= {ELEMENTS_MAX} THEN {refusal(TOO_MANY_ELEMENTS, 'BIGINT')} ELSE {{1}} END"
            by = (
                f"CASE WHEN {step} = 0 THEN {refusal('step size cannot equal zero', 'BIGINT', '22023')} ELSE {step} END"
            )
            yield "generate_series", Overload(args, of, f"CAST(generate_series({{0}}, {stop}, {by}) AS {of.duck}[])")


def _settings() -> Named:
    yield "current_setting", Overload((TEXT,), TEXT, "", arithmetic.current_setting, strict=False)
    yield "current_setting", Overload((TEXT, BOOL), TEXT, "", arithmetic.current_setting, strict=False)
    yield "set_config", Overload((TEXT, TEXT, BOOL), TEXT, "", arithmetic.set_config, strict=False)


def _catalog() -> Named:
    """Functions that clients use when they read pg_catalog."""
    for name, args, result, template, reads in (*object_names.functions(), *privileges.functions()):
        yield name, Overload(args, result, template, relations=reads)


OPERATORS = _table(
    numbers.operators(), _comparisons(), _pattern_comparisons(), moments.operators(), texts.operators(),
    _arrays(arrays.operators()), _own(bytestrings.OPERATORS), _own(intervals.OPERATORS), _own(clock_times.OPERATORS),
    _documents(documents.operators()),
)  # fmt: skip
FORMATTED_NAME = (Overload((TEXT,), TEXT, object_names.FORMATTED_NAME, strict=False),)
"""%I of format(..)."""
_OF_SETTINGS = frozenset({object_names.SHOWN_SETTINGS})
SETTING_OF_A_COLUMN = (
    Overload((TEXT,), TEXT, object_names.setting_of("{0}", "false"), relations=_OF_SETTINGS),
    Overload((TEXT, BOOL), TEXT, object_names.setting_of("{0}", "{1}"), relations=_OF_SETTINGS),
)
"""current_setting(..) where a row decides which."""
FUNCTIONS = _table(
    numbers.functions(),
    texts.functions(),
    moments.functions(),
    _identifiers(),
    _settings(),
    _catalog(),
    _documents(documents.functions()),
    _arrays(arrays.functions({of: casts.TEMPLATES[of, TEXT] for of in (*FLOATS, NUMERIC, TIMESTAMPTZ, *TEXTS)})),
    _own(regexes.OF_ONE_MATCH),
    _own(number_patterns.FUNCTIONS),
    _own((reading_by_patterns.TO_DATE, reading_by_patterns.TO_TIMESTAMP, writing_by_patterns.OF_INTERVAL)),
    _own(regexes.OF_ALL_MATCHES, by_engine_alone=True),
    _own(bytestrings.FUNCTIONS),
    _own(intervals.FUNCTIONS),
    _own(clock_times.FUNCTIONS),
    _own(special_functions.OF_INTEGERS),
)
SETS = _table(
    _series(),
    _arrays(arrays.sets()),
    _own(regexes.SETS, by_engine_alone=True),
    _documents(documents.sets(), of_rows=True),
)
"""Functions that give rows, each as a list of them."""
PAIRS = _table(_documents(documents.pairs(), of_rows=True))
"""Functions that give rows of two columns: of each name the lists of both, one after the other."""
AGGREGATES = _table(aggregates.aggregates())
WINDOW_ONLY = _table(aggregates.windows())
