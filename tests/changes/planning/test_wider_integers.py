"""ALTER COLUMN .. TYPE from a whole number to a wider one: two versions, and no row is read."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.values.errors import NumberOutOfRange
from catalog.values.types import SqlType, fitted, holds_as_stored
from changes.ddl.errors import DdlError
from changes.pages.writers import refusals
from changes.plan.model import StepKind, describe
from changes.plan.rollback import rollback_steps
from changes.plan.undo import undo_of
from changes.review.check import find_faults
from tests.changes.referring import done
from tests.changes.referring import planned as planned_of
from tests.changes.tables import planned

TABLE = (
    "CREATE TABLE flights (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, miles smallint NOT NULL DEFAULT 7 UNIQUE,"
    " stops int, gate int, CONSTRAINT known CHECK (miles > 0 AND miles <> 13 AND stops IN (1, 2)))"
)
CHANGE = "ALTER TABLE flights ALTER "
WHOLE = (SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT)


def flights() -> Descriptor:
    return planned(TABLE, None).result


@pytest.mark.parametrize(
    ("column", "to"),
    [
        pytest.param("id", SqlType.BIGINT, id="the primary key, an identity"),
        pytest.param("miles", SqlType.BIGINT, id="indexed, with a default, in a CHECK"),
        pytest.param("miles", SqlType.INTEGER, id="one width more"),
        pytest.param("stops", SqlType.BIGINT, id="in a CHECK"),
    ],
)
def test_the_type_comes_first_and_its_values_with_the_next_version(column: str, to: SqlType) -> None:
    before = flights()
    was = before.column_named(column)
    plan = planned(f"{CHANGE}{column} TYPE {to.value}", before)
    assert [step.kind for step in plan.forward] == [StepKind.PUBLISH, StepKind.DRAIN] * 2
    first, second = (step.published for step in plan.publishes)
    assert first.column_named(column) == replace(was, type=to, length=was.type.typlen)
    assert second.column_named(column) == replace(was, type=to)
    assert replace(second, version=before.version, columns=before.columns) == before
    assert find_faults(plan) == []
    assert [describe(plan, step) for step in plan.publishes] == [
        f"publish flights@{first.version}: column {column} is of type {to.value}",
        f"publish flights@{second.version}: column {column} takes every {to.value}",
    ]
    assert plan.costs == (f"No row is read or written: {to.value} takes all that {was.type.value} does.",)
    assert plan.dangers == (
        f"Values of {column} that are no {was.type.value} are accepted from the second version on,"
        " because nodes that use the version before the first cannot read them.",
    )
    assert undo_of(plan).statement == f'ALTER TABLE "flights" ALTER COLUMN "{column}" TYPE {was.type.value}'
    assert refusals(plan) == []


def test_it_can_be_cancelled_until_the_values_are_accepted() -> None:
    before = flights()
    plan = planned(f"{CHANGE}gate TYPE bigint", before)
    publish, drain = rollback_steps(plan, 1)
    assert replace(publish.published, version=before.version) == before
    assert describe(plan, publish).endswith(": column gate has its old type again")
    assert drain.kind is StepKind.DRAIN
    with pytest.raises(AssertionError, match="there is no rollback"):
        rollback_steps(plan, 2)


def test_several_columns_and_a_longer_text_share_the_versions() -> None:
    table = planned("ALTER TABLE flights ADD code varchar(3)", flights()).result
    plan = planned(f"{CHANGE}gate TYPE bigint, ALTER stops TYPE bigint, ALTER code TYPE varchar(9)", table)
    lengths = [
        [step.published.column_named(name).length for name in ("gate", "stops", "code")] for step in plan.publishes
    ]
    assert lengths == [[4, 4, 9], [None, None, 9]]


def test_a_plan_that_takes_all_values_at_once_is_faulty() -> None:
    plan = planned(f"{CHANGE}gate TYPE bigint", flights())
    at_once = replace(plan.result, version=plan.forward[0].version)
    step = replace(plan.forward[0], descriptor=at_once)
    (fault,) = find_faults(replace(plan, forward=(step, plan.forward[1]), point_of_no_return=0))
    assert "column gate is bigint at once, after integer: a node on the version before cannot read" in str(fault)


def test_a_narrower_type_is_a_twin_that_is_filled_and_verified() -> None:
    kinds = [step.kind for step in planned(f"{CHANGE}gate TYPE smallint", flights()).forward]
    assert kinds.index(StepKind.FILL) < kinds.index(StepKind.VERIFY)


@pytest.mark.parametrize("rule", ["gate + 1 > 0", "abs(gate) > 3", "-gate < 3", "gate % 2 = 0"])
def test_a_rule_that_computes_with_the_column_would_take_other_rows(rule: str) -> None:
    """2147483647 + 1 overflows as an integer and is a number as a bigint: nodes of two versions would not agree."""
    for rule_of in (
        f"ALTER TABLE flights ADD CONSTRAINT beside CHECK ({rule})",
        f"CREATE INDEX beside ON flights (gate) WHERE {rule}",
    ):
        table = planned(rule_of, flights()).result
        with pytest.raises(DdlError, match="from integer to bigint beside what beside computes") as refused:
            planned(f"{CHANGE}gate TYPE bigint", table)
        assert refused.value.hint == "Drop beside, change the type, and create it again."


@pytest.mark.parametrize(
    "rule", ["gate BETWEEN 1 AND 9", "coalesce(gate, 0) <> 13", "CASE WHEN gate = 1 THEN id > 0 END"]
)
def test_a_rule_that_compares_takes_the_same_rows(rule: str) -> None:
    table = planned(f"ALTER TABLE flights ADD CONSTRAINT beside CHECK ({rule})", flights()).result
    assert len(planned(f"{CHANGE}gate TYPE bigint", table).publishes) == 2


def test_a_column_of_a_foreign_key_stays() -> None:
    tables = done((TABLE, "CREATE TABLE seats (id int PRIMARY KEY, flight int REFERENCES flights)"))
    for change in ("flights ALTER id", "seats ALTER flight"):
        with pytest.raises(DdlError, match="seats_flight_fkey") as refused:
            planned_of(f"ALTER TABLE {change} TYPE bigint", tables)
        assert refused.value.sqlstate == "0A000"


@pytest.mark.parametrize("of", WHOLE)
@pytest.mark.parametrize("length", [2, 4, 8, None])
def test_a_column_takes_what_its_bytes_have_room_for(of: SqlType, length: int | None) -> None:
    if length is not None and length > of.typlen:
        return
    limit = 1 << 8 * (length or of.typlen) - 1
    assert (fitted(of, length, limit - 1), fitted(of, length, -limit)) == (limit - 1, -limit)
    if length is not None:
        named = {2: "smallint", 4: "integer", 8: "bigint"}[length]
        for beyond in (limit, -limit - 1):
            with pytest.raises(NumberOutOfRange, match=f"{named} out of range"):
                fitted(of, length, beyond)


def test_one_type_holds_another_where_it_has_as_many_bytes() -> None:
    kinds = [(of, length) for of in WHOLE for length in (2, 4, None) if length is None or length < of.typlen]
    for to in kinds:
        for of in kinds:
            assert holds_as_stored(*to, *of) is ((of[1] or of[0].typlen) <= (to[1] or to[0].typlen))
