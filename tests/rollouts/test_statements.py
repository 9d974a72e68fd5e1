"""Statements one after another, by the model and by a PostgreSQL: the same SQLSTATEs, answers and rows."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from rollouts.statements.definitions import definition_of
from rollouts.statements.effects import execute
from rollouts.statements.errors import NotModelled, Refused
from rollouts.statements.reading import BadStatement, statement_of
from rollouts.statements.tables import Contents, Schema, applied
from tests.rollouts.server import words

START = ("CREATE TABLE t (id bigint PRIMARY KEY, a text, b int)", "INSERT INTO t VALUES (1, 'x', 5)")
OF_STATEMENTS = """
INSERT INTO t (id, a) VALUES (2)
INSERT INTO t (id, id) VALUES (2, 3)
INSERT INTO t (id, a) SELECT b AS id FROM t
INSERT INTO t VALUES (2)
UPDATE t SET a = '1', a = '2'
INSERT INTO t (id, a) VALUES (1, 'y') ON CONFLICT (a) DO NOTHING
INSERT INTO t (id, a) VALUES (2, 'y') ON CONFLICT (a) DO UPDATE SET b = 1
INSERT INTO t VALUES (2, 'a', 1), (2, 'b', 2) ON CONFLICT (id) DO UPDATE SET b = 9
INSERT INTO t VALUES (2, 'a', 1), (2, 'b', 2) ON CONFLICT (id) DO NOTHING
INSERT INTO t VALUES (1, 'q', 1) ON CONFLICT (id) DO UPDATE SET a = t.a || excluded.a WHERE t.b > 4 RETURNING a
CREATE UNIQUE INDEX u ON t (a); INSERT INTO t VALUES (2, 'x', 1) ON CONFLICT (id) DO NOTHING
CREATE UNIQUE INDEX u ON t (a); INSERT INTO t VALUES (2, 'x', 1) ON CONFLICT (a) DO UPDATE SET b = excluded.b
CREATE UNIQUE INDEX u ON t (a); DROP INDEX u; INSERT INTO t VALUES (2, 'x', 1) ON CONFLICT (a) DO NOTHING
CREATE UNIQUE INDEX u ON t (a) WHERE b > 0; INSERT INTO t (id, a) VALUES (2, 'y') ON CONFLICT (a) DO NOTHING
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b + 1) STORED; UPDATE t SET g = 2
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b + 1) STORED; INSERT INTO t (id, g) VALUES (2, 3)
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b + 1) STORED; INSERT INTO t VALUES (2, 's', 3, 4)
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b + 1) STORED; INSERT INTO t VALUES (2, 's', 3, DEFAULT)
SELECT id FROM t LIMIT 1
CREATE TABLE c (id int PRIMARY KEY, r bigint REFERENCES t ON DELETE CASCADE); \
CREATE TABLE d (id int PRIMARY KEY, r int REFERENCES c ON DELETE CASCADE); \
INSERT INTO c VALUES (1, 1); INSERT INTO d VALUES (1, 1); DELETE FROM t
"""
OF_KINDS = """
ALTER TABLE t ALTER b TYPE text; SELECT a FROM t WHERE b = 5
ALTER TABLE t ALTER b TYPE text; SELECT a FROM t WHERE b = '5'
ALTER TABLE t ALTER b TYPE text; SELECT a FROM t WHERE b IN (5, 6)
ALTER TABLE t ALTER b TYPE text; UPDATE t SET b = b + 1
UPDATE t SET b = a
UPDATE t SET a = b
UPDATE t SET b = '7'
UPDATE t SET b = a::int
UPDATE t SET a = b || a
UPDATE t SET a = b || b
UPDATE t SET a = lower(b)
UPDATE t SET b = length(a)
UPDATE t SET b = coalesce(a, b)
UPDATE t SET b = CASE WHEN a = 'x' THEN 1 ELSE 2 END
UPDATE t SET b = CASE WHEN a = 'x' THEN a ELSE b END
UPDATE t SET b = b > 4
INSERT INTO t (id, b) SELECT 2 AS id, a AS b FROM t
INSERT INTO t (id, a) SELECT 2 AS id, b AS a FROM t
INSERT INTO t VALUES (1, 'q', 1) ON CONFLICT (id) DO UPDATE SET b = excluded.a
INSERT INTO t VALUES (1, 'q', 1) ON CONFLICT (id) DO UPDATE SET a = excluded.b
SELECT id FROM t WHERE a = b
SELECT id FROM t WHERE b
SELECT id FROM t WHERE NOT a
SELECT id FROM t WHERE a IS TRUE
SELECT id FROM t WHERE b BETWEEN 1 AND 9
SELECT id FROM t WHERE a BETWEEN 1 AND 9
SELECT id FROM t WHERE b LIKE '5'
SELECT id FROM t WHERE a IS DISTINCT FROM b
SELECT nullif(a, '') AS n FROM t WHERE b = 5.0
"""


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        yield connection
        connection.execute("DROP SCHEMA IF EXISTS one_after_another CASCADE")


def by_model(texts: list[str]) -> tuple[list[Any], dict[str, Counter[Any]]]:
    schema: Schema = {}
    contents: Contents = {}
    answers: list[Any] = []
    for text in texts:
        answers.append("")
        try:
            if text.startswith(("CREATE", "ALTER", "DROP")):
                schema, contents = definition_of(text)(schema, contents)
                continue
            effect = execute(statement_of(text), schema, contents, {})
        except Refused as error:
            answers[-1] = error.code
            continue
        contents = applied(contents, effect.writes)
        answers[-1] = sorted(tuple(words(value) for _, value in row) for row in effect.answer) or ""
    return answers, {name: Counter(tuple(map(words, one)) for one in rows.values()) for name, rows in contents.items()}


def by_server(server: psycopg.Connection[Any], texts: list[str]) -> tuple[list[Any], dict[str, Counter[Any]]]:
    server.execute("DROP SCHEMA IF EXISTS one_after_another CASCADE")
    server.execute("CREATE SCHEMA one_after_another")
    server.execute("SET search_path = one_after_another")
    answers: list[Any] = []
    for text in texts:
        try:
            cursor = server.execute(text.encode())
            rows = cursor.fetchall() if cursor.description else []
            answers.append(sorted(tuple(map(words, row)) for row in rows) or "")
        except psycopg.Error as error:
            answers.append(error.sqlstate)
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'one_after_another'::regnamespace AND relkind = 'r'"
    found = {name: server.execute(f'SELECT * FROM "{name}"'.encode()) for (name,) in server.execute(tables).fetchall()}
    return answers, {name: Counter(tuple(map(words, row)) for row in rows) for name, rows in found.items()}


def cases(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


@pytest.mark.parametrize("case", [*cases(OF_STATEMENTS), *cases(OF_KINDS)])
def test_model_and_server_agree(server: psycopg.Connection[Any], case: str) -> None:
    texts = [*START, *(one.strip() for one in case.split(";"))]
    assert by_model(texts) == by_server(server, texts)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("SELECT a FROM t OFFSET 1", "OFFSET is not modelled"),
        ("SELECT a FROM t HAVING true", "HAVING is not modelled"),
        ("SELECT a FROM t LIMIT :n", "LIMIT takes a number"),
        ("SELECT a FROM t LIMIT 0", "a LIMIT that leaves rows out"),
        ("SELECT a FROM t FOR UPDATE SKIP LOCKED", "NOWAIT and SKIP LOCKED are not modelled"),
        ("SELECT a FROM other.t", "one schema is modelled: leave other out"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (lower(a)) DO NOTHING", "of ON CONFLICT columns alone are modelled"),
        ("INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET b = 1", "ON CONFLICT DO UPDATE names the columns"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET b = b + 1", r"write t\.b or excluded\.b"),
    ],
)
def test_what_was_not_understood_is_refused_by_name(text: str, advice: str) -> None:
    schema, contents = definition_of(START[0])({}, {})
    contents = applied(contents, execute(statement_of(START[1]), schema, contents, {}).writes)
    with pytest.raises((NotModelled, BadStatement), match=advice):
        execute(statement_of(text), schema, contents, {})
