"""Foreign keys through a node in every state, on one of its tables or on both: who enforces what, and what is said."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import errors

from catalog.elements import Column, State
from catalog.values.types import SqlType
from nodes.execution.writing.truncate import referring_first
from storage import encoding
from tests import references
from tests.nodes.conftest import Cluster
from tests.nodes.linked_tables import link, linked, moved, with_index
from tests.nodes.within import Within, within

ABSENT, WRITE_ONLY, PUBLIC = State.ABSENT, State.WRITE_ONLY, State.PUBLIC
MOVING = " (it is write-only: a schema change is adding or dropping it)"


def two_tables(cluster: Cluster) -> tuple[str, str]:
    """A table that will refer and one that will be referred to, without rows that refer."""
    parent = cluster.table("code text primary key, city text")
    child = cluster.table("id int primary key, code text, note text")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {parent} VALUES ('AAA', 'Ulm'), ('BBB', 'Bonn')")
    return child, parent


def refusal(connection: "psycopg.Connection[Any]", sql: str) -> tuple[str | None, str | None, str | None]:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(sql)
    return caught.value.sqlstate, caught.value.diag.message_primary, caught.value.diag.message_detail


@pytest.mark.parametrize(("here", "there"), [
    pytest.param(ABSENT, ABSENT, id="neither has it", marks=pytest.mark.soak),
    pytest.param(WRITE_ONLY, ABSENT, id="the one that refers is ahead, adding"),
    pytest.param(ABSENT, WRITE_ONLY, id="the one referred to is ahead, adding"),
    pytest.param(WRITE_ONLY, WRITE_ONLY, id="both write-only", marks=pytest.mark.soak),
    pytest.param(PUBLIC, WRITE_ONLY, id="the one that refers is public", marks=pytest.mark.soak),
    pytest.param(WRITE_ONLY, PUBLIC, id="the one referred to is public"),
    pytest.param(PUBLIC, PUBLIC, id="both public"),
])  # fmt: skip
def test_each_table_enforces_what_its_own_version_says(cluster: Cluster, here: State, there: State) -> None:
    """A node leases each table by itself, so the two may be one step apart."""
    child, parent = two_tables(cluster)
    known = [cluster.descriptor(child), cluster.descriptor(parent)]
    name = f"{child}_code_fkey"
    for state in (WRITE_ONLY, PUBLIC)[: 2 if PUBLIC in (here, there) else 1]:
        if state is WRITE_ONLY:
            link(cluster, child, "code", parent, "code", name=name, state=state)
        else:
            for table in (child, parent):
                cluster.publish(moved(cluster.descriptor(table), name, state))
        newest = [cluster.descriptor(child), cluster.descriptor(parent)]
        known = [k if s is (ABSENT if state is WRITE_ONLY else WRITE_ONLY) else n
                 for k, n, s in zip(known, newest, (here, there), strict=True)]  # fmt: skip

    async def work(node: Within) -> None:
        assert await node.run(f"INSERT INTO {child} VALUES (1, 'AAA')") is None
        dangles = await node.run(f"INSERT INTO {child} VALUES (2, 'XXX')")
        assert dangles == (None if here is ABSENT else "23503")
        assert await node.run(f"UPDATE {child} SET code = 'YYY' WHERE id = 1") == dangles
        if here is ABSENT:
            assert await node.run(f"UPDATE {child} SET code = 'AAA'") is None
        assert await node.run(f"DELETE FROM {parent} WHERE code = 'AAA'") == (None if there is ABSENT else "23503")
        assert await node.run(f"DELETE FROM {parent} WHERE code = 'BBB'") is None

    within(cluster, work, *known)


def test_a_version_without_the_column_cannot_say_that_nothing_refers(cluster: Cluster) -> None:
    """No plan leads there that drains in between. Rows of newer versions may refer, so to try again is all."""
    parent = cluster.table("code text primary key, city text")
    child = cluster.table("id int primary key")
    old = cluster.descriptor(child)
    column = Column(old.next_column_id, "code", SqlType.TEXT)
    cluster.publish(old.next_version(columns=(*old.columns, column), next_column_id=column.id + 1))
    newest = cluster.descriptor(child), cluster.descriptor(parent)
    cluster.publish(linked(newest[0], "code", newest[1], "code", name="to_code", state=WRITE_ONLY)[1])

    async def work(node: Within) -> None:
        assert await node.run(f"INSERT INTO {parent} VALUES ('AAA')") is None
        await node.run("BEGIN")
        assert await node.run(f"DELETE FROM {parent}", alone=False) == "40001"
        assert f"{parent}@2 has foreign key to_code, and {child}@1 lacks what it needs" in node.refused
        await node.run("ROLLBACK")
        assert await node.run(f"UPDATE {parent} SET city = 'Ulm'") is None, "it asks nobody"

    within(cluster, work, old)


def test_a_version_without_the_index_cannot_say_what_is_there(cluster: Cluster) -> None:
    parent = cluster.table("code text primary key, city text")
    child = cluster.table("id int primary key, city text")
    old = cluster.descriptor(parent)
    with_index(cluster, parent, "city", unique=True)
    newest = cluster.descriptor(child), cluster.descriptor(parent)
    cluster.publish(linked(newest[0], "city", newest[1], "city", name="in_city", state=WRITE_ONLY)[0])

    async def work(node: Within) -> None:
        assert await node.run(f"INSERT INTO {child} VALUES (1, NULL)") is None, "it refers to nothing"
        await node.run("BEGIN")
        assert await node.run(f"INSERT INTO {child} VALUES (2, 'Ulm')", alone=False) == "40001"
        assert f"{child}@2 has foreign key in_city, and {parent}@1 lacks what it needs" in node.refused
        await node.run("ROLLBACK")

    within(cluster, work, old)


@pytest.mark.parametrize("state", [WRITE_ONLY, PUBLIC])
def test_a_refusal_says_that_the_foreign_key_is_moving(cluster: Cluster, n1: Any, state: State) -> None:
    child, parent = two_tables(cluster)
    name = link(cluster, child, "code", parent, "code", state=state)
    n1.execute(f"INSERT INTO {child} VALUES (1, 'AAA')")
    suffix = MOVING if state is WRITE_ONLY else ""
    assert refusal(n1, f"UPDATE {child} SET code = 'XXX'") == (
        "23503",
        f'insert or update on table "{child}" violates foreign key constraint "{name}"{suffix}',
        f'Key (code)=(XXX) is not present in table "{parent}".',
    )
    assert refusal(n1, f"DELETE FROM {parent} WHERE code = 'AAA'") == (
        "23503",
        f'update or delete on table "{parent}" violates foreign key constraint "{name}" on table "{child}"{suffix}',
        f'Key (code)=(AAA) is still referenced from table "{child}".',
    )
    assert refusal(n1, f"TRUNCATE {parent}") == (
        "0A000",
        f"cannot truncate a table referenced in a foreign key constraint{suffix}",
        f'Table "{child}" references "{parent}".',
    )


def test_rows_from_before_are_left_alone_until_they_refer_to_something_else(cluster: Cluster, n1: Any) -> None:
    """Write-only: enforced for what is written, not relied on. The verification will find this row."""
    child, parent = two_tables(cluster)
    n1.execute(f"INSERT INTO {child} VALUES (1, 'XXX')")
    link(cluster, child, "code", parent, "code", state=WRITE_ONLY)
    n1.execute(f"UPDATE {child} SET note = 'kept'")
    n1.execute(f"UPDATE {child} SET code = code")
    n1.execute(f"UPDATE {child} SET id = 2")
    with pytest.raises(errors.ForeignKeyViolation):
        n1.execute(f"UPDATE {child} SET code = 'YYY'")
    n1.execute(f"UPDATE {child} SET code = 'BBB'")


def test_the_default_of_a_hidden_column_refers(cluster: Cluster, n1: Any) -> None:
    """A required column and its foreign key are write-only together: inserts put its default, and so refer to it."""
    child, parent = two_tables(cluster)
    n1.execute(f"INSERT INTO {child} VALUES (1, NULL)")
    hub = encoding.encode(SqlType.TEXT, "HUB")
    now = cluster.descriptor(child)
    column = Column(
        now.next_column_id, "hub", SqlType.TEXT, State.DELETE_ONLY, default="'HUB'", added_with_default=True,
        fill_value=hub, filling=True,
    )  # fmt: skip
    cluster.publish(now.next_version(columns=(*now.columns, column), next_column_id=column.id + 1))
    now = cluster.descriptor(child)
    ahead = replace(now, columns=tuple(replace(c, state=WRITE_ONLY) if c.id == column.id else c for c in now.columns))
    here, there = linked(
        ahead, "hub", cluster.descriptor(parent), "code", name=f"{child}_hub_fkey", state=WRITE_ONLY
    )  # fmt: skip
    cluster.publish(here)
    cluster.publish(there)
    assert refusal(n1, f"INSERT INTO {child} VALUES (2, NULL)")[0] == "23503"
    n1.execute(f"INSERT INTO {parent} VALUES ('HUB')")
    n1.execute(f"INSERT INTO {child} VALUES (2, NULL)")
    n1.execute(f"DELETE FROM {child} WHERE id = 2")
    assert refusal(n1, f"DELETE FROM {parent} WHERE code = 'HUB'")[0] == "23503", "row 1 will be filled with it"
    n1.execute(f"DELETE FROM {child}")
    n1.execute(f"DELETE FROM {parent} WHERE code = 'HUB'")


def test_tables_are_found_by_their_ids(cluster: Cluster, n1: Any, n2: Any) -> None:
    """L12: either table may be renamed meanwhile; each transaction calls it as its version does."""
    child, parent = two_tables(cluster)
    link(cluster, child, "code", parent, "code")
    n1.execute(f"INSERT INTO {child} VALUES (1, 'AAA')")
    n1.execute("BEGIN")
    n1.execute(f"SELECT count(*) FROM {parent}")
    n1.execute(f"INSERT INTO {child} VALUES (2, 'BBB')")
    cluster.publish(cluster.descriptor(parent).next_version(name=f"{parent}_new"), nodes=("n2",))
    n1.execute(f"INSERT INTO {child} VALUES (3, 'BBB')")
    assert f'table "{parent}".' in str(refusal(n1, f"INSERT INTO {child} VALUES (4, 'XXX')")[2])
    n1.execute("ROLLBACK")
    assert f'table "{parent}_new".' in str(refusal(n2, f"INSERT INTO {child} VALUES (4, 'XXX')")[2])
    cluster.publish(cluster.descriptor(child).next_version(name=f"{child}_new"))
    assert f'from table "{child}_new".' in str(refusal(n2, f"DELETE FROM {parent}_new WHERE code = 'AAA'")[2])
    n2.execute(f"INSERT INTO {child}_new VALUES (5, 'BBB')")
    assert cluster.violations(f"{child}_new") == []


@pytest.mark.parametrize("is_indexed", [False, True])
def test_keys_may_be_exchanged_in_one_statement(cluster: Cluster, n1: Any, is_indexed: bool) -> None:
    """NO ACTION looks at what is there in the end."""
    child, parent = two_tables(cluster)
    if is_indexed:
        with_index(cluster, child, "code")
    link(cluster, child, "code", parent, "code")
    n1.execute(f"INSERT INTO {child} VALUES (1, 'AAA'), (2, 'BBB')")
    n1.execute(f"UPDATE {parent} SET code = CASE code WHEN 'AAA' THEN 'BBB' ELSE 'AAA' END")
    assert n1.execute(f"SELECT city FROM {parent} WHERE code = 'AAA'").fetchone() == ("Bonn",)
    upsert = f"INSERT INTO {parent} VALUES ('AAA'), ('CCC') ON CONFLICT (code) DO UPDATE SET code = 'DDD'"
    assert refusal(n1, upsert)[0] == "23503"
    n1.execute(f"UPDATE {child} SET code = CASE code WHEN 'AAA' THEN 'BBB' ELSE 'AAA' END")
    assert cluster.violations(child) == []


@pytest.mark.parametrize(("of", "parent_has", "child_has"), [
    pytest.param("numeric", "1.0", "1.00", id="scales differ"),
    pytest.param("interval", "1 mon", "30 days", id="fields differ"),
    pytest.param("interval", "1 day", "1 day", id="nothing differs"),
])  # fmt: skip
def test_values_that_are_one_key_are_found_without_an_index(
    cluster: Cluster, n1: Any, of: str, parent_has: str, child_has: str
) -> None:
    """A pair holds more than a key does of these types: the pairs themselves are no measure."""
    parent = cluster.table(f"key {of} PRIMARY KEY, n int")
    child = cluster.table(f"id int PRIMARY KEY, key {of}")
    n1.execute(f"INSERT INTO {parent} VALUES ('{parent_has}', 1)")
    n1.execute(f"INSERT INTO {child} VALUES (1, '{child_has}')")
    link(cluster, child, "key", parent, "key")
    assert refusal(n1, f"DELETE FROM {parent}")[0] == "23503"
    assert refusal(n1, f"UPDATE {parent} SET key = key * 2")[0] == "23503"
    n1.execute(f"UPDATE {parent} SET key = '{child_has}'")
    assert n1.execute(f"SELECT count(*) FROM {parent}").fetchone() == (1,)


def test_a_table_that_refers_to_itself(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int primary key, boss int")
    link(cluster, table, "boss", table, "id")
    n1.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 3), (3, 1)")
    assert refusal(n1, f"INSERT INTO {table} VALUES (4, 5)")[0] == "23503"
    assert refusal(n1, f"DELETE FROM {table} WHERE id = 3")[0] == "23503"
    assert refusal(n1, f"UPDATE {table} SET id = 7 WHERE id = 1")[0] == "23503"
    n1.execute(f"DELETE FROM {table} WHERE id IN (2, 3)")
    n1.execute(f"UPDATE {table} SET id = 7, boss = 7")
    n1.execute(f"INSERT INTO {table} SELECT g, g + 1 FROM generate_series(10, 1999) g UNION ALL SELECT 2000, 7")
    assert cluster.violations(table) == []
    n1.execute(f"TRUNCATE {table}")
    assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_truncate_takes_the_tables_that_refer_first(cluster: Cluster, n1: Any) -> None:
    child, parent = two_tables(cluster)
    link(cluster, child, "code", parent, "code")
    n1.execute(f"INSERT INTO {child} SELECT g, 'AAA' FROM generate_series(1, 1200) g")
    n1.execute(f"TRUNCATE {parent}, {child}")
    for table in (child, parent):
        assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    n1.execute(f"INSERT INTO {parent} VALUES ('AAA')")
    n1.execute(f"INSERT INTO {child} VALUES (1, 'AAA')")
    n1.execute(f"TRUNCATE {child}")
    n1.execute(f"DELETE FROM {parent}")


@pytest.mark.parametrize("knows", ["both", "only the one that refers", "only the one referred to"])
def test_truncate_orders_tables_by_what_either_of_them_knows(knows: str) -> None:
    """One of the two may be a version behind, adding the foreign key or dropping it."""
    child, parent = references.linked(references.trips(), references.airports(), WRITE_ONLY)
    if knows == "only the one that refers":
        parent = references.airports()
    if knows == "only the one referred to":
        child = references.trips()
    for tables in ((child, parent), (parent, child)):
        assert [table.name for table in referring_first(tables)] == ["trips", "airports"]


def test_within_a_transaction_what_it_wrote_counts(cluster: Cluster, n1: Any) -> None:
    child, parent = two_tables(cluster)
    link(cluster, child, "code", parent, "code")
    n1.execute("BEGIN")
    n1.execute(f"INSERT INTO {parent} VALUES ('NEW')")
    n1.execute(f"INSERT INTO {child} VALUES (1, 'NEW')")
    n1.execute("SAVEPOINT s")
    assert refusal(n1, f"DELETE FROM {parent} WHERE code = 'NEW'")[0] == "23503"
    n1.execute("ROLLBACK TO s")
    n1.execute(f"DELETE FROM {child}")
    n1.execute(f"DELETE FROM {parent} WHERE code = 'NEW'")
    assert refusal(n1, f"INSERT INTO {child} VALUES (1, 'NEW')")[0] == "23503"
    n1.execute("ROLLBACK")
