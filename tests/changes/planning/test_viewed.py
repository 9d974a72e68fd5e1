"""What views read stays: which plans are refused, in PostgreSQL's words."""

from dataclasses import replace

import pytest

from catalog.view_definition import TableUse, ViewColumn, ViewDefinition, ViewUse, readers_of, view_from_json
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse, read_drop
from changes.planning.drops import drops_of
from changes.planning.planner import make_plan
from tests.changes.referring import done

TABLES = done(("CREATE TABLE t (id int PRIMARY KEY, a int, b text, c varchar(9))", "CREATE INDEX t_a ON t (a)"))
[T] = TABLES
READS = {column.name: column.id for column in T.public_columns if column.name in ("a", "c")}
V = ViewDefinition(1, "v", 3, "SELECT a AS x, c FROM t", (ViewColumn("x", 23), ViewColumn("c", 1043, 13)),
                   (TableUse("t", T.table_id, READS),))  # fmt: skip
W = ViewDefinition(2, "w", 1, "SELECT x FROM v", (ViewColumn("x", 23),), views=(ViewUse("v", 1, 2),))
KNOWN = CatalogView(TABLES, views=(V, W))


def planned(sql: str) -> object:
    action = resolve(parse(sql), KNOWN)
    return make_plan(action, KNOWN.named(action.table.text), tables=KNOWN)


@pytest.mark.parametrize("sql", [
    "ALTER TABLE t DROP COLUMN b", "ALTER TABLE t RENAME COLUMN a TO z", "ALTER TABLE t RENAME TO u",
    "ALTER TABLE t ADD COLUMN d int", "ALTER TABLE t ALTER b TYPE int USING b::int", "DROP INDEX t_a",
    "ALTER TABLE t ALTER a SET NOT NULL", "ALTER TABLE t ALTER b TYPE varchar(5)",
])  # fmt: skip
def test_what_a_view_does_not_read_may_change_and_names_may(sql: str) -> None:
    assert planned(sql)


@pytest.mark.parametrize(("sql", "state", "message"), [
    ("ALTER TABLE t DROP COLUMN a", "2BP01",
     "cannot drop column a of table t because other objects depend on it: view v depends on column a of table t"),
    ("ALTER TABLE t ADD d int, DROP COLUMN c", "2BP01",
     "cannot drop column c of table t because other objects depend on it: view v depends on column c of table t"),
    ("ALTER TABLE t ALTER c TYPE text", "0A000", "cannot alter type of a column used by a view or rule"),
    ("ALTER TABLE t ALTER c TYPE varchar(20)", "0A000", "cannot alter type of a column used by a view or rule"),
    ("DROP TABLE t", "2BP01",
     "cannot drop table t because other objects depend on it: view v depends on table t"),
    ("DROP TABLE v", "42809", '"v" is not a table'),
    ("ALTER TABLE v ADD COLUMN x int", "42809", '"v" is not a table'),
    ("CREATE INDEX ON v (x)", "42809", 'cannot create index on relation "v"'),
    ("CREATE TABLE w (id int PRIMARY KEY)", "42P07", 'relation "w" already exists'),
    ("ALTER TABLE t RENAME TO w", "42P07", 'relation "w" already exists'),
])  # fmt: skip
def test_what_a_view_reads_stays(sql: str, state: str, message: str) -> None:
    with pytest.raises(DdlError) as refused:
        planned(sql)
    assert (refused.value.sqlstate, refused.value.message) == (state, message)


def test_a_type_change_of_a_column_that_is_read_is_refused_though_its_twin_has_its_name() -> None:
    free = replace(KNOWN, tables=done(("CREATE TABLE t (id int PRIMARY KEY, a int, b text, c varchar(9))",)))
    action = resolve(parse("ALTER TABLE t ALTER a TYPE bigint"), free)
    with pytest.raises(DdlError, match="cannot alter type of a column used by a view or rule") as refused:
        make_plan(action, free.named("t"), tables=free)
    assert refused.value.hint == 'Column "a" is read by v: drop the view first, and make it again.'


def test_cascade_drops_the_views_first() -> None:
    found = drops_of(read_drop("DROP TABLE t CASCADE"), KNOWN)
    assert found.statements == ('DROP VIEW "v", "w"', 'DROP TABLE "t"')
    assert found.notices == ("drop cascades to view v", "drop cascades to view w")
    with pytest.raises(DdlError, match="view v depends on table t"):
        drops_of(read_drop("DROP TABLE t, t"), KNOWN)


def test_a_view_comes_back_as_it_was_stored() -> None:
    assert view_from_json(V.view_id, V.name, V.revision, V.to_json()) == V
    assert view_from_json(W.view_id, W.name, W.revision, W.to_json()) == W
    assert list(READS) == [name for name, _ in V.to_json()["tables"][0][2]]


def test_readers_are_found_through_others() -> None:
    x = replace(W, view_id=3, name="x", views=(ViewUse("w", 2), ViewUse("v", 1)))
    assert [view.name for view in readers_of([1], (V, x, W))] == ["x", "w"]
    assert list(readers_of([3], (V, x, W))) == []
