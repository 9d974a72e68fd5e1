"""Expressions over one row: kept by column id, the same value at any time, refused by name."""

import datetime as dt
from dataclasses import replace
from typing import Any

import postgast
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State, TableId
from catalog.values.types import SqlType
from expressions.analysis.scopes import Scan
from expressions.errors import SqlError
from expressions.rows import canonical, columns_of, compiled, shown, value_of
from expressions.typed import ColumnRef, walk

ID, NAME, AGE, BORN, HIDDEN = (ColumnId(n) for n in range(1, 6))
USERS = Descriptor(
    TableId(1),
    "users",
    3,
    (
        Column(ID, "id", SqlType.BIGINT, not_null=True),
        Column(NAME, "Full name", SqlType.TEXT),
        Column(AGE, "age", SqlType.INTEGER),
        Column(BORN, "born", SqlType.DATE),
        Column(HIDDEN, "nick", SqlType.TEXT, state=State.WRITE_ONLY),
    ),
    (ID,),
)
CHECK = "check constraint"


def kept(text: str, returns: SqlType | None = SqlType.BOOLEAN, **options: Any) -> str:
    return canonical(USERS, text, returns=returns, what=CHECK, **options)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        pytest.param("age > 17", '"#3" > 17', id="a name"),
        pytest.param("users.\"Full name\" <> 'root'", "\"#2\" <> 'root'", id="a qualified and quoted name"),
        pytest.param("(age>1 /* why */ and AGE<9) or id=1", '("#3" > 1 AND "#3" < 9) OR "#1" = 1', id="spelling"),
        pytest.param("born < date '2020-1-1'", "\"#4\" < '2020-1-1'::date", id="a typed literal"),
        pytest.param("age is not null", '"#3" IS NOT NULL', id="a null test"),
        pytest.param("age in (1, 2) and not age = 3", '"#3" IN (1, 2) AND NOT "#3" = 3', id="in"),
    ],
)
def test_columns_are_kept_by_id_and_shown_by_name(written: str, text: str) -> None:
    assert kept(written) == text
    assert kept(shown(USERS, text)) == text


def test_a_node_of_the_statements_tree_is_taken_as_well() -> None:
    (parsed,) = postgast.parse("CREATE INDEX i ON users (id) WHERE age > 17").stmts
    assert canonical(USERS, parsed.stmt.index_stmt.where_clause, returns=SqlType.BOOLEAN, what="x") == '"#3" > 17'
    assert "age" in str(parsed), "the statement's own tree is left as it was"


def test_a_rename_changes_no_value_and_shows_the_new_name() -> None:
    text = kept("age > 17")
    renamed = replace(USERS, columns=tuple(replace(c, name="years") if c.id == AGE else c for c in USERS.columns))
    assert shown(renamed, text) == "years > 17"
    assert value_of(renamed, text, {AGE: 18}) is True


def test_the_value_is_brought_to_the_type_it_must_have() -> None:
    text = kept("age * 2", SqlType.BIGINT)
    assert text == '("#3" * 2)::bigint'
    assert compiled(USERS, text).type.sql_type is SqlType.BIGINT
    assert kept("age * 2", SqlType.INTEGER) == '"#3" * 2'
    assert kept("born", SqlType.TIMESTAMPTZ) == '"#4"::timestamp with time zone'
    assert kept("age", None) == '"#3"'


@pytest.mark.parametrize(
    ("text", "row", "value"),
    [
        pytest.param("age > 17", {AGE: 18}, True, id="true"),
        pytest.param("age > 17", {AGE: 17}, False, id="false"),
        pytest.param("age > 17", {AGE: None}, None, id="NULL in, NULL out"),
        pytest.param("age > 17 OR id = 1", {AGE: None, ID: 1}, True, id="NULL or true"),
        pytest.param("age > 17 AND id = 1", {AGE: None, ID: 2}, False, id="NULL and false"),
        pytest.param("age IS NULL", {AGE: None}, True, id="a null test knows"),
        pytest.param("CASE WHEN age < 0 THEN 'x' ELSE \"Full name\" END = 'b'", {AGE: 1, NAME: "b"}, True, id="case"),
        pytest.param("born = '2020-01-02'", {BORN: dt.date(2020, 1, 2)}, True, id="an unknown literal"),
        pytest.param("\"Full name\" LIKE 'a_%'", {NAME: "ab"}, True, id="like"),
        pytest.param("lower(\"Full name\") = 'ann'", {NAME: "Ann"}, True, id="lower"),
    ],
)
def test_three_valued_logic(text: str, row: dict[ColumnId, Any], value: object) -> None:
    assert value_of(USERS, kept(text), row) is value


def test_which_columns_it_reads() -> None:
    assert columns_of(kept("age > 17 AND born IS NULL")) == {AGE, BORN}
    assert columns_of(kept("1 = 1")) == frozenset()


def test_a_row_that_gives_no_value_says_why() -> None:
    with pytest.raises(SqlError, match="division by zero") as caught:
        value_of(USERS, kept("1 / age > 0"), {AGE: 0})
    assert caught.value.sqlstate == "22012"


def test_in_a_query_its_columns_are_those_of_the_querys_scan() -> None:
    (column,) = (part for part in walk(compiled(USERS, '"#3" > 17', Scan(4, USERS))) if isinstance(part, ColumnRef))
    assert (column.sql, column.name, column.relation) == ("r4.c3", "age", 4)


@pytest.mark.parametrize(
    ("text", "sqlstate", "message", "at"),
    [
        pytest.param("age > random()", "42P17", "random() cannot stand in check constraint", "random", id="chance"),
        pytest.param("born < current_date", "42P17", "the time of the transaction cannot", "current_date", id="clock"),
        pytest.param("now() > born", "42P17", "the time of the transaction cannot", "now", id="now()"),
        pytest.param("current_user = 'x'", "42P17", "a value of the session cannot", "current_user", id="session"),
        pytest.param("age > (SELECT 1)", "0A000", "a subquery in check constraint is not", "(SELECT", id="subquery"),
        pytest.param("age > $1", "42P02", "a parameter cannot stand in check constraint", "$1", id="parameter"),
        pytest.param("md5(nick) = ''", "42703", 'column "nick" of table "users" is write-only', "nick", id="hidden"),
        pytest.param("agee > 1", "42703", 'column "agee" does not exist', "agee", id="unknown"),
        pytest.param("flights.age > 1", "42P01", "missing FROM-clause entry", "flights", id="another table"),
        pytest.param("users > 1", "0A000", '"users" is a whole row', "users", id="whole row"),
        pytest.param("sqrt(age) > 1", "0A000", "sqrt(age) > 1 in check", "sqrt", id="not computable here"),
        pytest.param(
            "age + 1", "42804", "check constraint must be of type boolean, not of type integer", "+", id="type"
        ),
        pytest.param("age = 'x'", "22P02", "invalid input syntax for type integer", "'x'", id="literal"),
        pytest.param("age > > 1", "42601", "syntax error", "> 1", id="syntax"),
    ],
)
def test_refusals_name_what_they_refuse_and_where(text: str, sqlstate: str, message: str, at: str) -> None:
    with pytest.raises(SqlError) as caught:
        kept(text, offset=100)
    error = caught.value
    assert (error.sqlstate, error.offset) == (sqlstate, 100 + text.index(at))
    assert message in error.message


@pytest.mark.parametrize("text", ["1, 2", "1; SELECT 2", "age > 1 FROM users", "1 AS a", "", "1 = 1 LIMIT 1"])
def test_it_is_one_expression_and_nothing_behind_it(text: str) -> None:
    with pytest.raises(SqlError) as caught:
        kept(text)
    assert caught.value.sqlstate == "42601"
