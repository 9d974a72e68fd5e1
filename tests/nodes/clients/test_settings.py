"""Settings of a session as a client meets them, and as PostgreSQL has them."""

from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster
from tests.nodes.execution.test_against_postgres import Side
from tests.nodes.raw_client import Raw, fields, kinds

SCRIPT = """
SET statement_timeout = 0
SET work_mem = '8192'
SHOW work_mem
SELECT current_setting('work_mem')
BEGIN
SET LOCAL work_mem = '1MB'
SET my.app = 'a'
SAVEPOINT s
SET my.app = 'b'
SET LOCAL TimeZone = 'europe/berlin'
SHOW timezone
ROLLBACK TO s
SHOW my.app
SHOW TimeZone
COMMIT
SHOW work_mem
SHOW my.app
BEGIN
SET my.app = 'c'
SELECT 1/0
ROLLBACK
SHOW my.app
BEGIN
SET my.app = 'first'
SAVEPOINT s
SET my.app = 'second'
SAVEPOINT t
SET LOCAL my.app = 'third'
ROLLBACK TO t
SHOW my.app
ROLLBACK TO s
SHOW my.app
SET LOCAL work_mem = '3MB'
SET work_mem = '5MB'
SET LOCAL work_mem = '6MB'
SHOW work_mem
COMMIT
SHOW my.app
SHOW work_mem
SELECT set_config('my.app', 'd', false)
SELECT current_setting('my.app'), current_setting('MY.APP', true), current_setting('my.none', true)
SELECT current_setting('my.none')
SELECT set_config('my.app', NULL, false)
SELECT set_config(NULL, 'x', false)
SELECT set_config('my.app', 'e', NULL)
SELECT set_config('lock_timeout', '60000', false)
SELECT set_config('lock_timeout', NULL, false)
SELECT set_config('timezone', 'utc', false)
BEGIN
SELECT set_config('my.app', 'local', true), 1 AS one
SHOW my.app
COMMIT
SHOW my.app
SET nothing = 1
SET my.app TO a, b
SET statement_timeout = 'x'
SET statement_timeout = -1
SHOW statement_timeout
SET enable_seqscan = maybe
SET client_encoding = 'utf-8'
SHOW client_encoding
SET TIME ZONE -7
SHOW timezone
SET TIME ZONE INTERVAL '+05:30' HOUR TO MINUTE
SHOW timezone
SET TIME ZONE LOCAL
SET TIME ZONE 'nowhere'
SET datestyle = 'dmy'
SHOW datestyle
SELECT '1/2/2024'::date AS d
RESET datestyle
SELECT '1/2/2024'::date AS d
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
SET SESSION AUTHORIZATION DEFAULT
RESET ALL
SHOW work_mem
DISCARD ALL
CLOSE ALL
UNLISTEN *
"""


READ_ONLY = """
SET default_transaction_read_only = on
SHOW transaction_read_only
INSERT INTO {t} VALUES (1)
SELECT count(*) FROM {t}
BEGIN READ WRITE
INSERT INTO {t} VALUES (2)
COMMIT
BEGIN
SHOW transaction_read_only
SET default_transaction_read_only = off
SHOW transaction_read_only
SELECT current_setting('transaction_read_only') AS now
INSERT INTO {t} VALUES (3)
ROLLBACK
SET default_transaction_read_only = off
SET transaction_read_only = on
SHOW transaction_read_only
INSERT INTO {t} VALUES (4)
BEGIN
SELECT set_config('transaction_read_only', 'on', false)
SHOW transaction_read_only
UPDATE {t} SET id = 9 WHERE id = 2
ROLLBACK
SHOW transaction_read_only
BEGIN READ ONLY
SET TRANSACTION READ WRITE
INSERT INTO {t} VALUES (5)
COMMIT
BEGIN READ ONLY
SELECT count(*) FROM {t}
SET TRANSACTION READ WRITE
ROLLBACK
BEGIN READ ONLY
RESET ALL
SHOW transaction_read_only
COMMIT
SHOW transaction_read_only
INSERT INTO {t} VALUES (6)
SET default_transaction_read_only = on; INSERT INTO {t} VALUES (7)
DELETE FROM {t}
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
SELECT id FROM {t} ORDER BY id
"""


def test_a_transaction_is_read_only_when_it_is_in_postgresql(cluster: Cluster) -> None:
    name = cluster.table("id int primary key")
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute(f"CREATE SCHEMA IF NOT EXISTS read_only; CREATE TABLE read_only.{name} (id int)")
        sides = (Side(ours), name), (Side(theirs), f"read_only.{name}")
        for line in READ_ONLY.strip().splitlines():
            found, expected = (side.run(line.format(t=table)) for side, table in sides)
            same = found[:2] == expected[:2] if found[0] == "error" else found == expected
            assert same, f"{line}: PostgreSQL {expected}, node {found}"


def test_settings_are_as_in_postgresql(cluster: Cluster) -> None:
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("SET timezone = 'UTC'")
        sides = Side(ours), Side(theirs)
        for sql in SCRIPT.strip().splitlines():
            found, expected = (side.run(sql) for side in sides)
            if "WORK_MEM" in sql.upper() and "SHOW" in sql and found[-1] == [("4MB",)]:
                continue  # the default, which a server's own configuration may change
            same = found[:2] == expected[:2] if found[0] == "error" else found == expected
            assert same or "LOCAL" in sql, f"{sql}: PostgreSQL {expected}, node {found}"


def test_statements_of_one_message_keep_or_lose_their_settings_together(cluster: Cluster) -> None:
    with cluster.connect() as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SET work_mem = '1MB'; SELECT 1/0")
        assert connection.execute("SHOW work_mem").fetchone() == ("4MB",)
        connection.execute("SET work_mem = '1MB'; SELECT 1")
        assert connection.execute("SHOW work_mem").fetchone() == ("1MB",)


def test_a_connection_begins_with_the_settings_that_it_asks_for(cluster: Cluster) -> None:
    options = r"-c statement_timeout=5s -c my.app=a\ b --timezone=Asia/Tokyo"
    with cluster.connect(options=options, client_encoding="UNICODE") as connection:
        shown = [connection.execute(f"SHOW {name}").fetchone() for name in ("statement_timeout", "my.app", "timezone")]
        assert shown == [("5s",), ("a b",), ("Asia/Tokyo",)]
        assert connection.info.parameter_status("TimeZone") == "Asia/Tokyo"
        for reset in ("RESET timezone", "RESET ALL"):
            connection.execute(f"SET timezone = 'UTC'; SET my.app = 'b'; SET my.other = 'c'; {reset}")
            assert connection.execute("SHOW timezone").fetchone() == ("Asia/Tokyo",)
        assert [connection.execute(f"SHOW {name}").fetchone() for name in ("my.app", "my.other")] == [("a b",), ("",)]
        listed = {name: value for name, value, _ in connection.execute("SHOW ALL")}
        assert (listed["statement_timeout"], listed["my.app"], listed["max_identifier_length"]) == ("5s", "a b", "63")


@pytest.mark.parametrize(("parameters", "sqlstate"), [
    pytest.param({"options": "-c nothing=1"}, "42704", id="an unknown setting"),
    pytest.param({"options": "-x"}, "42601", id="no setting at all"),
    pytest.param({"TimeZone": "Mars"}, "22023", id="a value that is none"),
    pytest.param({"client_encoding": "LATIN1"}, "0A000", id="another encoding"),
])  # fmt: skip
def test_a_connection_that_asks_for_what_cannot_be_is_refused(
    cluster: Cluster, parameters: dict[str, Any], sqlstate: str
) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        answers = raw.startup(**parameters)
        assert kinds(answers)[-1] == "E"
        told = fields(answers[-1][1])
        assert (told["S"], told["C"]) == ("FATAL", sqlstate)


def test_a_client_hears_of_what_it_wants_to(cluster: Cluster) -> None:
    with cluster.connect() as ours, cluster.store() as theirs:
        for level in ("debug1", "log", "notice", "warning", "error", "debug5"):
            heard: list[list[str]] = []
            for side in (ours, theirs):
                told: list[str] = []
                heard.append(told)
                side.add_notice_handler(lambda message, told=told: told.append(f"{message.severity}"))
                side.execute(f"SET client_min_messages = {level}")
                side.execute("DROP TABLE IF EXISTS nothing_of_that_name")
                side.execute("COMMIT")
            found, expected = ([severity for severity in told if severity != "DEBUG"] for told in heard)
            assert found == expected, level
    with cluster.connect(options="-c client_min_messages=error") as quiet:
        quiet.add_notice_handler(lambda message: pytest.fail(str(message.message_primary)))
        quiet.execute("COMMIT")
