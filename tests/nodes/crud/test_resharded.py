"""Requests while a table's sharding function, and then its key, change: none fails, and each row is found once. In crud
such reads fail while routers and storages differ, old rows vanish from reads by key, `replace` doubles them."""

import itertools
import threading
from collections.abc import Callable

import psycopg
import pytest

from nodes.client import Crud, CrudError
from tests.nodes.conftest import Cluster
from tests.nodes.crud.test_stale_routers import BOTH, until_done

IDS = range(40)
CHANGES = ("sharding_func = 'mpcrc32'", "sharding_key = 'dest'", "sharding_key = 'id', sharding_func = 'strcrc32'")


@pytest.mark.usefixtures("worker")
def test_no_read_and_no_write_fails_while_sharding_function_and_key_change(cluster: Cluster):
    table = cluster.table(f"id int PRIMARY KEY, dest text, n int{BOTH}")
    stop, failures, done = threading.Event(), list[str](), [0, 0]

    def load(place: int, node: str, once: Callable[[Crud, int], str | None]) -> None:
        with Crud(cluster.address(node), timeout=60) as crud:
            for number in itertools.count():
                if stop.is_set():
                    return
                try:
                    wrong = once(crud, number % len(IDS))
                except CrudError as error:
                    wrong = str(error)
                failures.extend([wrong] if wrong else [])
                done[place] += 1

    def read(crud: Crud, row_id: int) -> str | None:
        (found,) = crud.get(table, row_id).rows
        listed = [row[0] for row in crud.select(table, [(">=", "id", row_id)]).rows]
        return None if found[0] == row_id and listed == list(IDS[row_id:]) else f"{row_id}: {found}, {listed}"

    def write(crud: Crud, row_id: int) -> str | None:
        found = crud.replace(table, [row_id, f"d{row_id % 3}", 7]).rows
        return None if found == [[row_id, f"d{row_id % 3}", 7]] else f"{found}"

    with Crud(cluster.address("n1"), timeout=60) as crud:
        assert crud.insert_many(table, [[i, f"d{i % 5}", 0] for i in IDS]).is_complete
        clients = [threading.Thread(target=load, args=args) for args in ((0, "n1", read), (1, "n2", write))]
        for client in clients:
            client.start()
        try:
            with psycopg.connect(cluster.address("n1"), autocommit=True) as node:
                for options in CHANGES:
                    before = list(done)
                    node.execute(f"ALTER TABLE {table} SET ({options})")
                    until_done(lambda before=before: None if done[0] > before[0] and done[1] > before[1] else done)
        finally:
            stop.set()
            for client in clients:
                client.join()
        assert failures == []
        assert [row[0] for row in crud.select(table).rows] == list(IDS)
    assert cluster.violations(table) == []
