"""Texts that nest too deeply never reach the C parser, which would end the process; those that only look so do."""

from typing import Any

import postgast
import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st

from changes.ddl.errors import DdlError
from changes.ddl.statements import parse as parse_ddl
from expressions import grammar
from expressions.errors import SqlError
from expressions.rows import parsed
from nodes.sql.statements import parse as parse_statements
from tests.rounds import drawn

TIMES = 5_000
CHAINS = {
    "operators": ("SELECT 1", "+1"),
    "casts": ("SELECT 1", "::int"),
    "joined text": ("SELECT ''", "||''"),
    "null tests": ("SELECT 1", " IS NULL"),
    "null tests in one word": ("SELECT 1", " ISNULL"),
    "collations": ("SELECT ''", ' COLLATE "C"'),
    "time zones": ("SELECT a", " AT TIME ZONE 'x'"),
    "named operators": ("SELECT 1", " OPERATOR(pg_catalog.+) 1"),
    "lists": ("SELECT a", " IS NULL IN (1)"),
    "patterns": ("SELECT a", " IS NULL LIKE b"),
    "ranges": ("SELECT a", " BETWEEN 1 AND 2 IS NULL"),
    "set operations": ("SELECT 1, 2", " UNION SELECT 1, 2"),
    "joins": ("SELECT 1 FROM a", " JOIN a ON x AND y"),
    "other joins": ("SELECT 1 FROM a", " NATURAL JOIN a"),
    "columns named like key words": ("SELECT 1", "+a.and+a.case+a.end+a.or"),
    "behind comments": ("SELECT 1", "+/* a, b */a.--x, y\nand"),
    "behind quotes": ("SELECT ''", "||E'\\',\\''||$a$,$$,$a$||\",\""),
    "cases": ("SELECT 1", " + CASE WHEN a THEN b ELSE c END"),
    "joins behind numbers that end with a point": ("SELECT 1 FROM a", " JOIN a ON 1."),
    "joins behind numbers with a point inside": ("SELECT 1 FROM a", " JOIN a ON 1_0.5"),
    "joins behind numbers that begin with a point": ("SELECT 1 FROM a", " JOIN a ON .5"),
    "time zones that are numbers": ("SELECT a", " AT TIME ZONE 1."),
    "named operators before numbers": ("SELECT 1", " OPERATOR(+) 1."),
    "cases with fields named like their end": ("SELECT 1", " + CASE WHEN $1.end THEN ٣.end ELSE 1"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_text_that_would_end_the_process_is_refused_instead(name: str) -> None:
    start, link = CHAINS[name]
    text = start + link * TIMES
    with pytest.raises(SqlError, match="nested too deeply"):
        grammar.refuse_greedy(text)
    with pytest.raises(SqlError, match="nested too deeply") as caught:
        parse_statements(text)
    assert caught.value.sqlstate == "54001"


def test_every_way_to_the_parser_is_guarded() -> None:
    deep = "1" + "+1" * TIMES
    with pytest.raises(SqlError, match="nested too deeply"):
        parsed(deep)  # defaults, checks, predicates, type changes
    for ddl in (f"CREATE TABLE t (id int PRIMARY KEY, v int DEFAULT {deep})", f"CREATE INDEX i ON t (a) WHERE {deep}"):
        with pytest.raises(DdlError, match="nested too deeply") as caught:
            parse_ddl(ddl)
        assert caught.value.sqlstate == "54001"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("SELECT 1 FROM t WHERE " + " OR ".join(f"id = {i}" for i in range(5000)), id="alternatives"),
        pytest.param("SELECT CASE " + " ".join(f"WHEN a = {i} THEN {i}" for i in range(5000)) + " END", id="one case"),
        pytest.param("SELECT 1 FROM t WHERE id IN (" + ", ".join(map(str, range(20_000))) + ")", id="a list"),
        pytest.param("INSERT INTO t VALUES " + ", ".join(f"({i}, 'x{i} + +', -{i})" for i in range(5000)), id="rows"),
        pytest.param("SELECT 1;" * 5000, id="statements"),
        pytest.param("SELECT '" + "+(" * 5000 + "' /* " + "+(" * 5000 + "*/", id="text and comments"),
    ],
)
def test_what_is_long_and_flat_is_read(text: str) -> None:
    assert grammar.parse(text).stmts


def test_what_is_too_long_or_too_rich_is_refused() -> None:
    with pytest.raises(SqlError, match="the limit is 1048576") as caught:
        grammar.parse("SELECT '" + "é" * (grammar.TEXT_BYTES_MAX // 2) + "'")
    assert caught.value.sqlstate == "54000"
    with pytest.raises(SqlError, match="lists more than 200000 items"):
        grammar.parse("SELECT 1" + ",1" * 400_000)


LINKS = st.sampled_from(
    [
        *(link for _, link in CHAINS.values()), " AND b", " OR b", ", b", " = b", " <= b", " NOT IN (1, 2)", "[1]",
        " + (b", ")", " || f(a, ", " + CASE b WHEN 1 THEN", " END", " ELSE", " WHEN", "/* ( */", "--(\n", " * - ",
        " IS DISTINCT FROM b", " NOT BETWEEN SYMMETRIC a AND", " + $$(,$$", " AS x", " FROM a", " ORDER BY a", " WHERE",
        " + (SELECT 1", " EXCEPT ALL SELECT", " || U&'\\0061'", " + a.b",
        " + $1.end", " + .5", " AS case", " AS end", " AS and",
    ]
)  # fmt: skip


@drawn(few=25, many=100)
@given(st.sampled_from([start for start, _ in CHAINS.values()]), st.lists(LINKS, min_size=1, max_size=5), LINKS)
@example("SELECT 1", [" AS case UNION SELECT a"], ")")
def test_no_tree_is_deeper_than_was_counted(start: str, links: list[str], last: str) -> None:
    """Of what the parser accepts. One level that is counted may be a few of the tree's: a subquery, a CASE."""
    for times in (25, 6):
        text = start + "".join(links) * times + last
        try:
            tree = postgast.parse(text)
        except (postgast.PgQueryError, DecodeError):
            continue
        assert _depth(tree) <= 8 * grammar.measured(text)[0] + 14, text


def _depth(message: Any) -> int:
    inner = [
        _depth(child)
        for field, value in message.ListFields()
        if field.message_type is not None
        for child in (value if field.is_repeated else (value,))
    ]
    return 1 + max(inner, default=0)
