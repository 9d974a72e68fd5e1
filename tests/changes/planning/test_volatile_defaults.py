"""Defaults that each row works out anew: taken where only inserts see them, refused where one value would fill many."""

import re

import pytest

from catalog.descriptor import Descriptor
from catalog.values.types import SqlType
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView
from changes.plan.undo import undo_of
from changes.planning.copied_tables import copied
from tests.changes.tables import planned

TABLE = (
    "CREATE TABLE things (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n int,"
    " weight double precision DEFAULT random(), made timestamp DEFAULT (now() AT TIME ZONE 'utc'),"
    " at timestamptz NOT NULL DEFAULT clock_timestamp(), code text DEFAULT upper('k-' || uuidv4()::text))"
)
CHANGE = "ALTER TABLE things "


def things() -> Descriptor:
    return planned(TABLE, None).result


def test_a_table_keeps_them_as_they_were_written_and_nothing_to_fill_with() -> None:
    table = things()
    assert [column.default for column in table.public_columns] == [
        "gen_random_uuid()",
        None,
        "random()",
        "now() AT TIME ZONE 'utc'",
        "clock_timestamp()",
        "upper('k-' || uuidv4()::text)",
    ]
    assert all(column.fill_value is None for column in table.columns)


@pytest.mark.parametrize(
    ("column", "default"),
    [("id", "uuidv4()"), ("weight", "1 - random()"), ("code", "'c' || random()::text"), ("n", "(random() * 6)::int")],
)
def test_a_column_that_is_there_gets_one_in_one_version_and_its_undo_gives_the_old_one_back(
    column: str, default: str
) -> None:
    before = things()
    plan = planned(f"{CHANGE}ALTER {column} SET DEFAULT {default}", before)
    assert len(plan.publishes) == 1
    assert plan.result.column_named(column).default == default
    back = planned(undo_of(plan).statement, plan.result)
    assert [c.default for c in back.result.columns] == [c.default for c in before.columns]


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("ADD c uuid DEFAULT gen_random_uuid()", "a volatile default gen_random_uuid() on an added column"),
        ("ADD c text DEFAULT md5('x')", "a default with md5() on an added column"),
        ("ADD c timestamp DEFAULT (now() AT TIME ZONE 'utc')", "a default with timezone() on an added column"),
        ("ALTER made TYPE text", "a default with timezone() of a column whose type changes"),
        ("ALTER weight TYPE real", "a volatile default random() of a column whose type changes"),
        ("ALTER at TYPE timestamp", "a volatile default clock_timestamp() of a column whose type changes"),
    ],
)
def test_where_one_value_would_do_for_several_rows_they_are_refused(does: str, message: str) -> None:
    with pytest.raises(DdlError, match=re.escape(message)) as refused:
        planned(CHANGE + does, things())
    assert refused.value.sqlstate == "0A000"
    assert "DEFAULT" in (refused.value.hint or "")


def test_another_length_of_the_same_values_keeps_one() -> None:
    """It is one version, and no row is touched."""
    table = planned("CREATE TABLE things (id int PRIMARY KEY, code varchar(40) DEFAULT uuidv4()::text)", None).result
    wider = planned(f"{CHANGE}ALTER code TYPE varchar(60)", table).result.column_named("code")
    assert (wider.type, wider.length, wider.default) == (SqlType.VARCHAR, 60, "uuidv4()::text")


def test_a_dropped_column_comes_back_without_it_and_gets_it_afterwards() -> None:
    plan = planned(f"{CHANGE}DROP at", things())
    undo = undo_of(plan)
    assert undo.statement == 'ALTER TABLE "things" ADD COLUMN "at" timestamptz'
    afterwards = 'ALTER TABLE "things" ALTER COLUMN "at" SET DEFAULT clock_timestamp()'
    assert undo.warning.endswith(f"Statements of their own, afterwards: {afterwards}")
    again = planned(afterwards, planned(undo.statement, plan.result).result).result
    assert again.column_named("at").default == "clock_timestamp()"


def test_a_dropped_table_comes_back_with_them() -> None:
    table = things()
    made = planned(undo_of(planned("DROP TABLE things", table)).statement, None).result
    assert [c.default for c in made.public_columns] == [c.default for c in table.public_columns]


def test_a_copy_has_them_where_it_asks_for_defaults() -> None:
    copy = copied("CREATE TABLE others (n int PRIMARY KEY, LIKE things INCLUDING DEFAULTS)", CatalogView((things(),)))
    assert "id uuid NOT NULL DEFAULT gen_random_uuid(), " in copy.create
    assert "weight double precision DEFAULT random(), " in copy.create
