"""A table made inside an explicit transaction: unknown until COMMIT, public then; its name is nobody else's (T9)."""

from dataclasses import replace
from functools import partial
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings

from catalog.models import StoryEvent, Table
from catalog.selectors import newest_descriptor
from catalog.services import OutOfTime
from changes import services
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.ddl.statements import parse
from changes.driver import driver
from changes.models import Reservation, Status
from changes.planning.table_in_transaction import statements_at_commit
from changes.submission import new_tables

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
USERS = "CREATE TABLE users (id bigint PRIMARY KEY, age integer)"


def begin(cluster, name: str = "n1", statement: str = USERS):
    """A node's transaction that makes `users`: its connection and the table."""
    incarnation = cluster.node(name)
    reserved = new_tables.reserve_table(parse(statement), node=name, incarnation=incarnation)
    connection = cluster.connect(f"schemalab node {name} {incarnation}")
    connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
    connection.execute("SELECT 1")
    [table] = reserved.made.tables
    return connection, replace(table, version=1)


def commit(connection, table) -> None:
    for sql, params in statements_at_commit(table, storages=settings.STORAGE_COUNT, who="ann"):
        connection.execute(sql, params)
    connection.execute("COMMIT")


def test_t9_the_table_is_public_from_the_commit_on(cluster):
    connection, table = begin(cluster)
    assert not Table.objects.filter(pk=table.table_id).exists()
    assert newest_descriptor(table.table_id) is None
    commit(connection, table)
    new_tables.announce_table(table.table_id, who="ann")
    assert newest_descriptor(table.table_id) == table
    assert (table.version, table.state.value) == (1, "public")
    assert not Reservation.objects.exists()
    told = StoryEvent.objects.filter(kind="table created").values_list("stream", flat=True)
    assert sorted(told) == ["cluster", f"table:{table.table_id}"]
    cluster.table = table
    n1 = cluster.node("n1")
    assert cluster.acquire("n1", n1) == 1
    cluster.begin(1).execute("COMMIT")


def test_t9_the_name_is_reserved_at_once_for_both_kinds_of_create(cluster):
    begin(cluster)
    n2 = cluster.node("n2")
    for attempt in (
        lambda: services.submit(USERS, who="bob"),
        lambda: new_tables.reserve_table(parse(USERS), node="n2", incarnation=n2),
    ):
        with pytest.raises(DdlError) as caught:
            attempt()
        assert caught.value.sqlstate == "42P07"
        assert caught.value.hint == "A transaction that has not ended is creating it."


UNIQUE = "CREATE TABLE users (id bigint PRIMARY KEY, age integer UNIQUE, CONSTRAINT one_size UNIQUE (age, id))"
INDEXES = ("one_size", "users_age_key")


def index_named(name: str) -> None:
    services.submit(f"CREATE INDEX {name} ON towns (age)", who="bob")


@pytest.fixture
def towns() -> None:
    change = services.submit("CREATE TABLE towns (id bigint PRIMARY KEY, age integer)", who="ann")
    assert driver.drive(change.pk, holder="w") == Status.DONE


@pytest.mark.parametrize("name", INDEXES)
def test_t9_the_names_of_unique_indexes_are_reserved_too(cluster, towns, name):
    connection, table = begin(cluster, statement=UNIQUE)
    assert [index.name for index in table.indexes] == list(INDEXES)
    with pytest.raises(DdlError, match=f'relation "{name}" already exists') as caught:
        index_named(name)
    assert (caught.value.sqlstate, caught.value.hint) == ("42P07", "A transaction that has not ended is creating it.")
    connection.execute("ROLLBACK")
    new_tables.free_table(table.table_id)
    index_named(name)


def test_t9_a_unique_index_takes_no_name_that_is_another_ones(cluster, towns):
    index_named("one_size")
    with pytest.raises(DdlError, match='relation "one_size" already exists'):
        begin(cluster, statement=UNIQUE)
    assert not Reservation.objects.exists()


def test_t9_once_committed_the_names_are_the_tables(cluster, towns):
    connection, table = begin(cluster, statement=UNIQUE)
    commit(connection, table)
    with pytest.raises(NothingToDo, match='relation "users" already exists, skipping'):
        services.submit(USERS.replace("users", "IF NOT EXISTS users"), who="bob")
    new_tables.announce_table(table.table_id, who="ann")
    assert not Reservation.objects.exists()
    with pytest.raises(DdlError, match='relation "one_size" already exists'):
        index_named("one_size")


def test_t9_a_rollback_frees_the_name(cluster):
    connection, table = begin(cluster)
    connection.execute("ROLLBACK")
    new_tables.free_table(table.table_id)
    services.submit(USERS, who="bob")


def test_t9_a_dead_nodes_name_is_freed_and_its_late_commit_fails(cluster):
    connection, table = begin(cluster)
    assert new_tables.free_orphaned_tables() == []
    cluster.node("n1")  # the node starts again, as another incarnation; its former sessions end
    assert new_tables.free_orphaned_tables() == [table.table_id]
    with pytest.raises(psycopg.OperationalError):
        commit(connection, table)
    services.submit(USERS, who="bob")


def test_t9_a_frozen_node_that_lost_the_name_cannot_commit(cluster):
    connection, table = begin(cluster)
    new_tables.free_table(table.table_id)
    with pytest.raises(psycopg.errors.SerializationFailure):
        commit(connection, table)


def test_t9_a_node_that_dies_after_the_commit_leaves_a_table_and_no_reservation(cluster):
    connection, table = begin(cluster)
    commit(connection, table)
    cluster.node("n1")
    assert new_tables.free_orphaned_tables() == []
    assert not Reservation.objects.exists()
    assert newest_descriptor(table.table_id) == table
    assert Table.objects.get(pk=table.table_id).state == "live"


@pytest.mark.parametrize("is_node_dead", [True, False])
def test_t9_the_cluster_hears_once_of_a_table_whose_session_could_not_tell(cluster, is_node_dead):
    """The node died after COMMIT, or took the transaction for rolled back; a node taken for dead tells, too."""
    connection, table = begin(cluster)
    commit(connection, table)
    if is_node_dead:
        cluster.node("n1")
        new_tables.free_orphaned_tables()
    else:
        new_tables.free_table(table.table_id)
    assert StoryEvent.objects.filter(kind="table created", stream="cluster").count() == 1
    new_tables.announce_table(table.table_id, who="ann")
    [told] = StoryEvent.objects.filter(kind="table created", stream="cluster")
    assert (told.subject, told.payload) == ("users", {"table": "users", "version": 1, "who": "ann"})


def test_t9_names_are_freed_by_who_took_them_without_hearing_the_answer(cluster):
    """The token frees the one reservation that was made with it, and nothing where none was made."""
    one, another = uuid4(), uuid4()
    reserve = partial(new_tables.reserve_table, node="n1", incarnation=cluster.node("n1"))
    reserved = reserve(parse(USERS), token=one)
    other = reserve(parse(USERS.replace("users", "others")), token=uuid4())
    assert new_tables.free_unanswered(another) == []
    assert new_tables.free_unanswered(one) == [reserved.table_id]
    assert new_tables.free_unanswered(one) == []
    assert [one.table_id for one in Reservation.objects.all()] == [other.table_id]
    services.submit(USERS, who="bob")


def test_t9_a_name_is_not_freed_while_its_commit_is_on_its_way(cluster):
    """Whoever puts the table's row first decides; the other one waits for that, and gives up after a while."""
    connection, table = begin(cluster)
    first, *_ = statements_at_commit(table, storages=settings.STORAGE_COUNT, who="ann")
    connection.execute(*first)
    with pytest.raises(OutOfTime):
        new_tables.free_table(table.table_id)
    connection.execute("ROLLBACK")
    new_tables.free_table(table.table_id)
    assert Table.objects.get(pk=table.table_id).state == "dropped"
