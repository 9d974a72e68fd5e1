"""Expressions that the analyser does not know: PostgreSQL says what they are, or why they cannot stand there."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State, TableId
from catalog.values.types import SqlType
from changes.ddl.actions import Name
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.planning.planner import make_plan
from changes.submission.judging import compute, judge, judge_default
from expressions.errors import SqlError, position_of
from expressions.rows import canonical, functions_of, is_local, shown
from expressions.typed import Context
from storage.encoding import decode

ID, DOC, TEXT, DAY, HIDDEN = (ColumnId(n) for n in range(1, 6))
TRIPS = Descriptor(
    TableId(1),
    "trips",
    3,
    (
        Column(ID, "id", SqlType.BIGINT, not_null=True),
        Column(DOC, "doc", SqlType.JSONB),
        Column(TEXT, "Full name", SqlType.VARCHAR, length=20),
        Column(DAY, "day", SqlType.DATE),
        Column(HIDDEN, "later", SqlType.TEXT, state=State.WRITE_ONLY),
    ),
    (ID,),
)
pytestmark = pytest.mark.usefixtures("dsn")


def kept(text: str, returns: SqlType = SqlType.BOOLEAN, offset: int = 0) -> str:
    return canonical(TRIPS, text, returns=returns, what="check constraint", offset=offset, judge=judge)


PATH = "jsonb_path_exists(doc, '$.a')"
KEPT = f"""jsonb_path_exists("#{DOC}", '$."a"'::jsonpath)"""


@pytest.mark.parametrize(
    ("written", "returns", "text"),
    [
        pytest.param(PATH, SqlType.BOOLEAN, KEPT, id="a function"),
        pytest.param(
            """trips."Full name" IS NFKC NORMALIZED""", SqlType.BOOLEAN, f'"#{TEXT}" IS NFKC NORMALIZED',
            id="a qualified name",
        ),
        pytest.param(
            f"{PATH} AND id % 2 = 0", SqlType.BOOLEAN, f'{KEPT} AND ("#{ID}" % 2::bigint) = 0', id="a percent sign"
        ),
        pytest.param(
            f"{PATH} AND day > '1/2/2020'", SqlType.BOOLEAN, f"""{KEPT} AND "#{DAY}" > '2020-01-02'::date""",
            id="a constant as the fixed settings read it",
        ),
        pytest.param(
            "length(jsonb_path_query_first(doc, '$.a')::text)", SqlType.BIGINT,
            f"""length(jsonb_path_query_first("#{DOC}", '$."a"'::jsonpath)::text)""", id="a value that is assigned",
        ),
    ],
)  # fmt: skip
def test_what_only_postgres_knows_is_kept_as_it_writes_it(written: str, returns: SqlType, text: str) -> None:
    found = kept(written, returns)
    assert found == text
    assert not is_local(TRIPS, found)
    assert kept(shown(TRIPS, found), returns) == found, "it stays what it is"


@pytest.mark.parametrize(
    ("written", "sqlstate", "message", "at"),
    [
        pytest.param(f"{PATH} AND date_bin('1 day', now(), now()) > day", "42P17", "marked IMMUTABLE", "", id="now"),
        pytest.param("jsonb_path_query_first(doc, '$')", "42804", "of type boolean, not of type jsonb", "", id="type"),
        pytest.param(
            "id = 1 AND no_such(doc) = 1", "42883", r"function no_such\(jsonb\) does not exist", "no_such",
            id="a function that is none",
        ),
        pytest.param(f"{PATH} AND nobody > 1", "42703", 'column "nobody" does not exist', "nobody", id="no column"),
        pytest.param(f"{PATH} AND later = ''", "42703", 'column "later" does not exist', "later", id="a hidden column"),
        pytest.param(f"{PATH} = (SELECT true)", "0A000", "a subquery in check constraint", "", id="a subquery"),
        pytest.param("pg_sleep(1) IS NULL", "42501", "permission denied for function pg_sleep", "", id="not allowed"),
        pytest.param("jsonb_path_exists(to_jsonb(trips), '$')", "42P17|0A000", "cannot|must", "", id="the whole row"),
    ],
)  # fmt: skip
def test_what_postgres_does_not_take_is_refused_in_its_words(
    written: str, sqlstate: str, message: str, at: str
) -> None:
    begin = "CHECK (é "
    with pytest.raises(SqlError, match=message) as caught:
        kept(written, offset=len(begin.encode()))
    assert caught.value.sqlstate in sqlstate.split("|")
    if at:
        assert position_of(begin + written, caught.value.offset) == len(begin) + written.index(at) + 1


def test_nothing_of_a_question_stays() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), current_user, current_setting('search_path') FROM pg_class")
        before = cursor.fetchone()
        kept(PATH)
        with pytest.raises(SqlError):
            kept("no_such(doc)")
        cursor.execute("SELECT count(*), current_user, current_setting('search_path') FROM pg_class")
        assert cursor.fetchone() == before


def test_without_a_judge_it_is_refused() -> None:
    with pytest.raises(SqlError) as caught:
        canonical(TRIPS, PATH, returns=SqlType.BOOLEAN, what="check constraint")
    assert caught.value.sqlstate in ("42883", "0A000")


def test_functions_are_found_by_name() -> None:
    assert functions_of("pg_catalog.lower(a) = f(b) OR public.g(1)") == {"lower", "f", "public.g"}


def planned(sql: str, view: CatalogView) -> Any:
    action: Any = resolve(parse(sql), view)
    base = view.named(action.table.text) if isinstance(action.table, Name) else None
    return make_plan(action, base, table_id=9, tables=view)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param(f"ALTER TABLE trips ADD CHECK ({PATH})", id="check"),
        pytest.param(f"CREATE INDEX i ON trips (id) WHERE {PATH}", id="index"),
        pytest.param(f"CREATE TABLE u (id int PRIMARY KEY, doc jsonb, CHECK ({PATH}))", id="new table"),
    ],
)
def test_statements_may_have_such_expressions(sql: str) -> None:
    plan = planned(sql, CatalogView((TRIPS,), judge=judge))
    result = plan.result
    (text,) = [*(c.expression for c in result.constraints), *(i.where for i in result.indexes)]
    assert text == KEPT
    with pytest.raises(DdlError):
        planned(sql, CatalogView((TRIPS,)))


@pytest.mark.parametrize(
    ("default", "value"),
    [
        ("text DEFAULT md5('x')", "9dd4e461268c8034f5c8564e155c67a6"),
        ("text DEFAULT to_char(now(), 'YYYY-MM-DD HH24:MI')", "2020-02-29 23:30"),
        ("date DEFAULT CURRENT_DATE + 1", dt.date(2020, 3, 1)),
        ("timestamptz DEFAULT now() + interval '1 day'", dt.datetime(2020, 3, 1, 23, 30, tzinfo=dt.UTC)),
        ("timestamp DEFAULT date_trunc('month', LOCALTIMESTAMP)", dt.datetime(2020, 2, 1)),  # noqa: DTZ001
        ("int DEFAULT extract(year from CURRENT_TIMESTAMP)", 2020),
    ],
)
def test_a_default_that_postgres_computes_has_one_value_for_the_rows_there(default: str, value: object) -> None:
    """That of the moment when the statement was submitted."""
    table = replace(TRIPS, next_column_id=ColumnId(6))
    action: Any = resolve(parse(f"ALTER TABLE trips ADD COLUMN made {default}"), CatalogView((table,)))
    now = Context(now=dt.datetime(2020, 2, 29, 23, 30, tzinfo=dt.UTC))
    column = make_plan(action, table, context=now, tables=CatalogView((table,), compute=compute)).result.columns[-1]
    assert column.fill_value is not None
    assert decode(column.type, column.fill_value)[0] == value
    with pytest.raises(DdlError, match="on an added column is not supported"):
        make_plan(action, table, context=now, tables=CatalogView((table,)))


def test_a_default_without_a_value_is_refused() -> None:
    table = replace(TRIPS, next_column_id=ColumnId(6))
    view = CatalogView((table,), compute=compute)
    action: Any = resolve(parse("ALTER TABLE trips ADD COLUMN made int DEFAULT substr('abc', 1, -1)::int"), view)
    with pytest.raises(DdlError, match="negative substring length not allowed"):
        make_plan(action, table, tables=view)


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("CREATE TABLE u (id int PRIMARY KEY, made date DEFAULT {})", id="new table"),
        pytest.param("ALTER TABLE trips ADD made date DEFAULT {}", id="added column"),
        pytest.param("ALTER TABLE trips ALTER made SET DEFAULT {}", id="another default"),
    ],
)
@pytest.mark.parametrize(
    ("default", "sqlstate", "message"),
    [
        ("md5('x')", "42804", 'column "made" is of type date but default expression is of type text'),
        ("|to_date('x')", "42883", "function to_date(unknown) does not exist"),
        ("now() + interval |'x'", "22007", 'invalid input syntax for type interval: "x"'),
        ("|max(current_date)", "42803", "aggregate functions are not allowed in DEFAULT expressions"),
        ("|max(current_date) OVER ()", "42P20", "window functions are not allowed in DEFAULT expressions"),
        ("|unnest(ARRAY[current_date])", "0A000", "set-returning functions are not allowed in DEFAULT expressions"),
        ("pg_read_file('x')::date", "42501", "permission denied for function pg_read_file"),
    ],
)
def test_postgres_says_what_is_wrong_with_a_default(statement: str, default: str, sqlstate: str, message: str) -> None:
    made = Column(ColumnId(6), "made", SqlType.DATE)
    table = replace(TRIPS, columns=(*TRIPS.columns, made), next_column_id=ColumnId(7))
    if " ADD " in statement:
        table = TRIPS
    sql = statement.format(default)
    with pytest.raises(DdlError) as refused:
        planned(sql.replace("|", ""), CatalogView((table,), judge_default=judge_default))
    assert (refused.value.sqlstate, refused.value.message) == (sqlstate, message)
    assert refused.value.position == (sql.index("|") + 1 if "|" in sql else None)
