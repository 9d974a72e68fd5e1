"""The allow list is what PostgreSQL has: no name too many, and none that a new PostgreSQL adds goes unseen."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from storage.reader import functions
from storage.reader.role import ALLOW_FUNCTIONS_SQL, ALLOWED_SQL, CLOSE_SQL, READER
from tests.storage.stage import Stage

REVIEWED = Path(__file__).with_name("immutable_functions_of_postgresql_18.txt")
WRITTEN = [*functions.STABLE, *functions.VOLATILE, *functions.IMMUTABLE_REFUSED]


def test_a_new_immutable_function_is_named_before_it_is_allowed(stage: Stage) -> None:
    """To review the names of a new PostgreSQL: which of them read a table, a file or what others do? Then add them."""
    allowed = stage.sql(f"SELECT DISTINCT split_part(signature, '(', 1) FROM ({ALLOWED_SQL}) AS f WHERE is_allowed")
    written = {signature.partition("(")[0] for signature in WRITTEN}
    reviewed = set(REVIEWED.read_text().split())
    assert {name for (name,) in allowed} - reviewed - written == set()


def test_each_signature_of_the_list_exists_once(stage: Stage) -> None:
    known = {signature for (signature,) in stage.sql(f"SELECT signature FROM ({ALLOWED_SQL}) AS f")}
    assert [signature for signature in WRITTEN if signature not in known] == []
    assert len(set(WRITTEN)) == len(WRITTEN)


def test_privileges_are_exactly_the_list(stage: Stage) -> None:
    differing = stage.sql(
        f"SELECT signature FROM ({ALLOWED_SQL}) AS f"
        f" WHERE is_allowed <> has_function_privilege('{READER}', oid, 'EXECUTE')"
    )
    assert differing == []


def test_a_privilege_that_was_given_away_is_taken_back(stage: Stage) -> None:
    with psycopg.connect(stage.dsn) as connection:
        connection.execute("GRANT EXECUTE ON FUNCTION pg_catalog.pg_ls_dir(text) TO PUBLIC")
        connection.execute(f"REVOKE EXECUTE ON FUNCTION pg_catalog.lower(text) FROM {READER}")
        connection.execute("GRANT SELECT ON pg_catalog.pg_class TO PUBLIC")
        connection.execute(ALLOW_FUNCTIONS_SQL)
        connection.execute(CLOSE_SQL)
        has = f"SELECT has_function_privilege('{READER}', %s, 'EXECUTE')"
        assert connection.execute(has, ["pg_ls_dir(text)"]).fetchone() == (False,)
        assert connection.execute(has, ["lower(text)"]).fetchone() == (True,)
        readable = connection.execute(f"SELECT has_table_privilege('{READER}', 'pg_class', 'SELECT')").fetchone()
        assert readable == (False,)
        connection.rollback()


COMMON = [
    "SELECT count(*), sum(x), avg(x), string_agg(x::text, ','), array_agg(x), max(x) FROM generate_series(1, 3) AS x",
    "SELECT now() > 'epoch', current_date + 1, age(now()), date_trunc('day', now()), extract(year FROM now())",
    "SELECT to_char(now(), 'YYYY'), to_char(1.5, '9.9'), to_date('2020', 'YYYY'), now() AT TIME ZONE 'Asia/Tokyo'",
    "SELECT '2020-01-02'::date < now(), now() + '1 day', now() - '1 day'::interval, now()::date, now()::timestamp",
    "SELECT 'a' || 1, format('%s', 1), concat('a', 1), lower('A'), substr('abc', 2), 'abc' LIKE 'a%', 'a' ~ '^a'",
    "SELECT to_jsonb(ROW(1)), jsonb_build_object('a', 1) -> 'a', '{\"a\": 1}'::jsonb @> '{}', json_agg(1)",
    "SELECT JSON_OBJECT('a': 1), JSON_ARRAY(1, 2), '[1]' IS JSON, jsonb_path_query_tz('[1]', '$[*]')",
    "SELECT random() < 1, gen_random_uuid() IS NOT NULL, clock_timestamp() > 'epoch', pg_typeof(1)::text",
    "SELECT 1 WHERE now()::date = '2020-01-02'::text::date OR '1'::text = 1::text OR '{1}'::int[]::text = 'a'",
    "SELECT CAST('(1,a)' AS text) || ROW(1, 'a') || DATE '2020-01-02' || '1', ARRAY[DATE '2020-01-02']::text",
    "SELECT rank() OVER (ORDER BY x), lag(x) OVER (ORDER BY x) FROM (VALUES (1), (2)) AS v (x)",
    "SELECT ARRAY[1, 2] || 3, array_to_string(ARRAY[1], ','), unnest(ARRAY[1]), 1 = ANY (ARRAY[1]), row(1) = row(1)",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x) FROM (VALUES (1)) v (x)",
    "CREATE TEMPORARY TABLE notes (x int PRIMARY KEY, y text DEFAULT 'a')",
]


@pytest.mark.parametrize("statement", COMMON)
def test_everyday_sql_runs_as_the_reader(reader: psycopg.Connection[Any], statement: str) -> None:
    reader.execute(statement)
