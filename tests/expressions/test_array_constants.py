"""A constant array is the same array in the query engine, whatever its texts hold."""

import datetime as dt
from typing import Any
from uuid import UUID

import duckdb
import pytest

from expressions.sqltypes import ARRAY_OF, BOOL, DATE, FLOAT8, INT4, INT8, TEXT, TIMESTAMP, Type
from expressions.sqltypes import UUID as UUID_TYPE
from expressions.values.array_constants import engine_array


@pytest.mark.parametrize(("of", "items"), [
    (INT4, [1, None, -(2**31)]), (INT8, [2**63 - 1, -(2**63)]), (BOOL, [True, False, None]), (INT4, []), (TEXT, []),
    (FLOAT8, [0.1, -0.0, 1e308, 5e-324, float("inf"), float("-inf"), None]),
    (DATE, [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    (TIMESTAMP, [dt.datetime.fromisoformat("2024-01-01 10:00:00.5"), None]), (UUID_TYPE, [UUID(int=1), None]),
    (TEXT, ["a", "", None]), (TEXT, ["NULL", None, "<1>"]), (TEXT, ["\x1f", "a, b", "'", '"', "\\", "{}"]),
    (TEXT, ["<", "1>", "\x1f\x1e, ", "<1"]), (TEXT, [None]), (TEXT, [""]), (TEXT, ["\x1f", "\x1f\x1f"]),
])  # fmt: skip
def test_the_engine_has_the_same_array(of: Type, items: list[Any]) -> None:
    found = duckdb.sql(f"SELECT {engine_array(items, ARRAY_OF[of])}, typeof({engine_array(items, ARRAY_OF[of])})")
    assert found.fetchall() == [(items, of.duck + "[]")]
