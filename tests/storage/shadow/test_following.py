"""The shadow shows what is published: step by step as made anew, with oids that stay, whatever ends in between."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import (
    CHECK,
    FOREIGN_KEY,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    State,
    TableId,
)
from catalog.values.types import SqlType
from catalog.view_definition import TableUse, ViewColumn, ViewDefinition, ViewUse
from storage.shadow import database, following
from storage.shadow.database import ShadowUnusable
from tests.storage.shadow.conftest import Stores

ID, CODE, FAR, LATE = ColumnId(1), ColumnId(2), ColumnId(3), ColumnId(4)
PORTS = Descriptor(
    TableId(901), "ports", 1,
    (Column(ID, "code", SqlType.TEXT, not_null=True), Column(CODE, "city", SqlType.TEXT, default="'x'")), (ID,),
    next_column_id=ColumnId(3),
)  # fmt: skip
TRIPS = Descriptor(
    TableId(902), "trips", 1,
    (
        Column(ID, "id", SqlType.BIGINT, not_null=True, identity=True, identity_start=1000),
        Column(CODE, "code", SqlType.VARCHAR, length=20, comment="where to"),
        Column(FAR, "far", SqlType.INTEGER, default="1"),
    ),
    (ID,), next_column_id=ColumnId(4), next_index_id=IndexId(3), next_constraint_id=ConstraintId(3), comment="all",
    indexes=(
        Index(IndexId(1), "by_code", (IndexColumn(CODE), IndexColumn(FAR, descending=True)), where='"#3" > 5'),
        Index(IndexId(2), "trips_far_key", (IndexColumn(FAR),), unique=True, is_constraint=True, comment="of far"),
    ),
    constraints=(
        Constraint(ConstraintId(1), "is_far", CHECK, expression='"#3" > 0'),
        Constraint(ConstraintId(2), "to_port", FOREIGN_KEY, (CODE,), references=PORTS.table_id,
                   reference_columns=(ID,), partner=ConstraintId(1)),
    ),
)  # fmt: skip
NAMES = ViewDefinition(
    77, "far_trips", 1, "SELECT id, code AS port FROM trips WHERE far > 3",
    (ViewColumn("id", 20), ViewColumn("port", 1043, 24)),
    (TableUse("trips", TRIPS.table_id, {"id": ID, "code": CODE, "far": FAR}),),
)  # fmt: skip


def column(table: Descriptor, number: ColumnId, **changes: Any) -> Descriptor:
    """The next version, with one column otherwise."""
    columns = tuple(replace(c, **changes) if c.id == number else c for c in table.columns)
    return table.next_version(columns=columns)


def added(table: Descriptor, state: State, **more: Any) -> Descriptor:
    last = Column(LATE, "late", SqlType.DATE, state=state, **more)
    return table.next_version(columns=(*table.columns, last), next_column_id=ColumnId(5))


def test_it_is_made_with_all_that_is_public(stores: Stores) -> None:
    stores.publish(PORTS, TRIPS)
    stores.view(NAMES)
    stores.catch_up()
    seen = stores.seen()
    assert [row[:6] for row in seen["columns"] if row[0] == "trips"] == [
        ("trips", "id", "bigint", True, "d", None),
        ("trips", "code", "character varying(20)", False, "", None),
        ("trips", "far", "integer", False, "", "1"),
    ]
    assert seen["indexes"] == [
        ("by_code", "CREATE INDEX by_code ON public.trips USING btree (code, far DESC) WHERE (far > 5)"),
        ("ports_pkey", "CREATE UNIQUE INDEX ports_pkey ON public.ports USING btree (code)"),
        ("trips_far_key", "CREATE UNIQUE INDEX trips_far_key ON public.trips USING btree (far)"),
        ("trips_pkey", "CREATE UNIQUE INDEX trips_pkey ON public.trips USING btree (id)"),
    ]
    assert ("trips", "to_port", "f", "FOREIGN KEY (code) REFERENCES ports(code)", None) in seen["constraints"]
    assert seen["sequences"] == [("trips_id_seq", 1000, "bigint")]
    assert {row[2] for row in seen["relations"]} == {"schemalab_shown"}


def test_what_is_not_public_is_not_shown(stores: Stores) -> None:
    hidden = replace(TRIPS, indexes=tuple(replace(i, state=State.WRITE_ONLY) for i in TRIPS.indexes), constraints=())
    stores.publish(added(hidden, State.DELETE_ONLY))
    stores.catch_up()
    seen = stores.seen()
    assert [row[1] for row in seen["columns"]] == ["id", "code", "far"]
    assert [row[0] for row in seen["indexes"]] == ["trips_pkey"]


STEPS = {
    "another name": lambda t: t.next_version(name="journeys"),
    "a column's name": lambda t: column(t, CODE, name="port"),
    "names exchanged": lambda t: column(column(t, CODE, name="far"), FAR, name="code"),
    "a type": lambda t: column(t, FAR, type=SqlType.BIGINT),
    "a longer text": lambda t: column(t, CODE, length=40),
    "a default": lambda t: column(t, FAR, default="7"),
    "no default": lambda t: column(t, FAR, default=None),
    "not null": lambda t: column(t, FAR, not_null=True),
    "a name of not null": lambda t: column(column(t, FAR, not_null=True), FAR, not_null_constraint="given"),
    "no identity": lambda t: column(t, ID, identity=False),
    "other numbers": lambda t: column(t, ID, identity_generation=5, identity_start=5, identity_always=True),
    "another sequence": lambda t: column(t, ID, sequence="numbers"),
    "a column": lambda t: added(t, State.PUBLIC, not_null=True, default="'2020-01-01'", comment="new"),
    "a column that is on its way": lambda t: added(t, State.WRITE_ONLY),
    "one column less": lambda t: t.next_version(
        columns=tuple(c for c in t.columns if c.id != FAR), indexes=(), constraints=t.constraints[1:]
    ),
    "no index": lambda t: t.without_index(IndexId(1)),
    "an index that goes": lambda t: t.with_index_state(IndexId(2), State.WRITE_ONLY),
    "another order": lambda t: t.next_version(
        indexes=(replace(t.indexes[0], columns=(IndexColumn(FAR), IndexColumn(CODE))), t.indexes[1])
    ),
    "another name of an index": lambda t: t.next_version(
        indexes=(replace(t.indexes[0], name="once"), replace(t.indexes[1], name="twice_key"))
    ),
    "no rules": lambda t: t.next_version(constraints=()),
    "other rules": lambda t: t.next_version(
        constraints=(replace(t.constraints[0], expression='"#3" > 1'), replace(t.constraints[1], on_delete="restrict"))
    ),
    "names of rules": lambda t: t.next_version(
        constraints=(replace(t.constraints[0], name="so"), replace(t.constraints[1], name="thus"))
    ),
    "comments": lambda t: replace(column(t, CODE, comment="it's \\ here"), comment=None, key_comment="the key"),
    "a table that is not public": lambda t: t.with_state(State.DELETE_ONLY),
}


@pytest.mark.parametrize("step", STEPS)
def test_each_change_leads_to_what_is_made_anew(stores: Stores, step: str) -> None:
    stores.publish(PORTS, TRIPS)
    stores.catch_up()
    before, oids = stores.seen(), stores.oids()
    new = STEPS[step](TRIPS)
    stores.publish(replace(new, version=2))
    stores.catch_up()
    there, now = stores.seen(), stores.oids()
    assert there == stores.seen_anew()
    if step != "a table that is not public":
        assert there != before or step == "a column that is on its way"
        assert now[new.name] == oids["trips"]
    assert all(now[name] == oids[name] for name in ("ports", "ports_pkey"))
    stores.publish(replace(TRIPS, version=3))
    stores.catch_up()
    assert stores.seen() == before


LIKE_PORTS = replace(PORTS, name="pg_attribute")
LIKE_TRIPS = replace(
    column(TRIPS, ID, sequence="pg_proc"), version=1, name="pg_class",
    indexes=(replace(TRIPS.indexes[0], name="pg_type"), replace(TRIPS.indexes[1], name="pg_index")),
)  # fmt: skip
LIKE_NAMES = replace(
    NAMES, name="pg_views", query="SELECT id, code AS port FROM public.pg_class WHERE far > 3",
    tables=(replace(NAMES.tables[0], name="pg_class"),),
)  # fmt: skip


@pytest.mark.parametrize("step", ["another name", "a type", "other numbers", "no index", "names of rules", "comments"])
def test_names_may_be_those_of_the_catalog(stores: Stores, step: str) -> None:
    stores.publish(LIKE_PORTS, LIKE_TRIPS)
    stores.view(LIKE_NAMES)
    assert not stores.catch_up().lacking
    before, oids = stores.seen(), stores.oids()
    assert {"pg_class", "pg_attribute", "pg_type", "pg_index", "pg_proc", "pg_views"} <= oids.keys()
    assert "cannot show" not in before["views"][0][1]
    stores.publish(replace(STEPS[step](LIKE_TRIPS), version=2), replace(LIKE_PORTS, version=2, name="pg_namespace"))
    assert not stores.catch_up().lacking
    assert stores.seen() | {"views": []} == stores.seen_anew() | {"views": []}
    assert stores.oids()["pg_namespace"] == oids["pg_attribute"]
    stores.publish(replace(LIKE_TRIPS, version=3), replace(LIKE_PORTS, version=3))
    stores.catch_up()
    assert stores.seen()["columns"] == before["columns"]


@pytest.mark.parametrize("step", ["another name", "a column's name", "names exchanged", "a column", "a default"])
def test_views_stay_while_their_tables_move(stores: Stores, step: str) -> None:
    stores.publish(PORTS, TRIPS)
    stores.view(NAMES)
    stores.catch_up()
    oids = stores.oids()
    stores.publish(replace(STEPS[step](TRIPS), version=2))
    stores.catch_up()
    assert stores.oids()["far_trips"] == oids["far_trips"]
    assert stores.seen()["columns"] == stores.seen_anew()["columns"]
    stores.view(replace(NAMES, revision=2, name="further", query="SELECT id, code AS port FROM trips WHERE far > 9"))
    stores.catch_up()
    assert stores.oids()["further"] == oids["far_trips"]
    assert "9" in stores.seen()["views"][0][1]


def test_a_view_over_a_column_that_comes_anew_is_made_anew(stores: Stores) -> None:
    stores.publish(PORTS, TRIPS)
    stores.view(NAMES)
    stores.catch_up()
    views = stores.seen()["views"]
    stores.publish(replace(column(TRIPS, FAR, type=SqlType.BIGINT), version=2))
    stores.catch_up()
    assert stores.seen()["views"] == views
    stores.publish(replace(TRIPS, version=3, name="other"))
    replaced = replace(NAMES, revision=2, query="SELECT id, code AS port FROM ports", tables=())
    stores.view(replace(replaced, query="SELECT 1::bigint AS id, 'x'::varchar(20) AS port"))
    stores.drop(TRIPS)
    stores.catch_up()
    assert [row[0] for row in stores.seen()["relations"]] == ["far_trips", "ports", "ports_pkey"]


def test_a_view_knows_the_columns_that_another_one_had(stores: Stores) -> None:
    stores.publish(PORTS, TRIPS)
    longer = replace(NAMES, query="SELECT id, code AS port, far AS more FROM trips WHERE far > 3", revision=2)
    stores.view(replace(longer, columns=(*NAMES.columns, ViewColumn("more", 23))))
    columns = (ViewColumn("id", 20), ViewColumn("more", 23))
    query = "SELECT id, more FROM far_trips, (VALUES (7)) AS w(more)"
    stores.view(ViewDefinition(78, "over", 1, query, columns, views=(ViewUse("far_trips", 77, 2),)))
    stores.catch_up()
    definition = dict(stores.seen()["views"])["over"]
    assert "w.more" in definition


def test_a_view_that_postgresql_does_not_take_says_so_and_holds_nothing_up(stores: Stores) -> None:
    stores.publish(PORTS, TRIPS)
    stores.view(replace(NAMES, query="SELECT nothing(id) AS id, code AS port FROM trips"))
    stores.catch_up()
    seen = stores.seen()
    assert [row[1:3] for row in seen["columns"] if row[0] == "far_trips"] == [
        ("id", "bigint"), ("port", "character varying(20)"),
    ]  # fmt: skip
    assert "the catalog cannot show this query: function nothing(bigint) does not exist" in seen["views"][0][1]
    assert len([row for row in seen["relations"] if row[1] == "r"]) == 2


def test_tables_change_names_with_each_other_and_go_together(stores: Stores) -> None:
    stores.publish(PORTS, TRIPS)
    stores.catch_up()
    oids = stores.oids()
    stores.publish(replace(PORTS, version=2, name="aside"), replace(TRIPS, version=2, name="ports"))
    stores.publish(replace(PORTS, version=3, name="trips"))
    stores.catch_up()
    now = stores.oids()
    assert (now["ports"], now["trips"]) == (oids["trips"], oids["ports"])
    stores.drop(PORTS)
    stores.drop(TRIPS)
    stores.catch_up()
    assert stores.oids() == {}


def test_what_is_shown_already_is_not_touched(stores: Stores) -> None:
    stores.publish(PORTS)
    first = stores.catch_up()
    assert stores.catch_up() == first
    with psycopg.connect(stores.shadow) as connection:
        connection.execute("SELECT FROM ports")  # holds the table
        assert stores.catch_up() == first


# -- ends in between ---------------------------------------------------------------------------------------------------


@contextmanager
def ended_at(place: str) -> Iterator[None]:
    """Have the session at the shadow end there."""

    def end(connection: "psycopg.Connection[Any]", *_: Any) -> None:
        with psycopg.connect(connection.info.dsn, user=connection.info.user) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        connection.execute("SELECT 1")

    old = getattr(database, place)
    setattr(database, place, end)
    try:
        yield
    finally:
        setattr(database, place, old)


@pytest.mark.parametrize("place", ["set_up", "remember"])
def test_a_session_that_ends_in_between_leaves_what_was_shown(stores: Stores, place: str) -> None:
    if place == "set_up":
        with psycopg.connect(stores.shadow) as connection:
            database.remember(connection, replace(database.position(connection), setup=0))
    stores.publish(TRIPS)
    with ended_at(place), pytest.raises(psycopg.OperationalError):
        stores.catch_up()
    assert "trips" not in stores.oids()
    stores.catch_up()
    assert stores.seen() == stores.seen_anew()


KILLED = """
import os, signal, sys
from storage.shadow import database, following
place, after = sys.argv[3], int(sys.argv[4])
count = 0
if place == "execute":
    plain = following._execute
    def execute(connection, statement):
        global count
        count += 1
        if count > after:
            os.kill(os.getpid(), signal.SIGKILL)
        plain(connection, statement)
    following._execute = execute
else:
    database.remember = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
following.catch_up(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize(("place", "after"), [("execute", 0), ("execute", 1), ("execute", 4), ("remember", 0)])
def test_a_process_that_is_killed_in_between_leaves_what_was_shown(stores: Stores, place: str, after: int) -> None:
    stores.publish(PORTS)
    stores.catch_up()
    shown, oids = stores.seen(), stores.oids()
    stores.publish(TRIPS, column(PORTS, CODE, name="town"))
    arguments = [sys.executable, "-c", KILLED, stores.dsn, stores.shadow, place, str(after)]
    done = subprocess.run(arguments, env=dict(os.environ), check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert stores.seen() == shown
    stores.catch_up()
    assert stores.seen() == stores.seen_anew()
    assert stores.oids()["ports"] == oids["ports"]


# -- refusals --------------------------------------------------------------------------------------------------------


def indexed(name: str, where: str | None = None) -> Descriptor:
    return PORTS.next_version(indexes=(Index(IndexId(9), name, (IndexColumn(CODE),), where=where),))


def ruled(name: str, expression: str) -> Descriptor:
    return PORTS.next_version(constraints=(Constraint(ConstraintId(9), name, CHECK, expression=expression),))


REFUSED = [
    pytest.param(column(PORTS, CODE, default="nothing(1)"), "default city: function nothing(integer) does not exist",
                 id="a default"),
    pytest.param(ruled("sound", 'nothing("#2")'), "check sound: function nothing(text) does not exist", id="a check"),
    pytest.param(indexed("few", 'nothing("#2")'), "index few: function nothing(text) does not exist", id="a predicate"),
    pytest.param(indexed("trips"), 'index trips: relation "trips" already exists', id="the name of a table"),
    pytest.param(column(PORTS, ID, identity=True), "identity code: identity column type must be", id="an identity"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "why"), REFUSED)
def test_a_piece_that_postgresql_does_not_take_is_left_out_and_named(
    stores: Stores, caplog: pytest.LogCaptureFixture, bad: Descriptor, why: str
) -> None:
    """All else is shown, also of later versions; it is logged once."""
    stores.publish(PORTS, TRIPS)
    stores.catch_up()
    oids = stores.oids()
    stores.publish(replace(bad, comment="ours"))
    stores.catch_up()
    assert [comment.startswith(f"ours\n(not shown: {why}") for comment in comments(stores)] == [True]
    stores.publish(replace(column(bad, CODE, name="town"), comment="ours"), column(TRIPS, CODE, comment=None))
    stores.catch_up()
    seen = stores.seen()
    assert [row[1] for row in seen["columns"] if row[0] == "ports"] == ["code", "town"]
    assert seen == stores.seen_anew()
    assert oids.items() <= stores.oids().items()
    reports = [record for record in caplog.records if record.name == following.__name__]
    assert len(reports) == 2  # by the two shadows
    stores.publish(replace(PORTS, version=4, comment="ours"))
    stores.catch_up()
    assert comments(stores) == ["ours"]
    assert stores.seen() == stores.seen_anew()


def comments(stores: Stores) -> list[str]:
    return [row[3] for row in stores.seen()["relations"] if row[0] == "ports"]


def test_a_piece_is_shown_once_its_name_is_free(stores: Stores) -> None:
    stores.publish(PORTS, TRIPS)
    stores.catch_up()
    stores.publish(indexed("by_code"))
    stores.catch_up()
    assert "not shown" in comments(stores)[0]
    stores.publish(TRIPS.without_index(IndexId(1)))
    stores.catch_up()
    assert comments(stores) == [None]
    assert ("by_code", "CREATE INDEX by_code ON public.ports USING btree (city)") in stores.seen()["indexes"]


def test_an_index_that_gets_a_name_that_is_there_is_left_out(stores: Stores) -> None:
    named = indexed("few")
    stores.publish(named, TRIPS)
    stores.catch_up()
    stores.publish(named.next_version(indexes=(replace(named.indexes[0], name="by_code"),)))
    stores.catch_up()
    assert 'index by_code: relation "by_code" already exists' in comments(stores)[0]
    assert [row[0] for row in stores.seen()["indexes"]] == ["by_code", "ports_pkey", "trips_far_key", "trips_pkey"]
    stores.publish(replace(named, version=4))
    stores.catch_up()
    assert comments(stores) == [None]
    assert stores.seen() == stores.seen_anew()


def test_what_cannot_be_left_out_is_named_and_changes_nothing(stores: Stores) -> None:
    stores.publish(PORTS)
    stores.catch_up()
    shown = stores.seen()
    with psycopg.connect(stores.shadow, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE public.harbours")
        stores.publish(PORTS.next_version(name="harbours"))
        with pytest.raises(ShadowUnusable, match='"harbours" already exists.*ports'):
            stores.catch_up()
        connection.execute("DROP SEQUENCE public.harbours")
    assert stores.seen() == shown
    stores.catch_up()


def test_the_shadow_of_another_store_is_not_changed(stores: Stores) -> None:
    stores.publish(PORTS)
    stores.catch_up()
    with psycopg.connect(stores.shadow) as connection:
        database.remember(connection, replace(database.position(connection), store="another"))
    with pytest.raises(ShadowUnusable, match="another store.*rebuild"):
        stores.catch_up()
    life = following.rebuild(stores.dsn, stores.shadow).life
    assert life
    assert [row[0] for row in stores.seen()["relations"]] == ["ports", "ports_pkey"]


def test_a_role_without_rights_is_told_in_one_line(stores: Stores) -> None:
    with psycopg.connect(stores.dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE poor LOGIN")
        connection.execute(f"GRANT CONNECT ON DATABASE {connection.info.dbname} TO poor".encode())
    try:
        poor = psycopg.conninfo.make_conninfo(stores.dsn, user="poor")
        with pytest.raises(ShadowUnusable, match="CREATEDB.*SHADOW_DATABASE_URL") as caught:
            following.catch_up(poor, psycopg.conninfo.make_conninfo(stores.shadow, user="poor", dbname="nowhere"))
        assert "\n" not in str(caught.value)
    finally:
        with psycopg.connect(stores.dsn, autocommit=True) as connection:
            connection.execute("DROP OWNED BY poor")
            connection.execute("DROP ROLE poor")
