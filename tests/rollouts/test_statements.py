"""Statements one after another, by the model and by a PostgreSQL: the same SQLSTATEs, answers and rows."""

import time
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
DELETE FROM t WHERE id = 9 AND b = 'z'
SELECT id FROM t WHERE id = 9 AND b IN (1, 'z')
DELETE FROM t; UPDATE t SET a = 'q' WHERE 'z' < b
DELETE FROM t; SELECT id FROM t WHERE b BETWEEN '1' AND 'z'
DELETE FROM t; SELECT id FROM t WHERE a = 'z'
SELECT nullif(a, '') AS n FROM t WHERE b = 5.0
"""
OF_VALUES = """
ALTER TABLE t ADD u uuid; UPDATE t SET u = 'x'
ALTER TABLE t ADD u uuid; UPDATE t SET u = '0000000000000000000000000000000A'; SELECT u::text AS u FROM t
ALTER TABLE t ADD u uuid; UPDATE t SET u = '{00000000-0000-0000-0000-00000000000a}'; SELECT u::text AS u FROM t
ALTER TABLE t ADD u uuid; UPDATE t SET u = '{00000000-0000-0000-0000-00000000000a'
ALTER TABLE t ADD u uuid; UPDATE t SET u = '0000-0000-0000-0000-0000-0000-0000-000a'; SELECT u::text AS u FROM t
ALTER TABLE t ADD u uuid; UPDATE t SET u = '00-000000-0000-0000-0000-00000000000a'
ALTER TABLE t ADD u uuid; SELECT id FROM t WHERE u = 'x'
ALTER TABLE t ADD j jsonb; UPDATE t SET j = '{"a": 1'
ALTER TABLE t ADD j jsonb; UPDATE t SET j = 'NaN'
ALTER TABLE t ADD j json; UPDATE t SET j = '7'; SELECT id FROM t WHERE j::text = '7'
ALTER TABLE t ADD j json; UPDATE t SET j = a::json
SELECT floor(-2.5) AS x FROM t
SELECT floor(2.5) AS x FROM t
SELECT concat(a, b = 5, b = 6, NULL) AS x FROM t
SELECT id FROM t WHERE 'a%b' LIKE 'a\\%b'
SELECT id FROM t WHERE 'aXb' LIKE 'a\\%b'
SELECT '1e3'::numeric AS x FROM t
SELECT round(25.5, -1) AS x FROM t
SELECT 'y'::bool AS x FROM t
SELECT 'tru'::bool AS x FROM t
SELECT 'of'::bool AS x FROM t
SELECT 'o'::bool AS x FROM t
SELECT '1e400'::float8 AS x FROM t
ALTER TABLE t ADD COLUMN f float8; UPDATE t SET f = 1e400
ALTER TABLE t ADD COLUMN d date DEFAULT '2020-01-02'; SELECT id FROM t WHERE d > '2020-01-01'
ALTER TABLE t ADD COLUMN d date; UPDATE t SET d = '2020-02-30'
"""
OF_DEFINITIONS = """
ALTER TABLE t ALTER id DROP NOT NULL
ALTER TABLE t ALTER a TYPE int
ALTER TABLE t ALTER a TYPE int USING a::int
ALTER TABLE t ALTER b TYPE text
UPDATE t SET b='z'
SELECT id FROM t WHERE a=5
SELECT id FROM t WHERE b='5'
SELECT id FROM t WHERE b='z'
DROP INDEX nope
DROP INDEX IF EXISTS nope
DROP TABLE nope
DROP TABLE IF EXISTS nope
DROP INDEX t_pkey
DROP TABLE t; SELECT id FROM t
CREATE UNIQUE INDEX u ON t(a); DROP INDEX u; INSERT INTO t VALUES(2,'x',1)
CREATE INDEX i ON t(a); CREATE INDEX i ON t(b)
CREATE INDEX i ON t(a); DROP INDEX i
CREATE UNIQUE INDEX u ON t(a); CREATE UNIQUE INDEX u ON t(b)
CREATE UNIQUE INDEX IF NOT EXISTS t_pkey ON t(b)
CREATE UNIQUE INDEX u ON t(a); CREATE UNIQUE INDEX IF NOT EXISTS u ON t(a)
CREATE INDEX IF NOT EXISTS u ON t(nope)
CREATE UNIQUE INDEX u ON t(a) WHERE b>0; ALTER TABLE t DROP COLUMN b; INSERT INTO t VALUES (2,'x')
ALTER TABLE t ADD CHECK (b>0 OR a='q'); ALTER TABLE t DROP COLUMN b; INSERT INTO t VALUES (2,'x')
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b+1) STORED; ALTER TABLE t DROP COLUMN b
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b+1) STORED; \
ALTER TABLE t DROP COLUMN b CASCADE; \
INSERT INTO t VALUES (2,'x')
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b+1) STORED; ALTER TABLE t ALTER b TYPE bigint
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b+1) STORED; ALTER TABLE t ALTER g SET DEFAULT 5
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b+1) STORED; ALTER TABLE t RENAME b TO c; UPDATE t SET c=9
ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (b+1); UPDATE t SET b=9
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); INSERT INTO c VALUES (1,1); DELETE FROM t
CREATE TABLE c (id bigint PRIMARY KEY, tid text REFERENCES t)
CREATE TABLE c (id bigint PRIMARY KEY, tid int REFERENCES t); INSERT INTO c VALUES (1,1)
ALTER TABLE t ADD UNIQUE(a); \
CREATE TABLE c (id bigint PRIMARY KEY, ta text REFERENCES t(a)); \
INSERT INTO c VALUES (1,'x'); \
UPDATE t SET a='y'
ALTER TABLE t ADD CONSTRAINT u UNIQUE(a); \
CREATE TABLE c (id bigint PRIMARY KEY, ta text REFERENCES t(a)); \
ALTER TABLE t DROP CONSTRAINT u
CREATE UNIQUE INDEX u ON t(a); CREATE TABLE c (id bigint PRIMARY KEY, ta text REFERENCES t(a)); DROP INDEX u
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); ALTER TABLE t DROP CONSTRAINT t_pkey
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); \
ALTER TABLE t DROP CONSTRAINT t_pkey CASCADE; \
INSERT INTO c VALUES(1,9)
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); ALTER TABLE t DROP COLUMN id
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); \
ALTER TABLE t DROP COLUMN id CASCADE; \
INSERT INTO c VALUES(1,9)
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); DROP TABLE t
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); DROP TABLE t CASCADE; INSERT INTO c VALUES(1,9)
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); \
ALTER TABLE t RENAME id TO nid; \
INSERT INTO c VALUES (1,1); \
INSERT INTO c VALUES (2,9); \
DELETE FROM t
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t); \
ALTER TABLE t RENAME TO t2; \
INSERT INTO c VALUES (1,1); \
INSERT INTO c VALUES (2,9); \
DELETE FROM t2
CREATE TABLE s (id bigint PRIMARY KEY, p bigint REFERENCES s); INSERT INTO s VALUES(1,1); DELETE FROM s WHERE id=1
CREATE TABLE s (id bigint PRIMARY KEY, p bigint REFERENCES s); \
INSERT INTO s VALUES(1,NULL); \
INSERT INTO s VALUES (2,1); \
DELETE FROM s
CREATE TABLE s (id bigint PRIMARY KEY, p bigint REFERENCES s); \
ALTER TABLE s RENAME id TO nid; \
INSERT INTO s VALUES (1,1)
CREATE TABLE s (id bigint PRIMARY KEY, p bigint REFERENCES s); ALTER TABLE s RENAME TO s2; INSERT INTO s2 VALUES (1,1)
CREATE TABLE s (id bigint PRIMARY KEY, p bigint REFERENCES s); ALTER TABLE s DROP COLUMN id
CREATE TABLE s (id bigint PRIMARY KEY, p bigint REFERENCES s); INSERT INTO s VALUES (2,1),(1,2)
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint REFERENCES t ON DELETE SET NULL); \
INSERT INTO c VALUES (1,1); \
DELETE FROM t
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint NOT NULL REFERENCES t ON DELETE SET NULL); \
INSERT INTO c VALUES (1,1); \
DELETE FROM t
CREATE TABLE c (id bigint, x bigint, FOREIGN KEY (id,x) REFERENCES t (id) )
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint, CONSTRAINT f FOREIGN KEY (tid) REFERENCES t NOT VALID); \
INSERT INTO c VALUES (1,9)
CREATE TABLE c (id bigint PRIMARY KEY, tid bigint); \
INSERT INTO c VALUES (1,9); \
ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (tid) REFERENCES t NOT VALID; \
UPDATE c SET tid=9; \
UPDATE c SET tid=8
ALTER TABLE t ADD CONSTRAINT k CHECK (b>9) NOT VALID; UPDATE t SET a='u'
ALTER TABLE t ADD CONSTRAINT k CHECK (b>9) NOT VALID; ALTER TABLE t VALIDATE CONSTRAINT k
ALTER TABLE t ADD CONSTRAINT k CHECK (b>0); ALTER TABLE t ADD CONSTRAINT k UNIQUE (a)
ALTER TABLE t ADD CONSTRAINT k UNIQUE (a); ALTER TABLE t ADD CONSTRAINT k CHECK (b>0)
ALTER TABLE t ADD PRIMARY KEY (a)
ALTER TABLE t DROP CONSTRAINT t_pkey; INSERT INTO t(id) VALUES(NULL)
ALTER TABLE t DROP CONSTRAINT t_pkey; INSERT INTO t VALUES(1,'x',5)
ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (a)
CREATE UNIQUE INDEX u ON t(a); ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX u; DROP INDEX k
CREATE UNIQUE INDEX u ON t(a) WHERE b>0; ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX u
CREATE UNIQUE INDEX u ON t(lower(a)); ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX u
CREATE UNIQUE INDEX u ON t(a); ALTER TABLE t DROP CONSTRAINT u
ALTER TABLE t ADD CONSTRAINT k NOT NULL a; ALTER TABLE t DROP CONSTRAINT k; UPDATE t SET a=NULL
ALTER TABLE t DROP CONSTRAINT IF EXISTS nope
ALTER TABLE t ALTER a SET NOT NULL; ALTER TABLE t DROP CONSTRAINT t_a_not_null; UPDATE t SET a=NULL
ALTER TABLE t RENAME CONSTRAINT t_pkey TO pk; ALTER TABLE t DROP CONSTRAINT pk
ALTER INDEX t_pkey RENAME TO pk
CREATE UNIQUE INDEX u ON t(a); ALTER INDEX u RENAME TO v; DROP INDEX v; INSERT INTO t VALUES(2,'x',1)
CREATE UNIQUE INDEX u ON t(a); ALTER TABLE u RENAME TO v
CREATE TABLE q (id int, id int)
CREATE TABLE q (id int PRIMARY KEY, x int PRIMARY KEY)
CREATE TABLE q (id int PRIMARY KEY, x int DEFAULT 'a')
ALTER TABLE t ADD COLUMN x int DEFAULT 'a'
ALTER TABLE t ALTER b SET DEFAULT 'a'
ALTER TABLE t ALTER b SET DEFAULT 1.5; INSERT INTO t(id) VALUES(2)
ALTER TABLE t ADD COLUMN x int NOT NULL
DELETE FROM t; ALTER TABLE t ADD COLUMN x int NOT NULL
ALTER TABLE t ADD COLUMN IF NOT EXISTS a int
ALTER TABLE t ADD COLUMN x text UNIQUE DEFAULT 'd'
ALTER TABLE t ADD COLUMN x text UNIQUE DEFAULT 'd'; INSERT INTO t(id) VALUES(2)
ALTER TABLE t ADD COLUMN x int CHECK (x>0) DEFAULT 0
ALTER TABLE t ADD COLUMN x bigint REFERENCES t DEFAULT 9
ALTER TABLE t ALTER b TYPE smallint
UPDATE t SET b=99999; ALTER TABLE t ALTER b TYPE smallint
ALTER TABLE t ALTER b SET DEFAULT 70000; ALTER TABLE t ALTER b TYPE smallint
ALTER TABLE t ALTER a SET DEFAULT 'q'; ALTER TABLE t ALTER a TYPE int USING 1
CREATE UNIQUE INDEX u ON t(lower(a)); ALTER TABLE t ALTER a TYPE int USING 1
ALTER TABLE t ALTER a TYPE varchar(3); UPDATE t SET a='abcd'
ALTER TABLE t ALTER b TYPE bool
ALTER TABLE t ALTER b TYPE bool USING b::bool
ALTER TABLE t ALTER b TYPE numeric(3,1)
ALTER TABLE t ALTER b TYPE date USING '2020-01-01'
ALTER TABLE t ALTER b TYPE bigint, ALTER b SET NOT NULL, ADD COLUMN z int DEFAULT 4
ALTER TABLE t DROP COLUMN a, ADD COLUMN a int DEFAULT 4
ALTER TABLE t RENAME a TO b
ALTER TABLE t RENAME nope TO c
ALTER TABLE nope RENAME TO c
ALTER TABLE IF EXISTS nope RENAME TO c
ALTER TABLE t RENAME TO t_pkey
CREATE TABLE t_pkey (id int)
CREATE UNIQUE INDEX t ON t(a)
SELECT t.a FROM t
SELECT x.a FROM t
SELECT x.a FROM t x
SELECT t.a FROM t x
UPDATE t SET a=t.a||'1' WHERE t.id=1
UPDATE t x SET a=t.a
INSERT INTO t AS x VALUES (1,'q',1) ON CONFLICT (id) DO UPDATE SET a=x.a||excluded.a
INSERT INTO t DEFAULT VALUES
DELETE FROM t RETURNING *
UPDATE t SET b=b+1 RETURNING b, a AS q
UPDATE t SET a = u.a
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


@pytest.mark.parametrize("case", [*cases(OF_STATEMENTS), *cases(OF_KINDS), *cases(OF_VALUES), *cases(OF_DEFINITIONS)])
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
        ("ALTER TABLE t ADD UNIQUE NULLS NOT DISTINCT (a)", "NULLS NOT DISTINCT is not modelled"),
        ("CREATE UNIQUE INDEX ON t (a) NULLS NOT DISTINCT", "NULLS NOT DISTINCT is not modelled"),
        ("ALTER TABLE t ADD UNIQUE (a) DEFERRABLE", "DEFERRABLE is not modelled"),
        ("ALTER TABLE t ADD CHECK (b > 9) NOT ENFORCED", "NOT ENFORCED is not modelled"),
        ("ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES t ON UPDATE CASCADE", "ON UPDATE CASCADE"),
        ("ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES t ON DELETE SET DEFAULT", "ON DELETE SET DEFAULT"),
        ("ALTER TABLE t ADD COLUMN n serial", "a number of a sequence is not modelled"),
        ("ALTER TABLE t ALTER a TYPE char(3)", "blanks behind a shorter value"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (lower(a)) DO NOTHING", "of ON CONFLICT columns alone are modelled"),
        ("INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET b = 1", "ON CONFLICT DO UPDATE names the columns"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET b = b + 1", r"write t\.b or excluded\.b"),
    ],
)
def test_what_was_not_understood_is_refused_by_name(text: str, advice: str) -> None:
    schema, contents = definition_of(START[0])({}, {})
    contents = applied(contents, execute(statement_of(START[1]), schema, contents, {}).writes)

    def done() -> object:
        if text.startswith(("CREATE", "ALTER")):
            return definition_of(text)(schema, contents)
        return execute(statement_of(text), schema, contents, {})

    with pytest.raises((NotModelled, BadStatement), match=advice):
        done()


def test_kinds_are_found_once_a_node() -> None:
    """A kind that was asked for twice at each level would double with each."""
    expression = "a"
    for _ in range(24):
        expression = f"nullif({expression}, 'z')"
    schema, contents = definition_of(START[0])({}, {})
    began = time.process_time()
    execute(statement_of(f"SELECT {expression} AS n FROM t"), schema, contents, {})
    assert time.process_time() - began < 1
