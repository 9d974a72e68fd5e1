"""The functions of json and jsonb that the query engine calls, which has documents as texts.

Each is the function that computes one row here (`expressions.documents`), so the two cannot differ.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb

from catalog.values import numerics
from expressions.documents.functions import WORD, engine_functions
from nodes.execution.engine.numeric_functions import NUMBER, NUMBERS, refusing

FUNCTION_WORD = WORD


def register(database: "duckdb.DuckDBPyConnection") -> None:
    """Make the functions known to an engine."""
    for word, (compute, arguments, result) in engine_functions().items():
        takes_null = word in ("name", "name_in_jsonb")
        called = refusing(_with_numbers(compute, arguments), len(arguments), takes_null=takes_null)
        database.create_function(f"{WORD}{word}", called, [*arguments], result, null_handling="special")


def _with_numbers(compute: Callable[..., Any], arguments: tuple[str, ...]) -> Callable[..., Any]:
    """The function, for numerics as the engine has them."""
    reads = [_READERS.get(argument) for argument in arguments]

    def called(*args: Any) -> Any:
        found = compute(*(arg if read is None else read(arg) for read, arg in zip(reads, args, strict=True)))
        return numerics.packed(found) if isinstance(found, Decimal) else found

    return called


def _numbers(items: list[bytes | None]) -> list[Decimal | None]:
    return [None if item is None else numerics.unpacked(item) for item in items]


_READERS: dict[str, Callable[[Any], Any]] = {NUMBER: numerics.unpacked, NUMBERS: _numbers}
