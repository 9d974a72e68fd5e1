"""Cases of a plan as orders of tiles."""

from dataclasses import replace

import pytest

from catalog.elements import Kind
from lab.explorer.model import Model, stage_named
from lab.explorer.variants import all_variants
from lab.own.cases import cases_of
from lab.own.orders import order_of
from lab.own.statements import planned

INDEX = Model(Kind.INDEX, tuple(map(stage_named, ("absent", "delete-only", "public"))))
TWO = tuple(map(stage_named, ("absent+absent", "delete-only+delete-only", "public+public")))
TABLE = "CREATE TABLE t (id bigint PRIMARY KEY, a bigint, b bigint);"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        pytest.param(
            "CREATE INDEX i ON t (a)", ("delete-only", "write-only", "fill", "public"), id="an index is added"
        ),
        pytest.param(
            "CREATE UNIQUE INDEX i ON t (a)",
            ("delete-only", "write-only", "fill", "verify", "public"),
            id="a unique one",
        ),
        pytest.param("ALTER TABLE t DROP COLUMN b", ("delete-only", "delete", "absent"), id="a column is dropped"),
    ],
)
def test_a_plan_is_the_order_of_its_states_and_work(statement: str, expected: tuple[str, ...]) -> None:
    plan = planned(f"{TABLE} {statement};")[-1].plan
    assert plan is not None
    [case] = cases_of(plan).cases
    order = order_of(case.model)
    assert order is not None
    assert order.tiles == expected
    assert order.model.stages == case.model.stages


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(replace(INDEX, partial=True), id="a partial index"),
        pytest.param(replace(INDEX, kind=Kind.OPTIONAL_COLUMN, also=(Kind.INDEX,), stages=TWO), id="two elements"),
        pytest.param(all_variants()["add-foreign-key"].model, id="a foreign key"),
    ],
)
def test_what_tiles_cannot_say_is_no_ladder(model: Model) -> None:
    assert order_of(model) is None
