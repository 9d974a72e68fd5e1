"""The query engine's refusals as PostgreSQL would put them: by its code, in its words where they are known."""

import logging
import re

import duckdb

from expressions import errors
from nodes.execution.engine.allotted_memory import ALLOTTED

log = logging.getLogger(__name__)

MEMORY_LIMIT = "256MB"
"""Of what the engine counts."""
SMALLER = "ask for fewer rows at a time, or make shorter texts and arrays of each"

_OWN = re.compile(
    r"(?:[\w ]+: Python exception occurred while executing the UDF: ValueError|[\w ]+):"
    r" SQLSTATE (\w{5}) (.*?)(?: DETAIL (.*))?",
    re.DOTALL,
)

_GUARD = re.compile(r"Could not convert string 'SQLSTATE (\w{5}) ([^']*)'")
"""What `expressions.limits.guarded` makes the engine say."""


_INTERRUPTED = "INTERRUPT Error"
"""What Arrow says of a result that is interrupted once it has begun."""
_NO_BLOCK = "bad allocation"
"""What the engine says when its allocator gives it none."""


def is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, duckdb.OutOfMemoryException) or str(error).startswith("Out of Memory Error")


def translated(error: Exception) -> errors.SqlError:
    """The engine's refusal as PostgreSQL would put it."""
    text = str(error)
    own = _OWN.fullmatch(text)
    if own:
        return errors.SqlError(own.group(1), own.group(2).strip(), detail=own.group(3))
    guarded = _GUARD.search(text)
    if guarded:
        return errors.SqlError(guarded.group(1), guarded.group(2))
    if isinstance(error, duckdb.InterruptException) or text.startswith(_INTERRUPTED):
        return errors.SqlError(errors.QUERY_CANCELED, "canceling statement due to user request")
    if is_out_of_memory(error):
        words = f"the query needs more than the {MEMORY_LIMIT} a node gives it"
        if _NO_BLOCK in text:
            words = f"what the query computes at once needs more than the {ALLOTTED} a node has for all queries"
        return errors.SqlError(errors.OUT_OF_MEMORY, words, hint=SMALLER)
    if "Division by zero" in text or "division by zero" in text:
        return errors.SqlError(errors.DIVISION_BY_ZERO, "division by zero")
    if "More than one row returned by a subquery" in text:
        return errors.SqlError(
            errors.CARDINALITY_VIOLATION, "more than one row returned by a subquery used as an expression"
        )
    moment = _MOMENT.search(text)
    if moment:
        return errors.SqlError(errors.DATETIME_OUT_OF_RANGE, _of_moment(moment))
    if isinstance(error, duckdb.OutOfRangeException) or "out of range" in text or "Overflow" in text:
        return errors.SqlError(errors.NUMBER_OUT_OF_RANGE, f"{_range_type(text)} out of range")
    if "Could not convert string" in text:
        found = re.search(r"Could not convert string '(.*?)' to (\w+)", text)
        shown = f'"{found.group(1)}"' if found else "text"
        return errors.SqlError(errors.INVALID_TEXT, f"invalid input syntax: {shown}")
    if "regex" in text.lower():
        return errors.SqlError(errors.INVALID_REGULAR_EXPRESSION, "invalid regular expression")
    if "logarithm of" in text or "square root of" in text:
        return errors.SqlError("2201F", text.splitlines()[0].partition(": ")[2])
    if "Like pattern must not end" in text:
        return errors.SqlError("22025", "LIKE pattern must not end with escape character")
    log.error("the query engine refused: %s", text)
    return errors.SqlError(
        errors.FEATURE_NOT_SUPPORTED, "the query engine of this node cannot do this", detail=text.splitlines()[0]
    )


_MOMENT = re.compile(
    r"Date out of range: (-?\d+)-(-?\d+)-(-?\d+)|Time out of range: (\S+)|(Epoch seconds|Date) out of range"
    r"|Date and time not in timestamp range"
)


def _of_moment(found: "re.Match[str]") -> str:
    year, month, day, time, what = found.groups()
    if year:
        return f"date field value out of range: {int(year)}-{int(month):02d}-{int(day):02d}"
    if time:
        return f"time field value out of range: {time}"
    return "date out of range" if what == "Date" else "timestamp out of range"


def _range_type(text: str) -> str:
    if "INT16" in text:
        return "smallint"
    if "INT32" in text:
        return "integer"
    return "bigint" if "INT64" in text or "INT128" in text else "value"
