"""The same statements on a node and on PostgreSQL give the same answers: rows, names, tags, codes, places. Each block
is a script that both run from empty tables."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster

FOLDER = Path(__file__).parents[1] / "statements"
TABLES, ROWS = ((FOLDER / name).read_text() for name in ("tables.setup", "rows.setup"))
SCRIPTS = sorted(FOLDER.glob("*.sql"))


class Side:
    """One of the two: runs a statement and says what came of it."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self.connection = connection

    def run(self, sql: str) -> tuple[Any, ...]:
        try:
            cursor = self.connection.execute(sql)
        except psycopg.Error as error:
            return ("error", error.sqlstate, error.diag.statement_position)
        result = cursor.pgresult
        assert result is not None
        tag = (result.command_status or b"").decode()
        if cursor.description is None:
            return ("done", tag)
        kinds = [result.ftype(i) for i in range(result.nfields)]
        rows = [
            tuple(self.shown(result.get_value(r, c), kinds[c]) for c in range(result.nfields))
            for r in range(result.ntuples)
        ]
        ordered = rows if "order by" in sql.lower() else sorted(rows, key=repr)
        return ("rows", tag, [d.name for d in cursor.description], ordered)

    def shown(self, value: bytes | None, kind: int) -> Any:
        """Reals and doubles are compared as far as their sums, whose order is free, are the same."""
        if value is None:
            return None
        if kind in (700, 701):
            return f"{float(value):.12g}"
        return value.decode()


def agree(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """The same answer; a node may point at a place where PostgreSQL does not."""
    if ours[0] == theirs[0] == "error" and theirs[2] is None:
        return bool(ours[1] == theirs[1])
    return ours == theirs


@pytest.fixture
def sides(cluster: Cluster) -> Iterator[tuple[Side, Side]]:
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("DROP SCHEMA IF EXISTS reference CASCADE")
        theirs.execute("CREATE SCHEMA reference")
        theirs.execute("SET search_path = reference")
        theirs.execute(TABLES)
        for sql in split(ROWS):
            theirs.execute(sql)
        make_tables(ours)
        yield Side(ours), Side(theirs)


def make_tables(ours: "psycopg.Connection[Any]") -> None:
    """The tables stay from test to test; their rows are new, by one message."""
    made = {sql.split()[2]: sql for sql in split(TABLES)}
    rows = ";".join([*(f"DELETE FROM {name}" for name in made), *split(ROWS)])
    try:
        ours.execute(rows)
    except psycopg.errors.UndefinedTable:
        for sql in made.values():
            with ours.transaction():
                ours.execute(sql.replace("TABLE ", "TABLE IF NOT EXISTS ", 1))
        ours.execute(rows)


def split(script: str) -> list[str]:
    """The statements of a script: each ends with a semicolon at the end of a line."""
    return [s.strip() for s in re.split(r";\s*\n", script + "\n") if s.strip()]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem.replace("_", " "))
def test_a_node_answers_as_postgresql_does(sides: tuple[Side, Side], script: Path) -> None:
    ours, theirs = sides
    differences = []
    for sql in split(script.read_text()):
        text = "\n".join(line for line in sql.splitlines() if not line.startswith("--")).strip()
        expected, found = theirs.run(text), ours.run(text)
        if not agree(found, expected):
            differences.append(f"{text}\n  PostgreSQL: {expected}\n  node:       {found}")
    assert not differences, "\n\n".join(differences)
