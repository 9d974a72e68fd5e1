"""What writers will meet of a change: every kind of it, from which version on, and nothing else."""

from __future__ import annotations

import pytest

from catalog.elements import Kind
from catalog.states import Write, rule
from changes.pages.writers import WORDS, in_words, refusals
from changes.plan.element_states import state_of
from changes.plan.model import MoveKind, Plan
from tests.changes.planning.test_foreign_keys import PLANS as FOREIGN_KEYS
from tests.changes.tables import KINDS, every_plan

PLANS = every_plan()

SAID = {
    "drop a table": ["from v16 on 42P01: a statement that names table people"],
    "add a partial unique index": ["from v17 on 23505: a row with the same born as another one"],
    "drop a unique index": ["from v16 on 42P10: ON CONFLICT (name)"],
    "drop an optional column": ["from v16 on 42703: a statement that names column town"],
    "drop a column that an index covers": [
        "from v16 on 42P10: ON CONFLICT (name)",
        "from v17 on 42703: a statement that names column name",
    ],
    "drop a column that constraints read": [
        "from v16 on 42P10: ON CONFLICT (name)",
        "from v18 on 42703: a statement that names column age",
    ],
    "drop a required column": ["from v18 on 42703: a statement that names column visits"],
    "set not null": ["from v16 on 23502: NULL in name"],
    "add a check": ["from v16 on 23514: a row that breaks people_check"],
    "add unique": ["from v17 on 23505: a row with the same town, born as another one"],
    "drop unique": ["from v16 on 42P10: ON CONFLICT (name)"],
    "change a type": ["from v18 on 22...: a value of born that is no date"],
    "make a text shorter": ["from v17 on 22...: a value of town that is no varchar(5)"],
    "change a type with its cast": ["from v17 on 22...: a value of town that is no integer"],
    "rename a table": ["from v16 on 42P01: a statement that names table people, which is folk then"],
    "rename a column": ["from v16 on 42703: a statement that names column name, which is nick then"],
    "add a column, checked and unique": ["from v17 on 23505: a row with the same code as another one"],
    "add an optional column, checked": ["from v17 on 23514: a row that breaks people_check"],
    "add and drop columns": ["from v17 on 42703: a statement that names column town"],
    "add a default, drop an indexed column": [
        "from v18 on 42P10: ON CONFLICT (name)",
        "from v19 on 42703: a statement that names column name",
    ],
    "exchange a check": ["from v16 on 23514: a row that breaks older"],
    "add a primary key": [
        "from v13 on 23505: a row with the same n, at as another one",
        "from v13 on 23502: NULL in at",
    ],
    "add a primary key over NOT NULL": ["from v13 on 23505: a row with the same n as another one"],
    "make a unique index the primary key": ["from v12 on 23502: NULL in at"],
    "make a unique index the primary key, beside a column": ["from v13 on 23502: NULL in at"],
    "drop a primary key": ["from v9 on 42P10: ON CONFLICT (n)"],
    "exchange the primary key": [
        "from v10 on 23505: a row with the same n, at as another one",
        "from v10 on 23502: NULL in at",
        "from v11 on 42P10: ON CONFLICT (n)",
    ],
    "drop a column of the primary key": [
        "from v9 on 42P10: ON CONFLICT (at, n)",
        "from v9 on 42P10: ON CONFLICT (n)",
        "from v11 on 42703: a statement that names column n",
    ],
    "drop a table without a primary key": ["from v12 on 42P01: a statement that names table notes"],
    "not null and a default": ["from v16 on 23502: NULL in town"],
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_change_names_what_it_refuses(name: str) -> None:
    assert [in_words(one) for one in refusals(PLANS[name])] == SAID.get(name, [])


def test_a_foreign_key_refuses_on_both_its_sides() -> None:
    assert [in_words(one) for one in refusals(FOREIGN_KEYS["to the primary key"])] == [
        "from v8 on 23503: a row of trips whose code is not in airports (code)",
        "from v8 on 23503: to delete a row of airports, or to change its code, while a row of trips refers to it",
    ]


@pytest.mark.parametrize(
    "plan", [*PLANS.values(), *FOREIGN_KEYS.values()], ids=[*PLANS, *(f"foreign key {name}" for name in FOREIGN_KEYS)]
)
def test_a_rule_is_named_with_the_first_version_in_which_writers_keep_to_it(plan: Plan) -> None:
    """Not earlier: nobody is refused; not later: somebody would be surprised."""
    named = {one["name"]: one for one in refusals(plan) if one["sqlstate"].startswith("23")}
    for element in plan.moving(MoveKind.ADD):
        if element.name in named:
            keeping = (Write.PUT, Write.ENFORCE)
            states = {step.version: state_of(step.published, element) for step in plan.publishes}
            enforced = [v for v, state in states.items() if rule(element.kind, state).insert in keeping]
            assert named[element.name]["version"] == min(enforced)
            assert plan.forward[named[element.name]["number"]].version == min(enforced)
        assert element.kind is not Kind.INDEX or element.name not in named


def test_every_kind_has_words() -> None:
    seen = {one["kind"] for plan in (*PLANS.values(), *FOREIGN_KEYS.values()) for one in refusals(plan)}
    assert seen == set(WORDS)
