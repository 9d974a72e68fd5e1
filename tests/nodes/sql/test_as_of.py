"""A read as of an older time is refused by name (L15), wherever the grammar stumbles over it."""

import pytest

from expressions.errors import SqlError
from nodes.sql.statements import parse


@pytest.mark.parametrize(("sql", "name", "offset"), [
    ("SELECT * FROM t AS OF SYSTEM TIME '-10s'", "AS OF SYSTEM TIME", 22),
    ("SELECT 1 as  of\nsystem time follower_read_timestamp()", "AS OF SYSTEM TIME", 16),
    ("BEGIN AS OF SYSTEM TIME '-1s'", "AS OF SYSTEM TIME", 6),
    ("SELECT 'é'; SET TRANSACTION AS OF SYSTEM TIME '-1s'", "AS OF SYSTEM TIME", 29),
    ("SELECT * FROM t FOR SYSTEM_TIME AS OF now()", "FOR SYSTEM_TIME", 20),
])  # fmt: skip
def test_it_is_named_with_the_rule_and_the_place(sql: str, name: str, offset: int) -> None:
    with pytest.raises(SqlError) as refused:
        parse(sql)
    assert (refused.value.sqlstate, refused.value.message) == ("0A000", f"{name} is not supported")
    assert refused.value.offset == offset
    assert "(L15)" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "sql", ["SELECT 'AS OF SYSTEM TIME' FROM FROM t", "SELECT 1 AS OF x", "SELEC * FROM system_time"]
)
def test_other_syntax_errors_stay(sql: str) -> None:
    with pytest.raises(SqlError) as refused:
        parse(sql)
    assert refused.value.sqlstate == "42601"
