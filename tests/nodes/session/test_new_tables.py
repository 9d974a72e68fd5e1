"""T9 when the store is in trouble: a table made in a transaction is freed or announced in the end."""

import asyncio
import dataclasses
import time
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import InternalError, OperationalError

from catalog.elements import TableId
from changes.planning.table_in_transaction import Remade, new_table
from changes.submission.new_tables import Reserved
from expressions.errors import SqlError
from nodes.context import Environment, TableOutcome
from nodes.session.database_thread import StoreDown
from nodes.session.schema.new_tables import NewTables, announce, announce_last
from tests.nodes.conftest import Cluster


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the cluster was told; `failures` is how often it cannot be told."""
    error = InternalError("terminating connection due to transaction timeout")
    said: dict[str, Any] = {"failures": 0, "error": error, "tries": 0, "freed": [], "announced": []}

    def tell(kind: str, table_id: int) -> None:
        said["tries"] += 1
        time.sleep(0.02)
        if said["tries"] <= said["failures"]:
            raise said["error"]
        said[kind].append(table_id)

    monkeypatch.setattr("changes.submission.new_tables.free_table", lambda table_id: tell("freed", table_id))
    monkeypatch.setattr(
        "changes.submission.new_tables.announce_table", lambda table_id, *, who: tell("announced", table_id)
    )
    monkeypatch.setattr("nodes.session.schema.new_tables.PAUSES_S", (0.01, 0.01, 0.0))
    monkeypatch.setattr("nodes.session.schema.new_tables.LATER_S", 0.05)
    return said


REFUSAL = """
CREATE FUNCTION not_now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
CREATE TRIGGER not_now BEFORE DELETE ON changes_reservation FOR EACH ROW EXECUTE FUNCTION not_now()
"""
PERMISSION = "DROP TRIGGER IF EXISTS not_now ON changes_reservation; DROP FUNCTION IF EXISTS not_now()"


def test_a_name_is_freed_in_the_end_although_its_session_has_gone(cluster: Cluster) -> None:
    """A store in trouble while the client leaves: nobody else knows of the name, and the node lives on."""
    with cluster.store() as store:
        store.execute(REFUSAL)
        try:
            client = cluster.connect()
            client.execute("BEGIN")
            client.execute("CREATE TABLE left_behind (id int PRIMARY KEY)")
            client.close()
            time.sleep(1.5)
            with cluster.connect() as other, pytest.raises(psycopg.errors.DuplicateTable):
                make_and_undo(other)
        finally:
            store.execute(PERMISSION)
    deadline = time.monotonic() + 20
    with cluster.connect() as other:
        while True:
            try:
                make_and_undo(other)
            except psycopg.errors.DuplicateTable:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            else:
                break


def make_and_undo(client: "psycopg.Connection[Any]") -> None:
    client.execute("BEGIN")
    try:
        client.execute("CREATE TABLE left_behind (id int PRIMARY KEY)")
    finally:
        client.execute("ROLLBACK")


def new_tables(*table_ids: int) -> NewTables:
    """Those that a session's transaction has made."""
    env = Environment("n1", 1, 2, 12, None, None, None)  # type: ignore[arg-type]
    made = NewTables(env, "me")
    made.tables = {f"t{n}": SimpleNamespace(table_id=n) for n in table_ids}  # type: ignore[misc]
    return made


@pytest.mark.parametrize(("committed", "kind"), [(True, "announced"), (False, "freed")])
def test_it_is_tried_again(told: dict[str, Any], committed: bool, kind: str) -> None:
    told["failures"] = 2
    asyncio.run(new_tables(7, 8).after_transaction(committed=committed))
    assert told[kind] == [7, 8]


@pytest.mark.parametrize(("committed", "kind"), [(True, "announced"), (False, "freed")])
def test_what_could_not_be_reported_is_reported_by_the_node(told: dict[str, Any], committed: bool, kind: str) -> None:
    """The client may be gone by then, and nobody else knows of the name."""
    told["failures"] = 7

    async def leave() -> None:
        made = new_tables(7, 8)
        await made.after_transaction(committed=committed)
        assert (told[kind], told["tries"], made.tables) == ([], 6, {})
        env = made.env
        while env.unannounced or env.is_announcing_later:
            await asyncio.sleep(0.01)

    asyncio.run(leave())
    assert told[kind] == [7, 8]


def test_a_mistake_of_ours_does_not_become_the_outcome(told: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """T7: what is committed is committed, whatever happens when the cluster is told."""
    told["failures"], told["error"] = 1, KeyError("a mistake")
    made = new_tables(7)

    async def commit() -> None:
        await made.after_transaction(committed=True)
        assert list(made.env.unannounced) == [7]
        while made.env.unannounced:
            await asyncio.sleep(0.01)

    asyncio.run(commit())
    assert told["announced"] == [7]
    assert "table 7 could not be announced" in caplog.text


def test_a_node_that_ends_tells_what_it_has_to_tell(told: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    told["failures"] = 8

    async def end(seconds_max: float) -> None:
        env = new_tables().env
        env.unannounced[7] = TableOutcome("me", has_committed=True)
        await announce_last(env, seconds_max)

    asyncio.run(end(60))
    assert told["announced"] == [7]
    told["failures"] = 1_000_000
    asyncio.run(end(0.2))
    assert "what became of new tables could not be announced: {7:" in caplog.text


def test_two_do_not_announce_the_same(told: dict[str, Any]) -> None:
    async def twice() -> None:
        env = new_tables().env
        env.unannounced[7] = TableOutcome("me", has_committed=True)
        await asyncio.gather(announce_last(env, 60), announce(env, [7]), announce(env, [7]))

    asyncio.run(twice())
    assert told["announced"] == [7]


@pytest.mark.parametrize("committed", [True, False])
def test_a_cancel_does_not_break_it_off(told: dict[str, Any], committed: bool) -> None:
    """T7: after COMMIT it comes too late to be told."""

    async def cancelled() -> bool:
        telling = asyncio.create_task(new_tables(7, 8).after_transaction(committed=committed))
        await asyncio.sleep(0.01)
        telling.cancel()
        await asyncio.wait([telling])
        return telling.cancelled()

    assert asyncio.run(cancelled()) != committed
    assert told["announced" if committed else "freed"] == [7, 8]


def test_a_name_is_freed_when_the_rows_of_another_table_could_not_be_rewritten(
    told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is taken by then, and the table is none that the transaction has."""

    def reserve(statement: Any, **_: Any) -> Reserved:
        made = new_table(statement.action, 9)
        return Reserved(9, statement.action, Remade((made, dataclasses.replace(made, table_id=TableId(7)))))

    async def refuse(*_: Any, **__: Any) -> None:
        raise SqlError("54000", "too many rows")

    monkeypatch.setattr("changes.submission.new_tables.reserve_table", reserve)
    monkeypatch.setattr("nodes.session.schema.new_tables.rewrite", refuse)
    made = new_tables(7)
    statement: Any = SimpleNamespace(text="CREATE TABLE t (id int PRIMARY KEY)", start=0)

    async def fail() -> None:
        transaction = made.env.begin()
        made.mark(1)
        with pytest.raises(SqlError):
            await made.change(statement, transaction)
        await made.return_to(1, transaction)
        assert told["freed"] == [9]
        with pytest.raises(SqlError):
            await made.change(statement, transaction)
        await made.after_transaction(committed=True)

    asyncio.run(fail())
    assert (told["freed"], told["announced"]) == ([9, 9], [7])


def test_a_name_is_freed_although_the_answer_that_took_it_was_lost(
    told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The COMMIT of the reservation is kept, its answer is not; the store is in trouble for a while."""
    taken: list[UUID] = []
    tries: list[UUID] = []

    def reserve(_: Any, *, token: UUID, **__: Any) -> Reserved:
        taken.append(token)
        raise OperationalError("server closed the connection unexpectedly")

    def free(token: UUID) -> list[int]:
        tries.append(token)
        if len(tries) < 3:
            raise told["error"]
        taken.remove(token)
        return [9]

    monkeypatch.setattr("changes.submission.new_tables.reserve_table", reserve)
    monkeypatch.setattr("changes.submission.new_tables.free_unanswered", free)
    made = new_tables()
    statement: Any = SimpleNamespace(text="CREATE TABLE t (id int PRIMARY KEY)", start=0)

    async def lose() -> None:
        with pytest.raises(StoreDown):
            await made.change(statement, made.env.begin())
        await made.after_transaction(committed=False)
        while taken:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(lose(), 20))
    assert len(tries) == 3


def test_a_name_that_was_being_taken_at_ctrl_c_is_freed(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def reserve(statement: Any, **_: Any) -> Reserved:
        time.sleep(0.1)
        return Reserved(9, statement.action, Remade((new_table(statement.action, 9),)))

    monkeypatch.setattr("changes.submission.new_tables.reserve_table", reserve)
    made = new_tables()
    statement: Any = SimpleNamespace(text="CREATE TABLE t (id int PRIMARY KEY)", start=0)

    async def cancelled() -> None:
        making = asyncio.create_task(made.change(statement, made.env.begin()))
        await asyncio.sleep(0.03)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        await made.after_transaction(committed=False)

    asyncio.run(cancelled())
    assert told["freed"] == [9]
