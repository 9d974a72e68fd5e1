"""What a node tells of a statement to a client that asked: versions, tries, pairs, what is hidden, what stays open."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from catalog.elements import Index, IndexColumn, IndexId, State
from nodes.trace.record import SQLSTATE
from nodes.trace.writes import KEYS_MAX
from tests.nodes.conftest import Cluster
from tests.nodes.linked_tables import link

Json = dict[str, Any]


class Traced:
    """A session that has asked, and the traces it got."""

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        self.traces: list[Json] = []
        self.connection = cluster.connect(options="-c schemalab.trace=on", **options)
        self.connection.add_notice_handler(self._heard)

    def _heard(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.sqlstate == SQLSTATE:
            self.traces.append(json.loads(notice.message_detail or ""))

    def __call__(self, sql: str) -> Json:
        """Run one statement; its trace."""
        self.traces.clear()
        self.connection.execute(sql)  # type: ignore[call-overload]
        [trace] = self.traces
        return dict(trace)

    def refused(self, sql: str) -> Json:
        with pytest.raises(psycopg.Error):
            self(sql)
        [trace] = self.traces
        return dict(trace)


@pytest.fixture
def traced(cluster: Cluster) -> Traced:
    return Traced(cluster)


def signs(trace: Json) -> list[str]:
    return sorted(f"{pair['sign']} {pair['of']} {pair['name']}" for pair in trace["pairs"])


def test_nobody_is_told_who_did_not_ask(cluster: Cluster) -> None:
    heard: list[str | None] = []
    with cluster.connect() as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.sqlstate))
        connection.execute("SELECT 1")
    assert heard == []


def test_writes_say_which_pairs_they_changed_and_commit(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY, note text")
    put = traced(f"INSERT INTO {name} VALUES (1, 'tea')")
    assert signs(put) == ["+ column note", f"+ row {name}"]
    assert [(one["name"], one["version"]) for one in put["tables"]] == [(name, 1)]
    assert [step["do"] for step in put["steps"]][-2:] == ["plan", "write"]
    changed = traced(f"UPDATE {name} SET note = 'coffee'")
    assert signs(changed) == ["~ column note"]
    assert (changed["pairs"][0]["was"], changed["pairs"][0]["says"]) == ("tea", "coffee")
    assert signs(traced(f"UPDATE {name} SET note = 'coffee'")) == []
    with cluster.connect() as other:
        assert other.execute(f"SELECT note FROM {name}").fetchall() == [("coffee",)]
    assert signs(traced(f"DELETE FROM {name}")) == ["- column note", f"- row {name}"]


def test_a_statement_that_is_refused_is_told_too(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY")
    traced(f"INSERT INTO {name} VALUES (1)")
    refused = traced.refused(f"INSERT INTO {name} VALUES (1)")
    assert (refused["kind"], refused["pairs"]) == ("insert", [])
    assert traced.refused("SELECT * FROM nothing_of_that_name")["steps"][0]["do"] == "reload"


def test_each_of_several_statements_is_told_in_order(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY")
    traced.connection.execute(f"BEGIN; INSERT INTO {name} VALUES (1); SELECT * FROM {name}; COMMIT")
    assert [trace["kind"] for trace in traced.traces] == ["transaction", "insert", "select", "transaction"]
    assert [trace["sql"] for trace in traced.traces][0::3] == ["BEGIN", "COMMIT"]
    assert [trace["transaction"]["status"] for trace in traced.traces] == ["open", "open", "open", "idle"]


def test_an_open_transaction_says_since_when_and_what_it_uses(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY")
    assert traced("BEGIN")["transaction"]["tables"] == []
    read = traced(f"SELECT * FROM {name}")["transaction"]
    assert [(one["name"], one["version"]) for one in read["tables"]] == [(name, 1)]
    assert not read["has_written"]
    wrote = traced(f"INSERT INTO {name} VALUES (1)")["transaction"]
    assert wrote["has_written"]
    assert wrote["since"] == read["since"]
    assert traced.refused("SELECT nope")["transaction"]["status"] == "failed"
    assert traced("ROLLBACK")["transaction"]["status"] == "idle"


def test_an_index_on_its_way_is_written_and_may_not_be_used(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY, note text")
    base = cluster.descriptor(name)
    index = Index(IndexId(1), f"{name}_by_note", (IndexColumn(base.column_named("note").id),), state=State.DELETE_ONLY)
    first = base.with_index(index)
    cluster.publish(first)
    assert [one["does"] for one in traced(f"INSERT INTO {name} VALUES (1, 'tea')")["hidden"]] == ["-"]
    cluster.publish(first.with_index_state(IndexId(1), State.WRITE_ONLY, filling=True))
    put = traced(f"INSERT INTO {name} VALUES (2, 'tea')")
    assert f"+ index {name}_by_note" in signs(put)
    read = traced(f"SELECT id FROM {name} WHERE note = 'tea'")
    assert [one["name"] for one in read["scans"][0]["not_used"]] == [f"{name}_by_note"]
    assert read["scans"][0]["version"] == 3
    removed = traced(f"DELETE FROM {name} WHERE id = 2")
    [entry] = [pair for pair in removed["pairs"] if pair["of"] == "index"]
    assert (entry["sign"], entry["tombstone"]) == ("-", True)


def test_a_version_that_was_read_and_is_not_held_yet_says_so(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY")
    held = [step for step in traced(f"SELECT * FROM {name}")["steps"] if step["do"] == "lease"]
    again = [step for step in traced(f"SELECT * FROM {name}")["steps"] if step["do"] == "lease"]
    assert [step["version"] for step in held] == [1]
    assert [step["was_held"] for step in again] == [True]


def test_it_is_a_switch(traced: Traced) -> None:
    traced("SHOW schemalab.trace")
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        traced.connection.execute("SET schemalab.trace = maybe")
    traced.connection.execute("SET schemalab.trace = off")
    traced.traces.clear()
    traced.connection.execute("SELECT 1")
    assert traced.traces == []


def test_truncate_is_told_in_parts(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY")
    traced(f"INSERT INTO {name} VALUES {', '.join(f'({n})' for n in range(300))}")
    told = traced(f"TRUNCATE {name}")
    assert told["kind"] == "truncate"
    assert told["operations"] >= 300
    assert {pair["sign"] for pair in told["pairs"]} == {"-"}


def test_of_a_truncate_in_several_transactions_the_first_keys_are_told(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY")
    traced(f"INSERT INTO {name} VALUES {', '.join(f'({n})' for n in range(1100))}")
    told = traced(f"TRUNCATE {name}")
    assert len([step for step in told["steps"] if step["do"] == "write"]) > 1
    assert told["operations"] >= 1100
    assert (told["keys"], len(told["pairs"])) == (KEYS_MAX, KEYS_MAX)
    assert told["left_out"] == told["operations"] - KEYS_MAX


def test_a_statement_that_fails_after_its_writes_kept_no_pair(cluster: Cluster, traced: Traced) -> None:
    name, child = cluster.table("id bigint PRIMARY KEY"), cluster.table("id bigint PRIMARY KEY, owner bigint")
    link(cluster, child, "owner", name, "id")
    traced(f"INSERT INTO {name} VALUES (1), (2)")
    put = traced(f"INSERT INTO {child} VALUES (7, 1)")
    assert {one["name"] for one in put["tables"]} == {name, child}, "the row it refers to was looked for there"
    told = traced.refused(f"DELETE FROM {name}")
    assert "write" in [step["do"] for step in told["steps"]], "the references are searched after the write"
    assert (told["pairs"], told["operations"], told["keys"]) == ([], 0, 0)


def test_a_long_value_is_told_by_its_start(cluster: Cluster, traced: Traced) -> None:
    name = cluster.table("id bigint PRIMARY KEY, note text")
    traced(f"INSERT INTO {name} VALUES (1, repeat('x', 20000) || 'a')")
    changed = traced(f"UPDATE {name} SET note = repeat('x', 20000) || 'b'")
    [pair] = changed["pairs"]
    assert (pair["sign"], pair["name"]) == ("~", "note")
    assert pair["says"].startswith("xxx")
    assert len(pair["says"]) < 300
