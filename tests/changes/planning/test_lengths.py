"""ALTER COLUMN .. TYPE between texts of any length: one version where what is stored stays, a twin where it may not."""

from dataclasses import replace
from itertools import product

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from catalog.values.errors import TooLong
from catalog.values.types import LENGTHS, TEXTS, SqlType, fitted, holds_as_stored
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.pages.writers import refusals
from changes.plan.model import StepKind, describe, is_point_of_no_return
from changes.plan.undo import undo_of
from changes.planning.alter.castable_types import INVERTIBLE, holds_every
from changes.review.check import find_faults
from storage import encoding
from storage.derived import derived_value, matches
from storage.pairs import StoredRow, row_key
from tests.changes.referring import done
from tests.changes.referring import planned as planned_of
from tests.changes.tables import planned

TABLE = (
    "CREATE TABLE books (isbn varchar(13) PRIMARY KEY, title varchar(50) NOT NULL UNIQUE, code char(3), note text,"
    " word varchar, kind varchar(9) DEFAULT 'a novel', CONSTRAINT named CHECK (title <> ''))"
)
CHANGE = "ALTER TABLE books ALTER "


def books() -> Descriptor:
    return planned(TABLE, None).result


@pytest.mark.parametrize(
    ("does", "column", "of"),
    [
        ("title TYPE varchar(255)", "title", "varchar(255)"),
        ("isbn TYPE varchar(17)", "isbn", "varchar(17)"),
        ("title TYPE varchar", "title", "varchar"),
        ("title TYPE text", "title", "text"),
        ("title TYPE text USING title::text", "title", "text"),
        ("title TYPE varchar(60) USING title::varchar(60)", "title", "varchar(60)"),
        ("title TYPE varchar(60) USING title", "title", "varchar(60)"),
        ("code TYPE char(5)", "code", "char(5)"),
        ("word TYPE text", "word", "text"),
        ("note TYPE varchar", "note", "varchar"),
        ("kind TYPE text", "kind", "text"),
    ],
)
def test_what_takes_every_stored_value_is_one_version_and_touches_nothing_else(does: str, column: str, of: str) -> None:
    """Of a key and under a unique index and a CHECK as well."""
    before = books()
    plan = planned(CHANGE + does, before)
    assert [step.kind for step in plan.forward] == [StepKind.PUBLISH, StepKind.DRAIN]
    new, was = plan.result.column_named(column), before.column_named(column)
    assert new.type_name == of
    assert replace(plan.result, version=before.version, columns=before.columns) == before
    assert replace(new, type=was.type, length=was.length) == was
    assert describe(plan, plan.forward[0]) == f"publish books@{plan.result.version}: column {column} is of type {of}"
    assert undo_of(plan).statement == f'ALTER TABLE "books" ALTER COLUMN "{column}" TYPE {was.type_name}'


def test_the_undo_of_a_longer_text_is_a_change_that_looks_at_every_row() -> None:
    table = planned("ALTER TABLE books ALTER kind TYPE varchar(20)", books()).result
    plan = planned("ALTER TABLE books ALTER kind TYPE varchar(9)", table)
    kinds = [step.kind for step in plan.forward]
    assert kinds.index(StepKind.FILL) < kinds.index(StepKind.VERIFY) < plan.point_of_no_return
    twin = plan.publishes[0].published.column_named("kind (as varchar(9))")
    assert (twin.length, plan.result.column_named("kind").type_name) == (9, "varchar(9)")
    assert plan.result.column_named("kind").default == "'a novel'"
    assert "A value of kind that is no varchar(9) makes the change roll back, and names the row." in plan.dangers


@pytest.mark.parametrize(("of", "using"), [("varchar(4)", "note::varchar(4)"), ("char(4)", "CAST(note AS char(4))")])
def test_a_cast_that_is_written_out_cuts_what_is_too_long(of: str, using: str) -> None:
    """As in PostgreSQL, and as Django writes it; without USING such a value is refused."""
    plan = planned(CHANGE + f"note TYPE {of} USING {using}", books())
    before, after = (plan.publishes[n].published for n in (1, 2))
    twin = before.column_named(f"note (as {of})")
    row = StoredRow(row_key(before, ["1"]), {before.column_named("note").id: encoding.encode(SqlType.TEXT, "abcdef")})
    short = derived_value(before, twin, row)
    assert encoding.decode(twin.type, short)[0] == "abcd"
    both = StoredRow(row.key, {**row.columns, twin.id: short})
    assert matches(before, twin, both)
    assert matches(after, after.column_named("note (was text)"), both)
    assert plan.dangers[-1] == "Values of note longer than 4 characters are cut, as the cast says."
    assert refusals(plan) == []
    assert refusals(planned(CHANGE + f"note TYPE {of}", books())) != []


def test_a_longer_text_comes_last_when_nothing_can_be_rolled_back_any_more() -> None:
    """Else the rollback would make the column shorter under values that were written meanwhile."""
    plan = planned("ALTER TABLE books ALTER title TYPE varchar(99), ALTER note SET NOT NULL, ADD pages int", books())
    lengths = [step.published.column_named("title").length for step in plan.publishes]
    assert lengths == [50] * (len(lengths) - 1) + [99]
    final = [at for at, step in enumerate(plan.forward) if is_point_of_no_return(plan.moves, step)]
    assert plan.forward.index(plan.publishes[-1]) > final[0] == plan.point_of_no_return


@pytest.mark.parametrize("order", [("TYPE varchar(20)", "SET NOT NULL"), ("SET NOT NULL", "TYPE varchar(20)")])
def test_a_longer_text_goes_together_with_a_not_null_of_the_same_column(order: tuple[str, str]) -> None:
    """As Django writes it when a field changes in both at once."""
    plan = planned("ALTER TABLE books " + ", ".join(f"ALTER kind {does}" for does in order), books())
    versions = [step.published.column_named("kind") for step in plan.publishes]
    assert [(c.not_null, c.length) for c in versions] == [(False, 9), (True, 9), (True, 20)]
    with pytest.raises(DdlError, match="column kind is changed twice in one statement"):
        planned("ALTER TABLE books ALTER kind TYPE varchar(8), ALTER kind SET NOT NULL", books())
    with pytest.raises(DdlError, match="column kind is changed twice in one statement"):
        planned("ALTER TABLE books ALTER kind TYPE varchar(20), ALTER kind SET DEFAULT 'x'", books())


def test_two_at_once_are_one_version() -> None:
    plan = planned(CHANGE + "title TYPE text, ALTER code TYPE char(4)", books())
    assert describe(plan, plan.forward[0]).endswith(": column title is of type text, column code is of type char(4)")
    assert len(plan.publishes) == 1


@pytest.mark.parametrize(
    ("does", "sqlstate", "message"),
    [
        ("|title TYPE varchar(40)", "0A000", "a type change of title, which is indexed or constrained by"),
        ("|isbn TYPE varchar(9)", "0A000", "a type change of isbn, a column of the key, is not possible"),
        ("|isbn TYPE char(13)", "0A000", "a type change of isbn, a column of the key, is not possible"),
        ("kind TYPE |varchar(6)", "22001", "value too long for type character varying(6)"),
        ("title TYPE |text USING upper(title)", "0A000", "a cast without an inverse, USING upper(title)"),
        ("note TYPE |varchar(9) USING note::varchar(5)", "0A000", "a cast without an inverse"),
    ],
)
def test_what_is_refused(does: str, sqlstate: str, message: str) -> None:
    text = CHANGE + does
    with pytest.raises(DdlError) as refused:
        planned(text.replace("|", ""), books())
    assert (refused.value.sqlstate, refused.value.position) == (sqlstate, text.index("|") + 1)
    assert message in refused.value.message


def test_a_type_that_is_so_already_is_a_notice() -> None:
    with pytest.raises(NothingToDo, match=r"column title is of type varchar\(50\) already, skipping"):
        planned(CHANGE + "title TYPE varchar(50)", books())


def test_both_sides_of_a_foreign_key_stay_of_one_type_and_may_have_two_lengths() -> None:
    loans = "CREATE TABLE loans (id int PRIMARY KEY, book varchar(13) REFERENCES books)"
    tables = done((TABLE, loans))
    for change in ("books ALTER isbn", "loans ALTER book"):
        plan = planned_of(f"ALTER TABLE {change} TYPE varchar(20)", tables)
        assert len(plan.publishes) == 1
        with pytest.raises(DdlError, match="loans_book_fkey") as refused:
            planned_of(f"ALTER TABLE {change} TYPE text", tables)
        assert refused.value.sqlstate == "0A000"


@pytest.mark.parametrize(
    ("rule", "is_taken"),
    [
        ("CHECK (word <> '' AND code <> '')", False),
        ("CHECK (word = 'x'::char(2))", False),
        ("CHECK (word <> title)", True),
        ("CHECK (code <> '')", True),
    ],
)
def test_a_text_and_a_varchar_compare_differently_with_a_char(rule: str, is_taken: bool) -> None:
    """In PostgreSQL 'a ' = 'a'::char(2) holds of a varchar, not of a text: nodes of two versions might not agree."""
    table = planned(f"ALTER TABLE books ADD CONSTRAINT beside {rule}", books()).result
    if is_taken:
        assert len(planned("ALTER TABLE books ALTER word TYPE text", table).publishes) == 1
        return
    with pytest.raises(DdlError, match="a change of word from varchar to text beside a char in beside") as refused:
        planned("ALTER TABLE books ALTER word TYPE text", table)
    assert refused.value.hint == "Drop beside, change the type, and create it again."


def test_a_plan_that_makes_a_column_shorter_at_once_is_faulty() -> None:
    plan = planned(CHANGE + "title TYPE varchar(255)", books())
    assert find_faults(plan) == []
    shorter = plan.result.column_named("title")
    columns = tuple(replace(c, length=40) if c.id == shorter.id else c for c in plan.result.columns)
    step = replace(plan.forward[0], descriptor=replace(plan.result, columns=columns))
    (fault,) = find_faults(replace(plan, forward=(step, *plan.forward[1:])))
    assert "column title is varchar(40) at once, after varchar(50): an existing row" in str(fault)


# --- the rules

KINDS = [*product(LENGTHS, (1, 3)), (SqlType.VARCHAR, None), (SqlType.TEXT, None), (SqlType.INTEGER, None)]
VALUES = ("", " ", "a", "a ", "a  ", " a", "abc", "ab ", "abcd", "äöü")


@pytest.mark.parametrize(("to", "of"), [*product(KINDS, KINDS)])
def test_the_same_bytes_are_kept_exactly_where_every_value_of_the_one_is_stored_so_by_the_other(to, of) -> None:
    """And where an older version writes a row, it writes what the newer one would."""

    def stored(kind, value):
        return encoding.encode(kind[0], fitted(kind[0], kind[1], value))

    if SqlType.INTEGER in (to[0], of[0]):
        assert holds_as_stored(*to, *of) is (to == of)
        return

    def is_taken(value) -> bool:
        try:
            written = stored(of, value)
        except TooLong:
            return True
        try:
            return stored(to, encoding.decode(of[0], written)[0]) == written
        except TooLong:
            return False

    holds = all(map(is_taken, VALUES))
    if SqlType.CHAR in (to[0], of[0]) and to[0] is not of[0]:
        assert not holds_as_stored(*to, *of)  # the other one keeps blanks, which a node of the char would not find
    else:
        assert holds_as_stored(*to, *of) is holds


def _column(of: SqlType, length: int | None = None) -> Column:
    return Column(ColumnId(1), "c", of, length=length)


@pytest.mark.parametrize(
    ("of", "to", "holds"),
    [
        (_column(SqlType.INTEGER), _column(SqlType.BIGINT), True),
        (_column(SqlType.UUID), _column(SqlType.TEXT), True),
        (_column(SqlType.DATE), _column(SqlType.TIMESTAMP), True),
        (_column(SqlType.BIGINT), _column(SqlType.INTEGER), False),
        (_column(SqlType.TEXT), _column(SqlType.DATE), False),
        (_column(SqlType.TIMESTAMP), _column(SqlType.DATE), False),
        (_column(SqlType.TEXT), _column(SqlType.VARCHAR), True),
        (_column(SqlType.TEXT), _column(SqlType.VARCHAR, 3), False),
        (_column(SqlType.INTEGER), _column(SqlType.VARCHAR, 3), False),
        (_column(SqlType.CHAR, 3), _column(SqlType.VARCHAR, 3), True),
        (_column(SqlType.VARCHAR, 4), _column(SqlType.CHAR, 3), False),
    ],
)
def test_only_of_a_cast_that_can_fail_the_plan_warns(of: Column, to: Column, holds: bool) -> None:
    assert holds_every(to, of) is holds


@pytest.mark.parametrize("of", sorted(TEXTS, key=str), ids=lambda of: of.value)
def test_every_type_that_becomes_a_text_becomes_a_varchar_and_a_char_as_well(of: SqlType) -> None:
    shown = {SqlType.TEXT: "text", SqlType.VARCHAR: "varchar(40)", SqlType.CHAR: "char(40)"}[of]
    for other in {one for one, to in INVERTIBLE if to is SqlType.TEXT} - TEXTS:
        table = planned(f"CREATE TABLE t (id int PRIMARY KEY, c {other.value})", None).result
        there = planned(f"ALTER TABLE t ALTER c TYPE {shown}", table).result
        assert there.column_named("c").type_name == shown
        back = planned(f"ALTER TABLE t ALTER c TYPE {other.value} USING c::{other.value}", there).result
        assert back.column_named("c").type is other


def test_a_default_that_becomes_nothing_is_cut_all_the_same() -> None:
    table = planned("CREATE TABLE t (id int PRIMARY KEY, v numeric DEFAULT 0.001)", None).result
    assert planned("ALTER TABLE t ALTER v TYPE numeric(10,2)", table).result.column_named("v").default == "0.00"
