"""Random changes of three tables that refer to each other, one after the other: after each the two sides of every
foreign key agree, every rollback leads to the tables as they were, and the undo can be planned."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from catalog.elements import Constraint
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.plan.model import Plan, plan_from_json
from changes.plan.undo import undo_of
from tests.changes.planning.test_foreign_keys import check_every_rollback
from tests.changes.referring import Tables, after, done, planned
from tests.rounds import drawn

NAMES = ("a", "b", "c")
TABLES = done(tuple(f"CREATE TABLE {name} (id int PRIMARY KEY, x int, y int, u int UNIQUE, v int)" for name in NAMES))
ALTERATIONS = (
    "ADD FOREIGN KEY ({column}) REFERENCES {other}",
    "ADD FOREIGN KEY ({column}) REFERENCES {other} (u)",
    "ADD FOREIGN KEY (x, y) REFERENCES {other} (y, x)",
    "ADD w int REFERENCES {other}",
    "ADD w int NOT NULL DEFAULT 1 REFERENCES {other} (u)",
    "ADD UNIQUE (x, y)",
    "ADD CHECK ({column} > 0)",
    "DROP COLUMN IF EXISTS {column}",
    "DROP COLUMN IF EXISTS w",
    "DROP CONSTRAINT IF EXISTS {table}_{column}_fkey",
    "DROP CONSTRAINT IF EXISTS {table}_x_y_key",
    "DROP CONSTRAINT IF EXISTS {table}_u_key",
    "ALTER {column} TYPE bigint",
)
STATEMENTS = (
    "CREATE INDEX ON {table} ({column})",
    "CREATE UNIQUE INDEX {table}_{column}_one ON {table} ({column})",
    "DROP INDEX {other}_{column}_one",
    "DROP TABLE {table}",
    "CREATE TABLE {table} (id int PRIMARY KEY, x int REFERENCES {other}, y int, u int UNIQUE,"
    " v int REFERENCES {other} (u), FOREIGN KEY (y) REFERENCES {table})",
    "ALTER TABLE {table} RENAME CONSTRAINT {table}_{column}_fkey TO k{column}",
    "ALTER TABLE {table} RENAME CONSTRAINT k{column} TO {table}_{column}_fkey",
)
EXPECTED = {"0A000", "2BP01", "42830", "42703", "42704", "42P01", "42P07", "42710", "42804", "42701", "23514"}
columns = st.sampled_from(("x", "y", "u", "v"))
names = st.sampled_from(NAMES)


@st.composite
def statements(draw: st.DrawFn) -> str:
    table, other = draw(names), draw(names)
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(STATEMENTS)).format(table=table, other=other, column=draw(columns))
    said = draw(st.lists(st.sampled_from(ALTERATIONS), min_size=1, max_size=3, unique=True))
    parts = [one.format(table=table, other=draw(names), column=draw(columns)) for one in said]
    return f"ALTER TABLE {table} {', '.join(parts)}"


@drawn(few=15, many=60)
@given(st.lists(statements(), min_size=3, max_size=12))
def test_whatever_is_done_both_sides_agree_and_every_change_rolls_back(asked: list[str]) -> None:
    tables = TABLES
    for sql in asked:
        plan = _planned(sql, tables)
        if plan is None:
            continue
        assert plan_from_json(plan.to_json()) == plan
        check_every_rollback(plan)
        tables = after(plan, tables)
        _check_sides(tables)
        _planned(undo_of(plan).statement, tables)


def _planned(sql: str, tables: Tables) -> Plan | None:
    try:
        return planned(sql, tables)
    except DdlError as refused:
        code = refused.sqlstate
    except NothingToDo:
        return None
    assert code in EXPECTED, sql
    return None


def _check_sides(tables: Tables) -> None:
    by_id = {table.table_id: table for table in tables}
    sides = [(table, one) for table in tables for one in (*table.foreign_keys, *table.referenced_by)]
    for home, one in sides:
        assert one.references is not None, one
        assert one.partner is not None, one
        other = by_id[one.references].constraint(one.partner)
        assert (other.references, other.partner) == (home.table_id, one.id)
        assert (other.columns, other.reference_columns) == (one.reference_columns, one.columns)
        assert _said(other) == _said(one)


def _said(one: Constraint) -> tuple[object, ...]:
    return one.name, one.state, one.index, one.on_delete, one.on_update


def test_every_pair_of_tables_may_refer_to_each_other() -> None:
    asked = [f"ALTER TABLE {one} ADD FOREIGN KEY (x) REFERENCES {other}" for one, other in product(NAMES, NAMES)]
    tables = done(tuple(asked), TABLES)
    _check_sides(tables)
    assert [len(table.foreign_keys) for table in tables] == [3, 3, 3]
