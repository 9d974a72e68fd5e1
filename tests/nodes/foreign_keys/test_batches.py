"""The cost of foreign keys in round trips to the store: none where keys are known, and nothing at all without them. The
session runs in this process, and its batches are counted."""

from typing import Any

from tests.nodes.conftest import Cluster
from tests.nodes.linked_tables import link, with_index
from tests.nodes.within import Within, within


def test_a_table_without_foreign_keys_asks_nobody(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, code text")

    async def work(node: Within) -> None:
        assert await node.count(f"INSERT INTO {table} VALUES (1, 'AAA'), (2, 'BBB')") == 1
        kinds = [command.sql.split()[0] for command in node.batches[0]]
        assert kinds == ["BEGIN", "SELECT", "WITH", "COMMIT"], "one door, one write"
        assert await node.count(f"UPDATE {table} SET code = 'CCC' WHERE id = 1") == 1
        both = f"INSERT INTO {table} VALUES (2, 'DDD'), (3, 'DDD') ON CONFLICT"
        assert await node.count(f"{both} DO NOTHING") == 2, "which there are, and the write"
        assert await node.count(f"{both} (id) DO UPDATE SET code = 'EEE'") == 3
        assert await node.count(f"DELETE FROM {table} WHERE id = 1") == 1, "it needs nothing of its row"
        assert await node.count(f"DELETE FROM {table} WHERE id = 2 AND code = 'EEE'") == 2
        assert [command.sql.split()[0] for command in node.batches[-1]] == ["DELETE", "SELECT", "COMMIT"]
        assert set(node.keeper.used) == {table}

    within(cluster, work)


def test_what_rows_refer_to_is_asked_in_the_batch_of_the_writes(cluster: Cluster) -> None:
    parent = cluster.table("code text primary key, city text")
    child = cluster.table("id int primary key, code text, note text")
    link(cluster, child, "code", parent, "code")
    insert = f"INSERT INTO {child} (id, code) VALUES"

    async def work(node: Within) -> None:
        await node.count(f"INSERT INTO {parent} VALUES ('AAA'), ('BBB')")
        assert await node.count(f"{insert} (1, 'AAA'), (2, 'BBB'), (3, 'AAA')") == 1
        assert await node.count(f"{insert} (4, NULL)") == 1
        assert await node.count(f"UPDATE {child} SET code = 'BBB' WHERE id = 1") == 2
        assert await node.count(f"UPDATE {child} SET note = 'x' WHERE id = 1") == 1
        assert await node.run(f"{insert} (5, 'XXX')") == "23503"
        assert len(node.batches) == 2, "the one refused, and ROLLBACK"
        await node.run("BEGIN")
        assert await node.count(f"{insert} (5, 'AAA')", alone=False) == 1
        assert await node.run(f"{insert} (6, 'XXX')", alone=False) == "23503"
        await node.run("ROLLBACK")

    within(cluster, work)
    assert cluster.violations(child) == []


def test_other_tables_are_used_only_where_they_are_asked(cluster: Cluster) -> None:
    parent = cluster.table("code text primary key, city text")
    child = cluster.table("id int primary key, code text, note text")
    link(cluster, child, "code", parent, "code")

    async def work(node: Within) -> None:
        await node.count(f"INSERT INTO {parent} VALUES ('AAA', 'Ulm') ON CONFLICT (code) DO UPDATE SET city = 'Bonn'")
        await node.count(f"UPDATE {parent} SET city = 'Rom' WHERE code = 'AAA'")
        assert set(node.keeper.used) == {parent}
        node.keeper.used.clear()
        await node.count(f"UPDATE {child} SET note = 'x' WHERE id = 1")
        await node.count(f"DELETE FROM {child} WHERE id = 1")
        assert set(node.keeper.used) == {child}

    within(cluster, work)


def test_another_table_that_is_gone_is_a_reason_to_try_again(cluster: Cluster) -> None:
    """The foreign key was dropped and its table after it, while a node had not heard of either."""
    parent = cluster.table("code text primary key")
    child = cluster.table("id int primary key, code text")
    link(cluster, child, "code", parent, "code")

    async def work(node: Within) -> None:
        await node.count(f"INSERT INTO {parent} VALUES ('AAA')")
        node.keeper.gone.add(parent)
        assert await node.run(f"INSERT INTO {child} VALUES (1, 'AAA')") is None
        assert not node.keeper.gone, "it was asked for, and then again"
        await node.run("BEGIN")
        node.keeper.gone.add(parent)
        assert await node.run(f"INSERT INTO {child} VALUES (2, 'AAA')", alone=False) == "40001"

    within(cluster, work)


def test_an_index_says_at_once_that_nobody_refers(cluster: Cluster) -> None:
    parent = cluster.table("code text primary key, city text")
    child = cluster.table("id int primary key, code text, note text")
    with_index(cluster, child, "code desc, note")
    link(cluster, child, "code", parent, "code")

    async def work(node: Within) -> None:
        await node.count(f"INSERT INTO {parent} VALUES ('AAA'), ('BBB'), ('CCC'), ('DDD')")
        await node.count(f"INSERT INTO {child} (id, code) VALUES (1, 'DDD')")
        assert await node.count(f"DELETE FROM {parent} WHERE code = 'AAA'") == 2
        assert await node.count(f"UPDATE {parent} SET code = 'BBX' WHERE code = 'BBB'") == 2
        assert await node.run(f"DELETE FROM {parent} WHERE code = 'DDD'") == "23503"
        assert len(node.batches) == 3, "the row, what is refused, and ROLLBACK"
        assert await node.run(f"DELETE FROM {parent}") == "23503"

    within(cluster, work)
    assert cluster.violations(child) == []


def test_many_values_are_asked_for_in_a_few_batches(cluster: Cluster) -> None:
    parent = cluster.table("id int primary key")
    child = cluster.table("id int primary key, p int")
    with_index(cluster, child, "p")
    link(cluster, child, "p", parent, "id")
    insert = f"INSERT INTO {child} SELECT g, g FROM generate_series(1, 3000) g"

    async def work(node: Within) -> None:
        await node.count(f"INSERT INTO {parent} SELECT g FROM generate_series(1, 2999) g")
        assert await node.run(insert) == "23503"
        await node.count(f"INSERT INTO {parent} VALUES (3000)")
        without = await node.count(f"INSERT INTO {child} (id) SELECT g FROM generate_series(10001, 13000) g")
        assert await node.count(insert) == without
        assert await node.run(f"DELETE FROM {parent} WHERE id <= 3000") == "23503"
        await node.count(f"DELETE FROM {child}")
        await node.count(f"DELETE FROM {parent}")
        assert len(node.batches) <= 12, [len(batch) for batch in node.batches]

    within(cluster, work)


def test_without_an_index_rows_are_looked_through_page_by_page(cluster: Cluster, monkeypatch: Any) -> None:
    """To the last row, and not beyond the first page that has one."""
    monkeypatch.setattr("nodes.foreign_keys.scan_referencing.PAGE_PAIRS", 7)
    parent = cluster.table("id int primary key")
    child = cluster.table("id int primary key, p int, note text")
    link(cluster, child, "p", parent, "id")

    async def work(node: Within) -> None:
        await node.count(f"INSERT INTO {parent} SELECT g FROM generate_series(1, 70) g")
        await node.count(f"INSERT INTO {child} SELECT g, CASE WHEN g % 10 > 0 THEN g END FROM generate_series(1, 69) g")
        for number in range(1, 71):
            found = await node.run(f"DELETE FROM {parent} WHERE id = {number}")
            assert found == ("23503" if number % 10 else None), number
        await node.run(f"UPDATE {child} SET p = 1")
        assert await node.run(f"DELETE FROM {parent} WHERE id = 1") == "23503"
        assert len(node.batches) <= 5, "the row, the writes, a page or two, and ROLLBACK"
        await node.run(f"DELETE FROM {parent} WHERE id = 2")
        assert len(node.batches) > 10, "every page of both storages"

    within(cluster, work)
    assert cluster.violations(child) == []
