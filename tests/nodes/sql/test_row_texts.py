"""Questions of statements that write to PostgreSQL: texts made of the client's own words."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.sqltypes import ARRAY_OF, INT4, INT8, NUMERIC, TEXT, VARCHAR, Type
from nodes.sql.planner import make_plan
from nodes.sql.plans import Plan, SeveralPlan, WritingPlan
from nodes.sql.statements import Statement, parse
from nodes.sql.writes.assignments import BETWEEN, CHAR_OID
from nodes.sql.writes.questions import Described, Undescribed, empty_table
from nodes.sql.writes.row_texts import Text, Texts, several_texts, texts_of
from nodes.sql.writes.source_text import Reading
from nodes.wire.messages import Field

T = Descriptor(
    table_id=TableId(7),
    name="t",
    version=1,
    columns=(
        Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True),
        Column(ColumnId(2), "a", SqlType.VARCHAR, length=3),
        Column(ColumnId(3), "n", SqlType.INTEGER, default="7"),
        Column(ColumnId(4), "l", SqlType.INTEGER_ARRAY),
    ),
    primary_key=(ColumnId(1),),
)
U = replace(T, table_id=TableId(8), name="u")
READING = Reading(None, {"t": T, "u": U}, {}, Parameters())


def planned(sql: str, *answers: Sequence[Type | str]) -> tuple[Statement, Plan]:
    """The plan, when the store says that the statement, then its questions, have columns of these types."""
    [statement] = parse(sql)
    described = [Described((), [_field(of) for of in types]) for types in (*answers, *[()] * 9)]
    return statement, make_plan(statement, {"t": T, "u": U}, Parameters(), answers=described)


def _field(of: Type | str) -> Field:
    """A column of a type; one of a name alone is an integer of a table, or what stands before those of a table."""
    if isinstance(of, Type):
        return Field("c", of.oid)
    return Field(of, INT4.oid) if of != BETWEEN[1] else Field(of, CHAR_OID)


def texts(sql: str, *answers: Sequence[Type | str]) -> Texts:
    statement, plan = planned(sql, *answers)
    assert isinstance(plan, WritingPlan)
    return texts_of(statement, plan, READING, 1)


def shown(text: Text | None) -> str:
    """The text, with each table's query as its number."""
    assert text is not None
    queries = {use.scan.number: f"<{use.scan.descriptor.name}>" for use in text.place.uses}
    return text.place.filled(queries, "$now").text.replace("\x02", "")


SOURCES = {
    "INSERT INTO t (id, a) SELECT n, a FROM u ORDER BY id": (
        'SELECT (given.c0)::bigint, pg_catalog.varchar((given.c1)::pg_catalog.varchar, 7, false)'
        ' FROM (SELECT n, a FROM (<u>) AS "u" ORDER BY id) AS given (c0, c1)'
    ),
    "INSERT INTO t (id, n) VALUES ((SELECT max(id) FROM t), DEFAULT)": (
        'SELECT ((SELECT max(id) FROM (<t>) AS "t"))::bigint, (NULL)::integer'
    ),
    "UPDATE t x SET n = n + 1, a = DEFAULT WHERE n IS DISTINCT FROM 4": (
        'SELECT "x"."id", (n + 1)::integer, pg_catalog.varchar((NULL)::pg_catalog.varchar, 7, false)'
        ' FROM (<t>) AS "x" WHERE (n IS DISTINCT FROM 4)'
    ),
    "WITH q AS (SELECT 1 AS one) UPDATE t SET (n, a) = (SELECT q.one, 'x' FROM q)": (
        "WITH q AS (SELECT 1 AS one) SELECT \"t\".\"id\","
        " ((SELECT given.c0 FROM (SELECT NULL AS c0, NULL AS c1 WHERE false UNION ALL (SELECT q.one, 'x' FROM q))"
        " AS given))::integer, pg_catalog.varchar(((SELECT given.c1 FROM (SELECT NULL AS c0, NULL AS c1 WHERE false"
        " UNION ALL (SELECT q.one, 'x' FROM q)) AS given))::pg_catalog.varchar, 7, false) FROM (<t>) AS \"t\""
    ),
    "UPDATE t SET n = CASE WHEN t.a = 'from' THEN u.n END FROM u WHERE t.id = u.id RETURNING u.a": (
        "SELECT DISTINCT ON (\"t\".\"id\") \"t\".\"id\", (CASE WHEN t.a = 'from' THEN u.n END)::integer, \"u\".\"a\""
        ' FROM (<t>) AS "t", (<u>) AS "u" WHERE (t.id = u.id)'
    ),
    "DELETE FROM t USING u AS v WHERE v.id = t.id": (
        'SELECT DISTINCT ON ("t"."id") "t"."id" FROM (<t>) AS "t", (<u>) AS v WHERE (v.id = t.id)'
    ),
    "UPDATE t SET l[1 + 1] = n, l[3:] = l WHERE n > 0": (
        'SELECT "t"."id", NULL::integer[], (1 + 1)::int4, (n)::integer, (3)::int4, (l)::integer[]'
        ' FROM (<t>) AS "t" WHERE (n > 0)'
    ),
}  # fmt: skip

ANSWERS: dict[str, list[list[Type | str]]] = {
    "UPDATE t SET n = CASE WHEN t.a = 'from' THEN u.n END FROM u WHERE t.id = u.id RETURNING u.a": [
        [VARCHAR], [INT8], [BETWEEN[1], "id", "a", "n"],
    ],
}  # fmt: skip


@pytest.mark.parametrize("sql", SOURCES)
def test_rows_are_found_by_a_select_of_the_clients_words(sql: str) -> None:
    assert shown(texts(sql, *ANSWERS.get(sql, ())).rows) == SOURCES[sql]


def test_a_merge_asks_which_act_and_what_it_gives() -> None:
    sql = (
        "MERGE INTO t USING (SELECT 1 AS k, 2 AS n) AS s ON t.id = s.k WHEN MATCHED AND t.n > s.n THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (k, DEFAULT)"
    )
    assert shown(texts(sql).rows) == (
        'SELECT "done"."done", "t"."id", CASE WHEN "done"."done" = 1 THEN ((s.n))::integer END,'
        ' CASE WHEN "done"."done" = 2 THEN ((SELECT k FROM (SELECT "s".*) AS "s"))::bigint END'
        ' FROM ((SELECT 1 AS k, 2 AS n) AS s CROSS JOIN (SELECT true AS "there") AS "there")'
        ' LEFT JOIN (<t>) AS "t" ON (t.id = s.k),'
        ' LATERAL (SELECT ("t"."id" IS NOT NULL) AS "here", "there"."there" IS NOT NULL AS "there" OFFSET 0) AS "here",'
        ' LATERAL (SELECT CASE WHEN "here"."here" AND "here"."there" AND (t.n > s.n) THEN 0'
        ' WHEN "here"."here" AND "here"."there" THEN 1 WHEN "here"."there" AND NOT "here"."here" THEN 2'
        ' END AS "done" OFFSET 0) AS "done" WHERE "done"."done" IS NOT NULL'
    )


def test_returning_is_asked_of_the_rows_as_they_will_be() -> None:
    shows = [INT4, INT8, VARCHAR, INT4, ARRAY_OF[INT4]]
    found = texts("DELETE FROM t AS x WHERE n > 0 RETURNING x.n + 1 AS more, *", shows).returned
    assert found is not None
    assert [(one.relation, one.name) for one in found.given] == [("x", "id"), ("x", "a"), ("x", "n"), ("x", "l")]
    assert shown(found).startswith('SELECT (x.n + 1)::integer, ("x"."id")::bigint, ("x"."a")::varchar,')
    assert "FROM unnest($1::pg_catalog.bytea[], $2::pg_catalog.bytea[]" in shown(found)


def test_few_rows_of_other_tables_say_which_keys_are_read() -> None:
    found = texts("DELETE FROM t USING u WHERE u.n > 0 AND u.id = t.id AND t.a BETWEEN u.a AND 'z'", [], [INT8]).rows
    assert found is not None
    assert found.keys is not None
    assert found.keys.columns == (ColumnId(1),)
    assert shown(found.keys.text) == 'SELECT DISTINCT (u.id)::bigint FROM (<u>) AS "u" WHERE (u.n > 0) LIMIT 2001'


@pytest.mark.parametrize(("condition", "compared"), [
    ("u.id = t.id AND random() < 0.1", []), ("u.n = t.n", [INT4]), ("u.id = t.id OR u.n = 1", []),
    ("t.id = u.a::numeric", [NUMERIC]),
])  # fmt: skip
def test_what_is_another_value_each_time_and_what_is_no_key_says_nothing_of_keys(
    condition: str, compared: list[Type]
) -> None:
    found = texts(f"DELETE FROM t USING u WHERE {condition}", [], compared).rows
    assert found is not None
    assert found.keys is None


def test_nothing_is_asked_for_columns_constants_and_a_row_by_its_key() -> None:
    assert texts("INSERT INTO t VALUES (1, 'x') RETURNING id, a") == Texts()
    assert texts("UPDATE t SET n = n + 1 WHERE id = 5 RETURNING n") == Texts()


@pytest.mark.parametrize(("others", "count", "named"), [
    ("(SELECT 3 AS z)", 1, '(SELECT 3 AS z) AS "q0" '),
    ("u, LATERAL (VALUES (u.n)), (SELECT (1)) x", 3,
     '(<u>) AS "u", LATERAL (VALUES (u.n)) AS "q0" , (SELECT (1)) x'),
    ("((SELECT 1 AS a) JOIN ((SELECT 2) ORDER BY 1) ON true)", 2,
     '((SELECT 1 AS a) AS "q0" JOIN ((SELECT 2) ORDER BY 1) AS "q1" ON true)'),
    ("((SELECT 1)) CROSS JOIN (TABLE u) u, generate_series(1, (3)) WITH ORDINALITY", 3,
     '((SELECT 1)) AS "q0" CROSS JOIN (SELECT * FROM (<u>) AS "u") u, generate_series(1, (3)) WITH ORDINALITY'),
])  # fmt: skip
def test_a_subquery_without_a_name_gets_one(others: str, count: int, named: str) -> None:
    rows = texts(
        f"UPDATE t SET n = 4 FROM {others} WHERE t.id > 1 RETURNING t.n + 1", [INT4], [BETWEEN[1]] * count
    ).rows
    assert shown(rows).endswith(f' FROM (<t>) AS "t", {named} WHERE (t.id > 1)')


def test_the_store_judges_the_statement_over_temporary_tables() -> None:
    """Names of relations and columns with a schema are those of the temporary ones; all else stays as it is."""
    sql = "UPDATE public.t SET n = public.t.n + $1 FROM \"public\" . u, nowhere WHERE 'public.t' < u.a"
    [statement] = parse(f"  {sql}")
    with pytest.raises(Undescribed) as lacking:
        make_plan(statement, {"t": T, "u": U}, Parameters(), reading=READING)
    judged = lacking.value.judged(["t", "u"])
    assert judged.text == ("UPDATE pg_temp.t SET n = pg_temp.t.n + $1 FROM pg_temp . u, nowhere WHERE 'public.t' < u.a")
    assert lacking.value.place(sql.index("nowhere")) == 2 + sql.index("nowhere")


def test_the_empty_table_of_a_version_has_its_columns_its_key_and_the_names_of_what_is_unique() -> None:
    assert empty_table(T).sql == (
        'CREATE TABLE pg_temp."t" ("id" bigint, "a" varchar(3), "n" integer, "l" integer[],'
        f' CONSTRAINT "\x02{T.table_id} 0" PRIMARY KEY ("id"),'
        ' CONSTRAINT "t_pkey" CHECK (true))'
    )


def test_of_many_rows_of_values_one_of_each_shape_is_read() -> None:
    rows = ["(1, left('it''s', 2))", "(2, left('b', 3))", "(3, U&'d!0061' UESCAPE '!')", "(4, left('c', 1))"]
    found = texts(f"INSERT INTO t (id, a) VALUES {', '.join(rows)}", [TEXT]).rows
    assert found is not None
    template = found.place.template
    assert all(row.split(", ", 1)[1][:-1] in template.text for row in rows)
    at = template.text.index("'c'")
    assert found.place.offset(template, at + 1) == len("INSERT INTO t (id, a) VALUES ") + ", ".join(rows).index("'c'")


def test_a_conflict_asks_whether_and_what_of_both_rows() -> None:
    sql = "INSERT INTO t (id, n) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n WHERE t.n < 9"
    found = texts(sql).conflicting
    assert found is not None
    assert [(one.relation, one.name) for one in found.given] == [("t", "id"), ("t", "n"), ("excluded", "n")]
    text = shown(found)
    assert text.startswith('SELECT "done"."done", CASE WHEN "done"."done" THEN (t.n + excluded.n)::integer END FROM')
    assert 'LATERAL (SELECT (t.n < 9) IS TRUE AS "done" OFFSET 0) AS "done" ORDER BY' in text


def test_statements_in_with_are_given_what_those_before_them_return() -> None:
    sql = (
        "WITH gone (k) AS (DELETE FROM t WHERE n > 0 RETURNING id), two AS (SELECT k * 2 AS k FROM gone)"
        " INSERT INTO u (id) SELECT k FROM two"
    )
    statement, plan = planned(sql, [], [INT8])
    assert isinstance(plan, SeveralPlan)
    both = several_texts(statement, plan, READING, 1)
    assert shown(both.parts[0].rows) == 'SELECT "t"."id" FROM (<t>) AS "t" WHERE (n > 0)'
    assert shown(both.main.rows).startswith(
        'WITH "gone" ("k") AS (SELECT "part"."c0" FROM unnest($1::pg_catalog.bytea[])'
    )
    assert shown(both.main.rows).endswith(
        ", two AS (SELECT k * 2 AS k FROM gone) SELECT (given.c0)::bigint FROM (SELECT k FROM two) AS given (c0)"
    )


def test_a_statement_in_with_that_returns_nothing_leaves_no_with() -> None:
    statement, plan = planned("WITH gone AS (DELETE FROM t WHERE n > 0) SELECT count(*) FROM u", [INT8])
    assert isinstance(plan, SeveralPlan)
    main = shown(several_texts(statement, plan, READING, 1).main.rows)
    assert main == 'SELECT (given.c0)::bigint FROM (SELECT count(*) FROM (<u>) AS "u") AS given (c0)'


def test_a_place_is_led_back_to_the_clients_text() -> None:
    sql = "WITH q AS (SELECT 'é') UPDATE t SET n = char_length('é') WHERE id > 0"
    text = texts(sql).rows
    assert text is not None
    done = text.place.filled({use.scan.number: "SELECT 1" for use in text.place.uses})
    at = done.text.index("char_length") + 1
    assert text.place.offset(done, at) == len(sql[: sql.index("char_length")].encode())
