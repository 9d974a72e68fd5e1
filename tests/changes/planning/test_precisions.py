"""ALTER COLUMN .. TYPE between precisions of times: one version where all digits stay, a twin that rounds else."""

import datetime as dt
from dataclasses import replace
from itertools import product

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from catalog.values.types import MOMENTS, SqlType, fitted, holds_as_stored
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.pages.writers import refusals
from changes.plan.model import StepKind, describe
from changes.plan.undo import undo_of
from changes.planning.alter.castable_types import holds_every
from changes.review.check import find_faults
from storage import encoding
from storage.derived import derived_value, matches
from storage.pairs import StoredRow, row_key
from tests.changes.referring import done
from tests.changes.referring import planned as planned_of
from tests.changes.tables import planned

TABLE = (
    "CREATE TABLE runs (at timestamp(3) PRIMARY KEY, zero timestamp(0) NOT NULL UNIQUE, there timestamptz(2),"
    " clock time(0) DEFAULT '09:00', plain timestamp, many timestamp(3)[], word text,"
    " CONSTRAINT late CHECK (zero > '2000-01-01'))"
)
CHANGE = "ALTER TABLE runs ALTER "


def runs() -> Descriptor:
    return planned(TABLE, None).result


@pytest.mark.parametrize(
    ("does", "column", "of"),
    [
        ("zero TYPE timestamp(3)", "zero", "timestamp(3)"),
        ("zero TYPE timestamp", "zero", "timestamp"),
        ("zero TYPE timestamp USING zero::timestamp", "zero", "timestamp"),
        ("at TYPE timestamp(6)", "at", "timestamp(6)"),
        ("there TYPE timestamp(4) with time zone", "there", "timestamptz(4)"),
        ("there TYPE timestamptz(3) USING there::timestamptz(3)", "there", "timestamptz(3)"),
        ("clock TYPE time(1)", "clock", "time(1)"),
        ("plain TYPE timestamp(6)", "plain", "timestamp(6)"),
        ("many TYPE timestamp(5)[]", "many", "timestamp(5)[]"),
    ],
)
def test_more_digits_are_one_version_that_reads_no_row(does: str, column: str, of: str) -> None:
    """Of a key and under a unique index and a CHECK as well."""
    before = runs()
    plan = planned(CHANGE + does, before)
    assert [step.kind for step in plan.forward] == [StepKind.PUBLISH, StepKind.DRAIN]
    new, was = plan.result.column_named(column), before.column_named(column)
    assert new.type_name == of
    assert replace(plan.result, version=before.version, columns=before.columns) == before
    assert replace(new, length=was.length) == was
    assert describe(plan, plan.forward[0]) == f"publish runs@{plan.result.version}: column {column} is of type {of}"
    assert plan.dangers == ()
    assert plan.costs == (f"No row is read or written: {of} takes all that {was.type_name} does.",)
    assert undo_of(plan).statement == f'ALTER TABLE "runs" ALTER COLUMN "{column}" TYPE {was.type_name}'


@pytest.mark.parametrize(
    ("does", "named", "says"),
    [
        ("there TYPE timestamptz(0)", "timestamptz(0)", True),
        ("there TYPE timestamptz(1) USING there::timestamptz(1)", "timestamptz(1)", True),
        ("plain TYPE timestamp(3)", "timestamp(3)", True),
        ("there TYPE timestamp(1)", "timestamp(1)", True),
        ("there TYPE timestamp(2)", "timestamp(2)", False),
        ("plain TYPE timestamptz(0)", "timestamptz(0)", True),
        ("clock TYPE text", "text", False),
        ("word TYPE time(0)", "time(0)", True),
        ("word TYPE timestamp(3)", "timestamp(3)", True),
    ],
)
def test_fewer_digits_are_a_twin_and_the_plan_says_that_values_are_rounded(does: str, named: str, says: bool) -> None:
    plan = planned(CHANGE + does, runs())
    column = does.split()[0]
    assert plan.publishes[0].published.column_named(f"{column} (as {named})").type_name == named
    assert plan.result.column_named(column).type_name == named
    words = f"Values of {column} are rounded to what {named} keeps of a second."
    assert (words in plan.dangers) is says
    past = f"A value of {column} that is rounded into the year 10000 makes the change roll back, and names the row."
    assert (past in plan.dangers) is (says and "timestamp" in named)
    assert find_faults(plan) == []


def test_a_twin_of_fewer_digits_has_rounded_values_and_takes_every_value() -> None:
    plan = planned(CHANGE + "plain TYPE timestamp(0)", runs())
    before, after = (plan.publishes[n].published for n in (1, 2))
    plain, twin = before.column_named("plain"), before.column_named("plain (as timestamp(0))")
    moment = dt.datetime.fromisoformat("2024-01-01 00:00:00.5")
    row = StoredRow(row_key(before, [moment]), {plain.id: encoding.encode(SqlType.TIMESTAMP, moment)})
    rounded = derived_value(before, twin, row)
    assert encoding.decode(twin.type, rounded)[0] == dt.datetime.fromisoformat("2024-01-01 00:00:01")
    both = StoredRow(row.key, {**row.columns, twin.id: rounded})
    assert matches(before, twin, both)
    assert matches(after, after.column_named("plain (was timestamp)"), both)
    cut = encoding.encode(SqlType.TIMESTAMP, moment.replace(microsecond=0))
    assert not matches(before, twin, StoredRow(row.key, {**row.columns, twin.id: cut}))
    assert refusals(plan) == []


@pytest.mark.parametrize(
    ("does", "sqlstate", "message"),
    [
        ("|zero TYPE timestamptz(0)", "0A000", "a type change of zero, which is indexed or constrained by"),
        ("|at TYPE timestamp(2)", "0A000", "a type change of at, a column of the key, is not possible"),
        ("many TYPE |timestamp(2)[]", "0A000", "a change of many from timestamp(3)[] to timestamp(2)[]"),
        ("plain TYPE |timestamp(3) USING plain::timestamp(0)", "0A000", "a cast without an inverse"),
        ("plain TYPE |time(3)", "0A000", "a cast without an inverse, from timestamp to time"),
    ],
)
def test_what_is_refused(does: str, sqlstate: str, message: str) -> None:
    text = CHANGE + does
    with pytest.raises(DdlError) as refused:
        planned(text.replace("|", ""), runs())
    assert (refused.value.sqlstate, refused.value.position) == (sqlstate, text.index("|") + 1)
    assert message in refused.value.message


def test_a_precision_that_is_so_already_is_a_notice() -> None:
    with pytest.raises(NothingToDo, match=r"column zero is of type timestamp\(0\) already, skipping"):
        planned(CHANGE + "zero TYPE timestamp(0)", runs())


def test_both_sides_of_a_foreign_key_may_have_two_precisions() -> None:
    tables = done((TABLE, "CREATE TABLE laps (id int PRIMARY KEY, run timestamp(1) REFERENCES runs)"))
    for change in ("runs ALTER at", "laps ALTER run"):
        assert len(planned_of(f"ALTER TABLE {change} TYPE timestamp(4)", tables).publishes) == 1


def test_a_plan_that_takes_digits_away_at_once_is_faulty() -> None:
    plan = planned(CHANGE + "zero TYPE timestamp(3)", runs())
    assert find_faults(plan) == []
    with_three = planned(CHANGE + "there TYPE timestamptz(3)", runs()).result
    plan = planned(CHANGE + "there TYPE timestamptz(4)", with_three)
    there = plan.result.column_named("there")
    columns = tuple(replace(c, length=0) if c.id == there.id else c for c in plan.result.columns)
    step = replace(plan.forward[0], descriptor=replace(plan.result, columns=columns))
    (fault,) = find_faults(replace(plan, forward=(step, *plan.forward[1:])))
    assert "column there is timestamptz(0) at once, after timestamptz(3): an existing row" in str(fault)


def test_a_default_keeps_its_digits_where_they_are_written_and_a_cast_rounds_it() -> None:
    """As in PostgreSQL: it is the assignment that rounds, so that more digits give them back."""
    table = planned(
        "CREATE TABLE t (id int PRIMARY KEY, a timestamp(3) DEFAULT '2024-01-01 00:00:00.123456',"
        " b timestamp(2) DEFAULT '2024-01-01 00:00:00.123456'::timestamp(4),"
        " c timestamptz(0) DEFAULT current_timestamp(3), d time(1) DEFAULT CAST('23:59:59.5' AS time(0)))",
        None,
    ).result
    assert [table.column_named(name).default for name in "abcd"] == [
        "'2024-01-01 00:00:00.123456'::timestamp", "'2024-01-01 00:00:00.1235'::timestamp", "current_timestamp(3)",
        "'24:00:00'::time",
    ]  # fmt: skip
    narrowed = planned("ALTER TABLE t ALTER a TYPE timestamp(1)", table).result
    assert narrowed.column_named("a").default == "'2024-01-01 00:00:00.1'::timestamp"


@pytest.mark.parametrize(
    ("column", "filled"),
    [
        ("timestamp(3) DEFAULT '2024-01-01 00:00:00.1235'", "2024-01-01 00:00:00.124"),
        ("timestamp(0) DEFAULT '1999-12-31 23:59:59.5'::timestamp(1)", "1999-12-31 23:59:59"),
        ("timestamp(2) DEFAULT CAST('2024-01-01 00:00:00.1249' AS timestamp(3))", "2024-01-01 00:00:00.13"),
    ],
)
def test_a_fill_puts_what_the_column_takes(column: str, filled: str) -> None:
    plan = planned(f"ALTER TABLE runs ADD made {column} NOT NULL", runs())
    value = plan.result.column_named("made").fill_value
    assert value is not None
    assert encoding.decode(SqlType.TIMESTAMP, value)[0] == dt.datetime.fromisoformat(filled)


# --- the rules

KINDS = [*product(MOMENTS, (None, 0, 3, 6)), (SqlType.DATE, None)]
MICROSECONDS = (0, 1, 499, 500, 501, 1000, 499_999, 500_000, 999_999)


@pytest.mark.parametrize(("to", "of"), [*product(KINDS, KINDS)])
def test_the_same_bytes_are_kept_exactly_where_every_value_of_the_one_is_stored_so_by_the_other(to, of) -> None:
    if to[0] is not of[0] or SqlType.DATE in (to[0], of[0]):
        assert holds_as_stored(*to, *of) is (to == of)
        return
    start = dt.timedelta(hours=9)
    if of[0] is not SqlType.TIME:
        start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC if of[0] is SqlType.TIMESTAMPTZ else None)
    values = [fitted(*of, start + dt.timedelta(microseconds=some)) for some in MICROSECONDS]
    assert holds_as_stored(*to, *of) is all(fitted(*to, value) == value for value in values)


@pytest.mark.parametrize(
    ("of", "to", "holds"),
    [
        (SqlType.TIMESTAMP, SqlType.TIMESTAMP, True),
        (SqlType.TIME, SqlType.TIME, True),
        (SqlType.DATE, SqlType.TIMESTAMP, True),
        (SqlType.TEXT, SqlType.TIMESTAMP, False),
        (SqlType.TIMESTAMPTZ, SqlType.TIMESTAMP, False),
    ],
)
def test_only_of_a_cast_that_can_fail_the_plan_warns(of: SqlType, to: SqlType, holds: bool) -> None:
    assert holds_every(Column(ColumnId(1), "c", to, length=0), Column(ColumnId(2), "d", of)) is holds
