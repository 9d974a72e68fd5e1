"""Which conditions bound the uses of tables in a query, and which other relations give them keys."""

from dataclasses import replace

import pytest

from catalog.elements import ColumnId, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.typed import Context
from nodes.sql.conditions.access_paths import access
from nodes.sql.conditions.lookups import Lookup, lookups
from nodes.sql.pair_queries import Given, looked_up_sql
from nodes.sql.statements import parse
from nodes.sql.uses import LinkedScan, followed, scans_in, shown_of
from storage.sql_values import encode_key_sql
from tests.nodes.sql.test_readable import FLIGHTS, OTHERS

BY_DELAY = Index(IndexId(2), "by_delay", (IndexColumn(ColumnId(4), True), IndexColumn(ColumnId(2))), state=State.PUBLIC)
TABLES = {"flights": FLIGHTS, "others": replace(OTHERS, indexes=(*OTHERS.indexes, BY_DELAY))}


def read(text: str) -> tuple[list[LinkedScan], dict[int, Lookup]]:
    [statement] = parse(text)
    scans = list(scans_in(statement.node, TABLES, {}).values())
    context = Context()
    ways = {s.number: access(s.descriptor, s.conditions, context, storages=2, buckets=16) for s in scans}
    return scans, lookups(scans, ways, context)


def looked_up(text: str) -> list[tuple[str, str | None, list[str]]]:
    """The lookups of a text: table, index, and where each part of a key comes from."""
    scans, found = read(text)
    names = {scan.number: scan.descriptor.name for scan in scans}
    shown = []
    for number, lookup in found.items():
        parts = [
            "constant" if isinstance(part.value, bytes) else part.value.sql or names[part.value.other]
            for part in lookup.parts
        ]
        shown.append((names[number], lookup.index.name if lookup.index else None, parts))
    return shown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "SELECT (SELECT dest FROM others o WHERE o.id = f.delay) FROM flights f",
            [("others", None, ['"f"."delay"'])],
            id="a scalar subquery by key",
        ),
        pytest.param(
            "SELECT x.id FROM flights f, LATERAL (SELECT id FROM others WHERE delay = f.id ORDER BY id LIMIT 1) x",
            [("others", "by_delay", ['"f"."id"'])],
            id="the latest row of each group",
        ),
        pytest.param(
            "SELECT 1 FROM flights f WHERE f.id < 9 AND f.id > 3 AND EXISTS (SELECT FROM others WHERE dest = f.dest)",
            [("others", "by_dest", ['"f"."dest"'])],
            id="EXISTS of a few rows",
        ),
        pytest.param(
            "SELECT 1 FROM flights f WHERE NOT EXISTS (SELECT 1 FROM others WHERE dest = f.dest)",
            [],
            id="EXISTS of all rows is joined",
        ),
        pytest.param(
            "SELECT (SELECT 1 FROM others o WHERE o.delay = f.delay AND o.dest = 'BOS') FROM flights f",
            [("others", "by_delay", ['"f"."delay"', "constant"])],
            id="a constant behind a link",
        ),
        pytest.param(
            "SELECT 1 FROM others o JOIN flights f ON o.id = f.delay WHERE f.id = 7",
            [("others", None, ["flights"])],
            id="a join reads by the keys that a few rows name",
        ),
        pytest.param(
            "SELECT 1 FROM flights f LEFT JOIN others o USING (id) WHERE f.dest = 'BOS'",
            [("others", None, ["flights"])],
            id="USING, and the side that may be missing",
        ),
        pytest.param(
            "SELECT 1 FROM others o LEFT JOIN flights f ON o.id = f.delay AND f.id = 7",
            [],
            id="the side that is kept is read whole",
        ),
        pytest.param("SELECT 1 FROM others o JOIN flights f ON o.id = f.delay", [], id="a join of all rows"),
        pytest.param(
            "SELECT (SELECT 1 FROM others o WHERE o.dest = f.id::text) FROM flights f", [], id="a cast that may fail"
        ),
        pytest.param(
            "SELECT (SELECT 1 FROM others o WHERE o.id = 1 - f.delay AND lower(dest) = o.dest) FROM (TABLE flights) f",
            [("others", None, ["(1 - f.delay)"])],
            id="an expression",
        ),
        pytest.param(
            "SELECT (SELECT 1 FROM others o WHERE o.dest = upper(f.dest) || 'x') FROM flights f",
            [("others", "by_dest", ["(upper(f.dest) || 'x')"])],
            id="a function",
        ),
        pytest.param(
            "SELECT (SELECT 1 FROM others o WHERE o.delay = f.delay + o.id) FROM flights f", [], id="of both tables"
        ),
        pytest.param(
            "SELECT (SELECT 1 FROM others o WHERE o.id = f.delay OR true) FROM flights f", [], id="a condition under OR"
        ),
        pytest.param(
            "WITH q AS (SELECT delay AS d FROM flights) SELECT (SELECT dest FROM others WHERE id = d) FROM q",
            [("others", None, ['"q"."d"'])],
            id="a column of WITH",
        ),
        pytest.param(
            "SELECT (SELECT dest FROM others o, json_each('{}') WHERE o.id = d) FROM (SELECT 1 AS d) q",
            [],
            id="a name that a function beside may have",
        ),
        pytest.param(
            "SELECT 1 FROM flights f, LATERAL (SELECT delay AS d FROM others WHERE id = f.delay) q, flights g"
            " WHERE g.id = q.d",
            [("others", None, ['"f"."delay"'])],
            id="a table in a LATERAL query gives no keys outside of it",
        ),
        pytest.param(
            "SELECT 1 FROM (SELECT delay AS d FROM others WHERE id = 7) q JOIN flights g ON g.id = q.d",
            [("flights", None, ["others"])],
            id="a table in a plain query gives keys outside of it",
        ),
        pytest.param(
            "SELECT (SELECT (SELECT 1 FROM others o WHERE o.id = f.delay) FROM flights f WHERE f.id = 3) FROM others f",
            [("others", None, ['"f"."delay"'])],
            id="the nearest relation of a name",
        ),
        pytest.param(
            "SELECT (SELECT 1 FROM others o, flights f WHERE o.id = g) FROM (SELECT delay AS g FROM flights) f",
            [],
            id="a relation that another of its name hides",
        ),
    ],
)
def test_other_relations_give_keys(text: str, found: list[tuple[str, str | None, list[str]]]) -> None:
    assert looked_up(text) == found


@pytest.mark.parametrize(("text", "counts"), [
    ("SELECT 1 FROM flights f, others o WHERE f.id = 7 AND o.id > 3 AND o.dest = f.dest", [1, 1]),
    ("SELECT 1 FROM flights f LEFT JOIN others o ON o.id = 7 WHERE o.delay IS NULL", [0, 1]),
    ("SELECT 1 FROM flights f LEFT JOIN others o ON f.id = 7 WHERE o.delay = 1", [0, 1]),
    ("SELECT * FROM (SELECT id AS x FROM flights) f WHERE x = 7", [1]),
    ("SELECT * FROM (SELECT id AS x FROM flights LIMIT 1) f WHERE x = 7", [0]),
    ("SELECT * FROM (SELECT * FROM (SELECT id AS x FROM flights) a) b WHERE x = 7", [1]),
    ("SELECT 1 FROM (SELECT o.id AS x FROM flights f LEFT JOIN others o USING (id)) q WHERE x IS NULL", [0, 0]),
    ("SELECT 1 FROM (SELECT o.id AS x FROM flights f LEFT JOIN others o USING (id)) q WHERE x = 7", [0, 1]),
    ("SELECT 1 FROM flights f LEFT JOIN LATERAL (SELECT f.id AS x FROM others) q ON q.x = 7", [0, 0]),
    ("SELECT 1 FROM flights WHERE no_such_function(id) AND id = 7", [1]),
    ("SELECT id FROM flights WHERE id = 7 UNION SELECT id FROM others WHERE id IN (1, 2)", [1, 1]),
    ("WITH flights AS (SELECT 1 AS id) SELECT 1 FROM flights WHERE id = 7", []),
    ("SELECT 1 FROM (flights JOIN others USING (id)) AS j WHERE id = 7", [0, 0]),
])  # fmt: skip
def test_conditions_bound_the_tables_whose_rows_must_meet_them(text: str, counts: list[int]) -> None:
    scans, _ = read(text)
    assert [len(scan.conditions) for scan in scans] == counts


def test_a_table_is_read_again_for_each_row_around_only_where_its_query_names_one() -> None:
    scans, _ = read("SELECT (SELECT max(id) FROM others), (SELECT 1 FROM others o WHERE o.id < f.id) FROM flights f")
    assert [scan.is_repeated for scan in scans] == [False, False, True]


def lookup_sql(text: str, source: str = "") -> tuple[str, Given]:
    scans, found = read(text)
    [(number, lookup)] = found.items()
    version, given = scans[number].descriptor, Given(1)
    return looked_up_sql(version, {"dest": version.column_named("dest")}, lookup, [1, 2], source, given), given


def test_the_key_of_a_row_is_encoded_where_it_is_read() -> None:
    sql, _ = lookup_sql("SELECT (SELECT dest FROM others o WHERE o.id = f.delay) FROM flights f")
    key = encode_key_sql(FLIGHTS.columns[0], '"f"."delay"', of=SqlType.INTEGER)
    assert sql.count(f"WHERE k = '\\x00010000'::bytea || {key} AND c IN (0, 2)") == 2
    assert '"f"."delay"' in sql


def test_entries_are_between_the_values_and_all_that_may_follow_them() -> None:
    sql, given = lookup_sql("SELECT (SELECT dest FROM others o WHERE o.delay = f.delay) FROM flights f")
    assert "k = ANY (ARRAY(SELECT" in sql
    assert " || '\\xffff'::bytea" in sql
    assert not given.values


def test_keys_of_a_table_beside_are_gathered_once() -> None:
    sql, _ = lookup_sql("SELECT 1 FROM others o JOIN flights f ON o.id = f.delay WHERE f.id = 7", "SELECT 1 AS c4")
    assert sql.count("k = ANY (ARRAY(SELECT '\\x00010000'::bytea || ") == 2
    assert "FROM (SELECT 1 AS c4) AS w" in sql


FUNCTION = "SELECT now() AS a, id, delay FROM flights"


@pytest.mark.parametrize(("text", "counts"), [
    pytest.param(f"SELECT 1 FROM (SELECT * FROM ({FUNCTION}) s) v (a, b, c) WHERE b = 7", [0], id="a computed one"),
    pytest.param(
        "SELECT 1 FROM (SELECT * FROM (SELECT f.id, o.id, o.delay FROM flights f, others o) s) v (a, b, c) WHERE c = 7",
        [0, 1], id="two of one name"),
    pytest.param("SELECT 1 FROM (SELECT * FROM flights f JOIN others o USING (id)) v (a, b, c, d, e) WHERE b = 'BOS'",
        [1, 0], id="merged ones come first"),
    pytest.param("SELECT 1 FROM (SELECT * FROM flights NATURAL RIGHT JOIN others) v (a, b, c) WHERE a = 7", [0, 1],
        id="all of both tables"),
])  # fmt: skip
def test_a_star_stands_for_columns_in_their_order(text: str, counts: list[int]) -> None:
    scans, _ = read(text)
    assert [len(scan.conditions) for scan in scans] == counts


@pytest.mark.parametrize(("text", "shown"), [
    pytest.param("SELECT dest, id AS key, 1 FROM flights", [(7, 2), (7, 1), (0, 0)], id="columns"),
    pytest.param("SELECT * FROM others", [(8, 1), (8, 2), (8, 4)], id="a star"),
    pytest.param("SELECT x.d FROM (SELECT dest AS d FROM flights) x", [(7, 2)], id="a subquery"),
    pytest.param("WITH q AS (SELECT * FROM flights) SELECT q.* FROM q", [(7, 1), (7, 2), (7, 4)], id="WITH"),
    pytest.param("SELECT id FROM flights FULL JOIN others USING (id)", [(0, 0)], id="of either side"),
    pytest.param("SELECT id FROM flights RIGHT JOIN others USING (id)", [(8, 1)], id="of the right side"),
    pytest.param("SELECT id FROM flights UNION SELECT id FROM others", [(0, 0)], id="of two queries"),
    pytest.param("SELECT max(id) FROM flights", [(0, 0)], id="what is computed"),
])  # fmt: skip
def test_a_result_shows_columns_of_tables(text: str, shown: list[tuple[int, int]]) -> None:
    [statement] = parse(text)
    columns = followed(statement.node, TABLES, {}).columns
    assert columns is not None
    assert [(0, 0) if of is None else shown_of(of) for _, of in columns] == shown


def test_a_name_that_is_not_public_has_its_state_where_it_stands() -> None:
    [statement] = parse("SELECT id AS gate FROM flights WHERE gate IS NULL ORDER BY gate")
    refusals = followed(statement.node, TABLES, {}).refusals
    assert 'column "gate" of table "flights" is delete-only' in refusals[37].message


@pytest.mark.parametrize(("text", "sqlstate"), [
    pytest.param("SELECT 1 FROM " + ", ".join(f"flights f{n}" for n in range(401)), "54000", id="tables"),
    pytest.param("SELECT 1 FROM nothing", "42P01", id="no such table"),
    pytest.param("SELECT 1 FROM there.flights", "42P01", id="another schema"),
])  # fmt: skip
def test_what_names_no_table_or_too_many_is_refused(text: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as caught:
        read(text)
    assert caught.value.sqlstate == sqlstate
