"""`manage.py leases` and `manage.py nodes`: what they print, and their exit codes."""

import json
import re
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from redis import Redis

from catalog.elements import Coordination
from leases.samples import Sample
from tests.leases.rows import Connection, leased, make_table, publish, users


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def refusal(*words: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as refused:
        run(*words)
    return refused.value.returncode, str(refused.value)


def test_leases_are_listed_with_the_version_they_lag_behind(
    database: Connection, publisher: Connection, node: None
) -> None:
    publish(publisher, users(2))
    (line,) = run("leases", "users").splitlines()
    assert re.fullmatch(r"users@1  n1  for (2\d\.\d|30\.0) s  \(newest: 2\)", line)


def test_leases_as_json(database: Connection, node: None) -> None:
    (lease,) = json.loads(run("leases", "--json"))
    assert {"table": "users", "version": 1, "node": "n1", "incarnation": 1}.items() <= lease.items()


def test_nothing_leased_is_stated(database: Connection, dsn: str) -> None:
    make_table(database)
    assert run("leases") == "nobody leases anything\n"
    assert run("leases", "users") == "nobody leases users\n"
    assert run("nodes") == "no node was ever started\n"
    assert json.loads(run("leases", "--json")) == json.loads(run("nodes", "--json")) == []


def test_a_table_without_leases_says_why_nobody_leases_it(
    database: Connection, publisher: Connection, node: None
) -> None:
    publish(publisher, replace(users(2), coordination=Coordination.HASH))
    database.execute("DELETE FROM leases_lease")
    database.execute("UPDATE catalog_table SET version = 2")
    assert run("leases", "users").splitlines() == [
        "nobody leases users",
        "users@2  has no leases (coordination = 'hash'): the storages accept v2 alone",
    ]


def test_revoking_from_the_command_line(database: Connection, node: None) -> None:
    assert run("leases", "revoke", "users", "n1") == "revoked users@1 from n1; sessions ended: 0\n"
    assert leased(database) == []
    assert refusal("leases", "revoke", "users", "n1") == (1, "cannot revoke: n1 has no lease on table users")


def test_nodes_are_listed_with_address_state_and_leases(database: Connection, node: None) -> None:
    assert run("nodes") == "n1  up  127.0.0.1:5433  leases users@1\n"
    (n1,) = json.loads(run("nodes", "--json"))
    assert {"name": "n1", "host": "127.0.0.1", "port": 5433, "state": "up", "incarnation": 1}.items() <= n1.items()
    assert n1["waits"] == {"long": 0, "longest_s": 0.0}


def test_what_waits_for_longer_than_a_lease_is_stated_of_its_node(
    database: Connection, node: None, redis_url: str
) -> None:
    with Redis.from_url(redis_url) as client:
        client.lpush("schemalab:samples:n1", Sample(5, 1.0, None, None, long_waits=2, longest_wait_s=45.2).to_text())
        try:
            assert run("nodes").endswith("  under way for longer than a lease: 2, the oldest for 45 s\n")
            (n1,) = json.loads(run("nodes", "--json"))
            assert n1["waits"] == {"long": 2, "longest_s": 45.2}
        finally:
            client.delete("schemalab:samples:n1")


@pytest.mark.parametrize(("words", "message"), [
    pytest.param(("leases", "orders"), "there is no table orders; known: users", id="an unknown table is named"),
    pytest.param(("leases", "revoke", "users", "n9"), "there is no node n9; known: n1", id="an unknown node is named"),
    pytest.param(("leases", "revoke", "users"), "usage: manage.py leases", id="revoke needs a node"),
    pytest.param(("leases", "revoke", "a", "b", "c"), "usage: manage.py leases", id="too many words"),
])  # fmt: skip
def test_bad_usage_exits_with_2_and_one_line(
    database: Connection, node: None, words: tuple[str, ...], message: str
) -> None:
    code, line = refusal(*words)
    assert code == 2
    assert line.startswith(message)
    assert "\n" not in line


def test_the_functions_can_be_taken_back_and_made_again(database: Connection, dsn: str, capsys: Any) -> None:
    call_command("migrate", "leases", "zero", verbosity=0)
    try:
        left = database.execute("SELECT proname FROM pg_proc WHERE proname ~ '^(lease|node)_'").fetchall()
        assert left == []
    finally:
        call_command("migrate", verbosity=0)
    call_command("makemigrations", "leases", check=True, dry_run=True, verbosity=0)
