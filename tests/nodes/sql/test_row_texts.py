"""Questions of statements that write to PostgreSQL: texts made of the client's own words."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.sqltypes import TEXT, Type
from nodes.sql.planner import make_plan
from nodes.sql.plans import WritingPlan
from nodes.sql.statements import parse
from nodes.sql.writes.questions import Described, Undescribed, empty_table
from nodes.sql.writes.row_texts import Texts, texts_of
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


def texts(sql: str, *answers: Sequence[Type]) -> Texts:
    """The questions, when the store says that the statement, then they, have columns of these types."""
    [statement] = parse(sql)
    described = [Described((), [Field("c", of.oid) for of in types]) for types in (*answers, *[()] * 9)]
    plan = make_plan(statement, {"t": T, "u": U}, Parameters(), answers=described)
    assert isinstance(plan, WritingPlan)
    return texts_of(statement, plan, READING, 1)


def test_nothing_is_asked_for_columns_constants_and_a_row_by_its_key() -> None:
    assert texts("INSERT INTO t VALUES (1, 'x') RETURNING id, a") == Texts()
    assert texts("UPDATE t SET n = n + 1 WHERE id = 5 RETURNING n") == Texts()


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


def test_a_place_is_led_back_to_the_clients_text() -> None:
    sql = "WITH q AS (SELECT 'é') UPDATE t SET n = char_length('é') WHERE id > 0"
    text = texts(sql).rows
    assert text is not None
    done = text.place.filled({use.scan.number: "SELECT 1" for use in text.place.uses})
    at = done.text.index("char_length") + 1
    assert text.place.offset(done, at) == len(sql[: sql.index("char_length")].encode())
