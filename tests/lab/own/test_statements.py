"""Several statements in a text: each on the tables that those before it leave, mistakes where they stand."""

import pytest

from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView
from lab.own.statements import MOVES_MAX, STATEMENTS_MAX, planned
from tests.changes.tables import users

TABLE = "CREATE TABLE flights (id int PRIMARY KEY, dest text)"


def test_each_statement_meets_what_the_ones_before_it_leave() -> None:
    indexed = "CREATE INDEX ON flights (dest); DROP INDEX flights_dest_idx"
    text = f"-- mine\n{TABLE};\n\n{indexed};; DROP TABLE flights; {TABLE}"
    assert [one.plan.title for one in planned(text) if one.plan is not None] == [
        "table flights",
        "index flights_dest_idx",
        "index flights_dest_idx",
        "table flights",
        "table flights",
    ]


def test_the_cluster_s_tables_are_beside_them() -> None:
    [one] = planned("CREATE INDEX ON users (name)", CatalogView((users(),)))
    assert one.plan is not None
    assert one.plan.table_id == users().table_id


def test_what_asks_for_nothing_says_so() -> None:
    nothing = planned(f"{TABLE}; CREATE TABLE IF NOT EXISTS flights (id int PRIMARY KEY)")[1]
    assert nothing.plan is None
    assert "already exists" in nothing.why_nothing


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        pytest.param(f"{TABLE};\nCREATE INDEX ON flights (gate)", "gate", "gate", id="a name in the second statement"),
        pytest.param(
            f"/* Größe */ {TABLE};\n\n  CREATE INDEX ON trips (a)", "trips", "trips", id="behind other alphabets"
        ),
        pytest.param(f"{TABLE};\nCREATE INDEX ON flights (dest))", ")", "syntax error", id="a syntax error"),
        pytest.param(f"{TABLE}; SELECT 1", "SELECT", "does not change a schema", id="no DDL"),
        pytest.param("DROP INDEX x;" * (STATEMENTS_MAX + 1), "", "at most 20", id="too many"),
        pytest.param(
            f"{TABLE}; ALTER TABLE flights " + ", ".join(f"ADD COLUMN c{n} int" for n in range(MOVES_MAX + 1)),
            "flights",
            "13 changes in a statement",
            id="too much at once",
        ),
        pytest.param(
            "CREATE TABLE wide (id int PRIMARY KEY, " + ", ".join(f"c{n} int" for n in range(100)) + ")",
            "wide",
            "101 columns",
            id="too wide",
        ),
        pytest.param(
            "CREATE TABLE wide (id int PRIMARY KEY, a int, b int, c int, d int, e int, f int, g int);"
            " ALTER TABLE wide " + ", ".join(f"ADD COLUMN c{n} int UNIQUE" for n in range(7)),
            "ALTER",
            "moves 14 things",
            id="too much that follows",
        ),
        pytest.param("", "", "", id="nothing"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(text: str, at: str, words: str) -> None:
    if not text:
        assert planned(text) == ()
        return
    with pytest.raises(DdlError, match=words) as refused:
        planned(text)
    position = refused.value.position
    assert position is not None
    assert text[position - 1 :].startswith(at)


def test_a_new_table_may_refer_to_one_of_the_same_text() -> None:
    text = "CREATE TABLE airports (faa text PRIMARY KEY);\n"
    text += "CREATE TABLE trips (id bigint PRIMARY KEY, dest text REFERENCES airports);"
    _airports, trips = planned(text)
    assert trips.plan is not None
    [link] = [one for one in trips.plan.result.constraints if one.references is not None]
    assert link.references == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("CREATE TABLE t (id int PRIMARY KEY, d jsonb, CHECK (jsonb_path_exists(d, '$.a')))", id="check"),
        pytest.param(
            "CREATE TABLE t (id int PRIMARY KEY, d jsonb); CREATE INDEX ON t (id) WHERE jsonb_path_exists(d, '$.a')",
            id="index",
        ),
    ],
)
def test_what_postgres_alone_computes_cannot_be_explored(text: str) -> None:
    with pytest.raises(DdlError) as refused:
        planned(text)
    assert refused.value.message == "jsonb_path_exists(d, '$.a') cannot be explored: PostgreSQL alone computes it"
    assert refused.value.position is not None
    assert "any immutable expression" in str(refused.value.hint)
