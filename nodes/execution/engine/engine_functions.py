"""The functions that the query engine calls here: of numeric, of documents, and those that `expressions` lists.

Each is the function that computes one row here, so the two cannot differ. A refusal comes back as the engine's error,
with the SQLSTATE in it.
"""

from collections.abc import Callable, Iterator, Sequence
from time import thread_time
from typing import Any

import duckdb

from catalog.values.packed import LEFT_OUT, PACKED
from catalog.values.types import SqlType
from expressions.dates import reading_by_patterns, writing_by_patterns
from expressions.errors import STATEMENT_TOO_COMPLEX, SqlError
from expressions.limits import pauses
from expressions.number_patterns import calls as number_patterns
from expressions.regexes import functions as regexes
from expressions.sqltypes import STORED, Type
from expressions.values import bytestrings, clock_times, intervals, special_functions, texts
from expressions.values.own import ARRAY_TEXTS, DOUBLE_TEXT, OWN_WORD, TEXTS, Own
from nodes.execution.engine import document_functions, numeric_functions
from nodes.execution.engine.numeric_functions import refusing
from nodes.execution.engine.stopping import stop_if_cancelled

OWN: tuple[Own, ...] = (
    *bytestrings.OPERATORS, *bytestrings.FUNCTIONS, bytestrings.ESCAPED, *bytestrings.CASTS,
    *intervals.OPERATORS, *intervals.FUNCTIONS, intervals.MICROS, intervals.OF_PARTS,
    *(own for by_style in intervals.STYLED.values() for own in by_style.values()),
    *special_functions.OF_DOUBLES, *special_functions.OF_INTEGERS,
    *clock_times.OPERATORS, *clock_times.FUNCTIONS, *clock_times.CASTS,
    *(own for of in TEXTS.values() for own in of), DOUBLE_TEXT, *ARRAY_TEXTS, *texts.OF_LONG_TEXTS,
)  # fmt: skip
LONG: tuple[Own, ...] = (
    *regexes.OF_ONE_MATCH, regexes.RE2_TEXT, *regexes.OF_ALL_MATCHES, *number_patterns.FUNCTIONS,
    reading_by_patterns.TO_DATE, reading_by_patterns.TO_TIMESTAMP, writing_by_patterns.OF_INTERVAL,
    writing_by_patterns.OF_TIMESTAMP,
)  # fmt: skip
"""Functions that may take a second for one value, so their time is watched. They may give NULL for what is none."""
VALUE_S_MAX = 10.0
"""CPU seconds of a thread for one value: what computes it cannot be interrupted from outside."""


def calls_functions(sql: str) -> bool:
    """True if a text may call one of them."""
    return any(word in sql for word in (OWN_WORD, numeric_functions.FUNCTION_WORD, document_functions.FUNCTION_WORD))


def register(database: "duckdb.DuckDBPyConnection") -> None:
    """Make the functions known to an engine."""
    numeric_functions.register(database)
    document_functions.register(database)
    for own in OWN:
        called = refusing(_of_packed(own), len(own.args))
        database.create_function(own.engine_name, called, [of.duck for of in own.args], own.result.duck)
    for own in (*LONG, *regexes.SETS):
        called = refusing(_watched(own), len(own.args))
        result = own.result.duck + "[]" * (own in regexes.SETS)
        names = [of.duck for of in own.args]
        database.create_function(own.engine_name, called, names, result, null_handling="special")
    for name, function in _over_lists():
        database.create_function(name, function, ["BLOB[]"], "BLOB", null_handling="special")


def _watched(own: Own) -> Callable[..., Any]:
    """The function, ended when it takes too long; an array is a list to the engine."""
    compute = _of_packed(own)

    def computed(*args: Any) -> Any:
        began = thread_time()

        def watch() -> None:
            stop_if_cancelled()
            if thread_time() - began > VALUE_S_MAX:
                message = f"{own.called[0]} takes more than {VALUE_S_MAX:.0f} s for one value"
                raise SqlError(STATEMENT_TOO_COMPLEX, message)

        token = pauses.set(watch)
        try:
            found = compute(*args)
        finally:
            pauses.reset(token)
        return list(found) if isinstance(found, tuple) else found

    return computed


def _over_lists() -> Iterator[tuple[str, Callable[[Sequence[bytes | None] | None], bytes | None]]]:
    """Functions of a list of values, NULLs among them: the least and the greatest, and what is made of intervals."""
    for of, first in ((of, LEFT_OUT[of.sql_type]) for of in STORED if of.sql_type in LEFT_OUT):
        for word, choose in (("greatest", max), ("least", min)):
            yield f"{OWN_WORD}{of.name}_{word}", _extreme(choose, first)
    read, write = PACKED[SqlType.INTERVAL][1], PACKED[SqlType.INTERVAL][0]
    for word, compute in (("sum", intervals.sum_of), ("avg", intervals.average_of)):
        yield f"{OWN_WORD}interval_{word}_of", _folded(compute, read, write)


def _extreme(choose: Callable[..., bytes], first: int) -> Callable[[Sequence[bytes | None] | None], bytes | None]:
    def chosen(items: Sequence[bytes | None] | None) -> bytes | None:
        known = [item for item in items or () if item is not None]
        return choose(known, key=lambda data: data[first:]) if known else None

    return chosen


def _folded(
    compute: Callable[..., Any], read: Callable[[bytes], Any], write: Callable[[Any], bytes]
) -> Callable[[Sequence[bytes | None] | None], bytes | None]:
    def of_known(items: Sequence[bytes | None] | None) -> Any:
        found = compute([read(item) for item in items or () if item is not None])
        return None if found is None else write(found)

    return refusing(of_known, 1)


def _of_packed(own: Own) -> Callable[..., Any]:
    """The function over the bytes that the engine has of some types."""
    readers, write = [_reader(of) for of in own.args], _writer(own.result)
    if not any(readers) and write is None:
        return own.compute

    def computed(*args: Any) -> Any:
        values = (arg if read is None else read(arg) for arg, read in zip(args, readers, strict=True))
        found = own.compute(*values)
        return found if write is None or found is None else write(found)

    return computed


def _reader(of: Type) -> Callable[[bytes], Any] | None:
    return PACKED[of.sql_type][1] if of.sql_type in PACKED else None


def _writer(of: Type) -> Callable[[Any], bytes] | None:
    return PACKED[of.sql_type][0] if of.sql_type in PACKED else None
