"""The undo that is offered later: of the elements that the change moved, whatever bears their names by then."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import State, TableId
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import parse
from changes.plan.model import Element, Plan
from changes.plan.namesakes import namesakes
from changes.plan.undo_today import NoUndo, Offer, offer
from changes.planning.planner import make_plan
from tests.changes.tables import every_plan
from tests.rounds import drawn

T = "CREATE TABLE t (id int PRIMARY KEY, a text, b varchar(10), n int, d int DEFAULT 1)"
P = "CREATE TABLE p (id int PRIMARY KEY)"
Tables = tuple[Descriptor, ...]


def planned(sql: str, tables: Tables) -> Plan:
    view = CatalogView(tables)
    action = resolve(parse(sql), view)
    table_id = TableId(1 + max((table.table_id for table in tables), default=0))
    return make_plan(action, view.named(action.table.text), table_id=table_id, tables=view)


def after(plan: Plan, tables: Tables) -> Tables:
    """The tables as the plan leaves them; those that are dropped are kept as absent, so that no id comes again."""
    return tuple(({table.table_id: table for table in tables} | {one.table_id: one for one in plan.results}).values())


def done(*statements: str) -> tuple[list[Plan], Tables]:
    plans: list[Plan] = []
    tables: Tables = ()
    for sql in statements:
        plans.append(planned(sql, tables))
        tables = after(plans[-1], tables)
    return plans, tables


def offered(plan: Plan, tables: Tables) -> Offer:
    return offer(plan, CatalogView(tuple(table for table in tables if table.state is not State.ABSENT)))


@pytest.mark.parametrize("name", every_plan())
def test_right_after_a_change_of_any_kind_its_undo_is_offered(name: str) -> None:
    plan = every_plan()[name]
    assert offered(plan, (plan.result,)).undo.statement


BASE = (T, "ALTER TABLE t ADD c text", "CREATE INDEX i ON t (n)", "ALTER TABLE t ADD CONSTRAINT k CHECK (n > 0)")


@pytest.mark.parametrize(
    ("at", "statements", "undo"),
    [
        pytest.param(0, ("CREATE TABLE ua (id int PRIMARY KEY)", "ALTER TABLE ua RENAME TO ub",
            "CREATE TABLE ua (id int PRIMARY KEY)"), 'DROP TABLE "ub"', id="a table whose name another has now"),
        pytest.param(2, (*BASE, "ALTER INDEX i RENAME TO j", "CREATE INDEX i ON t (a)"), 'DROP INDEX "j"',
            id="an index whose name another has now"),
        pytest.param(1, (*BASE, "ALTER TABLE t RENAME c TO e", "ALTER TABLE t ADD c int"),
            'ALTER TABLE "t" DROP COLUMN "e"', id="a column whose name another has now"),
        pytest.param(3, (*BASE, "ALTER TABLE t RENAME CONSTRAINT k TO l",
            "ALTER TABLE t ADD CONSTRAINT k CHECK (a > '')"),
            'ALTER TABLE "t" DROP CONSTRAINT "l"',
            id="a constraint whose name another has now"),
        pytest.param(1, (T, "ALTER TABLE t ALTER d SET DEFAULT 2", "ALTER TABLE t RENAME d TO e",
            "ALTER TABLE t RENAME TO s", T),
            'ALTER TABLE "s" ALTER COLUMN "e" SET DEFAULT 1', id="a default under new names"),
        pytest.param(1, (T, "ALTER TABLE t ALTER n TYPE bigint", "ALTER TABLE t RENAME n TO m",
            "ALTER TABLE t ADD n int"), 'ALTER TABLE "t" ALTER COLUMN "m" TYPE integer',
            id="a type under new names"),
        pytest.param(1, (T, "ALTER TABLE t ALTER a SET NOT NULL", "ALTER TABLE t RENAME a TO e",
            "ALTER TABLE t ADD a int"), 'ALTER TABLE "t" ALTER COLUMN "e" DROP NOT NULL',
            id="a NOT NULL under new names"),
        pytest.param(1, (T, "COMMENT ON COLUMN t.a IS 'x'", "ALTER TABLE t RENAME a TO e", "ALTER TABLE t ADD a int"),
            'COMMENT ON COLUMN "t"."e" IS NULL', id="a comment under new names"),
        pytest.param(1, (T, "ALTER TABLE t SET (sharding_key = 'a')", "ALTER TABLE t RENAME TO s", T),
            """ALTER TABLE "s" SET (sharding_key = '', sharding_func = 'strcrc32')""",
            id="a placement under new names"),
        pytest.param(1, (T, "ALTER TABLE t RENAME a TO e", "ALTER TABLE t RENAME TO s", T),
            'ALTER TABLE "s" RENAME COLUMN "e" TO "a"', id="a rename in a table renamed since"),
        pytest.param(4, (*BASE, "DROP INDEX i", "ALTER TABLE t RENAME n TO m", "ALTER TABLE t ADD n int"),
            'CREATE INDEX "i" ON "t" ("m")', id="an index comes back over the column it had"),
        pytest.param(4, (*BASE, "ALTER TABLE t DROP CONSTRAINT k", "ALTER TABLE t RENAME n TO m"),
            'ALTER TABLE "t" ADD CONSTRAINT "k" CHECK (m > 0)', id="a rule comes back over the column it had"),
        pytest.param(1, (T, "ALTER TABLE t DROP a", "ALTER TABLE t RENAME TO s", T),
            'ALTER TABLE "s" ADD COLUMN "a" text', id="a column comes back to its own table"),
    ],
)  # fmt: skip
def test_an_undo_is_of_the_same_elements_under_their_names_of_today(
    at: int, statements: tuple[str, ...], undo: str
) -> None:
    plans, tables = done(*statements)
    assert offered(plans[at], tables).undo.statement == undo


@pytest.mark.parametrize(
    ("at", "statements", "why"),
    [
        pytest.param(0, (T, "DROP TABLE t", T), "table t no longer exists", id="another table of the name"),
        pytest.param(2, (*BASE, "DROP INDEX i", "CREATE INDEX i ON t (a)"), "index i no longer exists",
            id="another index of the name"),
        pytest.param(1, (*BASE, "ALTER TABLE t DROP c", "ALTER TABLE t ADD c text"), "column c no longer exists",
            id="another column of the name"),
        pytest.param(3, (*BASE, "ALTER TABLE t DROP CONSTRAINT k", "ALTER TABLE t ADD CONSTRAINT k CHECK (n > 0)"),
            "constraint k no longer exists", id="another constraint of the name"),
        pytest.param(1, (T, "ALTER TABLE t ALTER d SET DEFAULT 2", "ALTER TABLE t ALTER d SET DEFAULT 3"),
            "column d has changed since", id="a later default"),
        pytest.param(1, (T, "ALTER TABLE t ALTER id ADD GENERATED ALWAYS AS IDENTITY",
            "ALTER TABLE t ALTER id DROP IDENTITY", "ALTER TABLE t ALTER id ADD GENERATED ALWAYS AS IDENTITY"),
            "column id has changed since", id="numbers of a later identity"),
        pytest.param(1, (T, "ALTER TABLE t ALTER n TYPE numeric", "ALTER TABLE t ALTER n TYPE text"),
            "column n (as numeric) no longer exists", id="a later type"),
        pytest.param(1, (T, "ALTER TABLE t RENAME a TO e", "ALTER TABLE t RENAME e TO f"), "column a has changed since",
            id="a later name"),
        pytest.param(0, (T, "ALTER TABLE t RENAME TO u", "ALTER TABLE u ADD e int"), "table t has changed since",
            id="a table that has a column more"),
        pytest.param(1, (T, "COMMENT ON TABLE t IS 'x'", "COMMENT ON TABLE t IS 'y'"), "table t has changed since",
            id="a later comment"),
        pytest.param(1, (T, "ALTER TABLE t SET (sharding_key = 'a')", "ALTER TABLE t SET (sharding_key = 'n')"),
            "no longer exists", id="a later sharding key"),
        pytest.param(1, (T, "ALTER TABLE t SET (coordination = 'both')", "ALTER TABLE t SET (coordination = 'hash')"),
            "table t has changed since", id="a later coordination"),
        pytest.param(1, (T, "ALTER TABLE t ADD c int", "CREATE INDEX i ON t (c)"), "it would also change index i",
            id="an index made over the added column"),
        pytest.param(4, (*BASE, "DROP INDEX i", "ALTER TABLE t DROP n", "ALTER TABLE t ADD n int"),
            "column n, which index i reads, no longer exists", id="an index over a column that is another now"),
        pytest.param(4, (*BASE, "DROP INDEX i", "CREATE INDEX i ON t (a)"), 'relation "i" already exists',
            id="a name that is taken"),
        pytest.param(1, (T, "DROP TABLE t", T), 'relation "t" already exists', id="a table's name that is taken"),
        pytest.param(2, (T, "CREATE INDEX i ON t (b)", "ALTER TABLE t ALTER b TYPE varchar(20)"), "it would be refused",
            id="a longer varchar of an indexed column"),
        pytest.param(3, (P, T, "ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (n) REFERENCES p",
            "ALTER TABLE t DROP CONSTRAINT f", "DROP TABLE p", P),
            "foreign key f refers to a table or column that no longer exists",
            id="a reference to a table that is another"),
    ],
)  # fmt: skip
def test_no_undo_is_offered_for_what_is_gone_or_has_changed(at: int, statements: tuple[str, ...], why: str) -> None:
    plans, tables = done(*statements)
    with pytest.raises(NoUndo) as none:
        offered(plans[at], tables)
    assert why in str(none.value)


# --- any changes, one after the other

STATEMENTS = (
    "CREATE TABLE {t} (id int PRIMARY KEY, x int, y varchar(9) DEFAULT 'y', z int)",
    "DROP TABLE {t}",
    "ALTER TABLE {t} RENAME TO {u}",
    "ALTER TABLE {t} RENAME {c} TO {d}",
    "ALTER TABLE {t} ADD {c} int",
    "ALTER TABLE {t} ADD {c} int NOT NULL DEFAULT 3 UNIQUE CHECK ({c} > 0)",
    "ALTER TABLE {t} DROP {c}",
    "ALTER TABLE {t} DROP {c}, ADD {d} text",
    "ALTER TABLE {t} ALTER {c} SET DEFAULT {n}",
    "ALTER TABLE {t} ALTER {c} DROP DEFAULT",
    "ALTER TABLE {t} ALTER {c} TYPE bigint",
    "ALTER TABLE {t} ALTER {c} TYPE varchar(1{n})",
    "ALTER TABLE {t} ALTER {c} SET NOT NULL",
    "ALTER TABLE {t} ALTER {c} DROP NOT NULL",
    "CREATE INDEX {i} ON {t} ({c})",
    "CREATE UNIQUE INDEX {i} ON {t} ({c}) WHERE {d} IS NOT NULL",
    "DROP INDEX {i}",
    "ALTER INDEX {i} RENAME TO {j}",
    "ALTER TABLE {t} ADD CONSTRAINT {i} CHECK ({c} > {d})",
    "ALTER TABLE {t} ADD CONSTRAINT {i} FOREIGN KEY ({c}) REFERENCES {u}",
    "ALTER TABLE {t} DROP CONSTRAINT {i}",
    "ALTER TABLE {t} RENAME CONSTRAINT {i} TO {j}",
    "COMMENT ON COLUMN {t}.{c} IS '{n}'",
    "COMMENT ON TABLE {t} IS '{n}'",
    "COMMENT ON INDEX {i} IS '{n}'",
    "ALTER TABLE {t} SET (sharding_key = '{c}')",
    "ALTER TABLE {t} SET (coordination = 'both')",
    "ALTER TABLE {t} SET (coordination = 'lease')",
    "ALTER TABLE {t} ALTER {c} ADD GENERATED ALWAYS AS IDENTITY",
)
tables_named, columns_named, others_named = st.sampled_from("tu"), st.sampled_from("xyz"), st.sampled_from("ij")


@st.composite
def statements(draw: st.DrawFn) -> str:
    names = {"t": draw(tables_named), "u": draw(tables_named), "c": draw(columns_named), "d": draw(columns_named)}
    names |= {"i": draw(others_named), "j": draw(others_named), "n": draw(st.sampled_from("12"))}
    return draw(st.sampled_from(STATEMENTS)).format(**names)


@drawn(few=60, many=1500)
@given(st.lists(st.one_of(statements(), st.integers(0, 20)), min_size=6, max_size=30))
def test_an_offered_undo_changes_nothing_but_the_elements_of_its_change(asked: list[str | int]) -> None:
    """A number is the change whose undo is applied then, if one is offered."""
    plans, tables = done(*(STATEMENTS[0].format(t=name) for name in "tu"))
    for one in asked:
        try:
            plan = planned(one, tables) if isinstance(one, str) else _offered_at(plans, one, tables)
        except (DdlError, NothingToDo, NoUndo):
            continue
        if isinstance(one, int):
            _check_rest(plans[one % len(plans)], tables, after(plan, tables))
        plans.append(plan)
        tables = after(plan, tables)


def _offered_at(plans: list[Plan], at: int, tables: Tables) -> Plan:
    """The plan of the undo as it would be submitted."""
    return planned(offered(plans[at % len(plans)], tables).undo.statement, tables)


def _check_rest(plan: Plan, before: Tables, then: Tables) -> None:
    """Every element that was there and that the change did not move is as it was, whatever it is called."""
    now = {table.table_id: _elements(table, plan) for table in then}
    for table in before:
        left = _elements(table, plan)
        assert left == {key: one for key, one in now[table.table_id].items() if key in left}, (plan.title, table.name)


def _elements(table: Descriptor, plan: Plan) -> dict[Any, Any]:
    """The elements of a table that the change does not move."""
    if table.state is State.ABSENT:
        return {}
    of_table = table.table_id in (plan.table_id, *(partner.table_id for partner in plan.partners))
    moved = {_key(move.element) for move in plan.moves} if of_table else set()
    moved |= {(move.element.kind.family, move.element.partner[1]) for move in plan.moves if move.element.partner}
    if table.table_id == plan.table_id and any(move.element.id == plan.table_id for move in plan.moves):
        moved.add(("table", 0))
        if plan.base is None:
            return {}
    loose = {move.element.column for move in plan.moves if move.element.column is not None and of_table}
    bare = [replace(one, sequence=None, not_null_constraint=None) for one in table.columns]
    columns = [replace(one, not_null=False) if one.id in loose else one for one in bare]
    found: dict[Any, Any] = {
        (one.kind.family, one.id): one for one in (*columns, *table.indexes, *table.constraints, *table.placements)
    }
    found["table", 0] = table.name, table.primary_key, table.coordination, table.comment, table.key_comment
    return {key: one for key, one in found.items() if key not in moved}


def _key(element: Element) -> tuple[object, int]:
    return element.kind.family, element.id


# --- the same statement again


@pytest.mark.parametrize(
    ("statement", "since", "others"),
    [
        ("CREATE INDEX i ON t (n)", ("ALTER TABLE t RENAME n TO m", "ALTER TABLE t ADD n int"), ["column n"]),
        ("CREATE INDEX i ON t (n)", ("ALTER TABLE t RENAME TO s", T), ["table t", "column n"]),
        ("DROP INDEX k", ("ALTER INDEX k RENAME TO l", "CREATE INDEX k ON t (a)"), ["index k"]),
        ("ALTER TABLE t DROP d", ("ALTER TABLE t DROP d", "ALTER TABLE t ADD d int"), ["column d"]),
        ("ALTER TABLE t ALTER n SET NOT NULL", ("ALTER TABLE t DROP n", "ALTER TABLE t ADD n int"), ["column n"]),
        ("CREATE INDEX i ON t (n)", ("ALTER TABLE t ALTER n TYPE bigint", "ALTER TABLE t ADD m int"), []),
        ("ALTER TABLE t ADD e int REFERENCES p", ("DROP TABLE p", P), ["table p"]),
        ("CREATE TABLE e (id int PRIMARY KEY REFERENCES p)", ("ALTER TABLE p RENAME TO q", P), ["table p"]),
    ],
)  # fmt: skip
def test_the_names_of_a_statement_that_mean_other_elements_are_named(
    statement: str, since: tuple[str, ...], others: list[str]
) -> None:
    _, tables = done(T, "CREATE INDEX k ON t (b)", P)
    old = planned(statement, tables)
    for sql in since:
        tables = after(planned(sql, tables), tables)
    present = tuple(table for table in tables if table.state is not State.ABSENT)
    assert sorted(namesakes(old, planned(statement, present))) == sorted(others)
