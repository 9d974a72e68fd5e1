"""Arrays through a node: as large as a value may be and no larger, and a way to rows by key."""

from typing import Any

import psycopg
import pytest

from catalog.values.arrays import ELEMENTS_MAX
from expressions.limits import GROWN_ELEMENTS_MAX
from tests.nodes.conftest import Cluster

AGGREGATED = "(SELECT array_agg(g) AS a FROM generate_series(1, {count}) g) s"


@pytest.mark.parametrize(("sql", "length"), [
    (f"SELECT cardinality(a) FROM {AGGREGATED.format(count=ELEMENTS_MAX + 1)}", ELEMENTS_MAX + 1),
    (f"SELECT cardinality(a || a) FROM {AGGREGATED.format(count=100_000)}", 200_000),
    (f"SELECT cardinality(string_to_array(repeat(',', {ELEMENTS_MAX}), ','))", ELEMENTS_MAX + 1),
    ("SELECT length(string_agg(repeat('x', 1000), ',')) FROM generate_series(1, 2000)", 2_001_999),
])  # fmt: skip
def test_what_grows_beyond_what_is_stored_is_computed(n1: "psycopg.Connection[Any]", sql: str, length: int) -> None:
    assert n1.execute(sql).fetchone() == (length,)


def test_the_longest_array_comes_and_goes(n1: "psycopg.Connection[Any]") -> None:
    longest = [True] * ELEMENTS_MAX
    assert n1.execute("SELECT %s::bool[]", [longest]).fetchone() == (longest,)
    with n1.cursor(binary=True) as cursor:
        assert cursor.execute("SELECT array_agg(g) FROM generate_series(1, 100000) g").fetchone() == (
            [*range(1, 100_001)],
        )
    for each in ([longest, [True]], [longest[:-1], [True, False]]):
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="at most 131072 elements"):
            n1.execute("SELECT %s::bool[] = %s::bool[]", each)


def test_fifteen_arrays_of_a_megabyte_are_refused(n1: "psycopg.Connection[Any]") -> None:
    columns = ", ".join(["cardinality(%s::bool[])"] * 15)
    with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="at most 131072 elements"):
        n1.execute(f"SELECT {columns}", ["{" + ",".join(["t"] * (2**19 - 1)) + "}"] * 15)


def test_elements_are_found_in_a_long_array(n1: "psycopg.Connection[Any]") -> None:
    many = list(range(50_000))
    counted = "SELECT count(*) FROM generate_series(1, 60000) g WHERE g {} (%s::int[])"
    assert n1.execute(counted.format("= ANY"), [many]).fetchone() == (49_999,)
    assert n1.execute(counted.format("<> ALL"), [many]).fetchone() == (10_001,)
    assert n1.execute(counted.format("<> ALL"), [[*many, None]]).fetchone() == (0,)
    assert n1.execute("SELECT 49999 < ANY (%s::int[]), 7 < ALL (%s::int[])", [many, many]).fetchone() == (False, False)


@pytest.fixture(scope="module")
def table(cluster: Cluster) -> str:
    name = cluster.table("id int primary key, v text")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {name} SELECT g, 'v' || g FROM generate_series(1, 50) g")
    return name


@pytest.mark.parametrize(("array", "ids"), [
    ([3, 1, 99], [1, 3]), ([3, None, 3], [3]), ([], []), ([None], []), (None, []), ([2**40, 7], [7]),
])  # fmt: skip
@pytest.mark.parametrize("prepare", [False, True])
def test_any_of_an_array_reads_by_key(
    n1: "psycopg.Connection[Any]", table: str, array: Any, ids: list[int], *, prepare: bool
) -> None:
    """The trace says what was read of the store."""
    asked = f"SELECT id, v FROM {table} WHERE id = ANY(%s::bigint[]) ORDER BY id"
    for _ in range(3):
        assert n1.execute(asked, [array], prepare=prepare).fetchall() == [(number, f"v{number}") for number in ids]
    written = n1.execute(f"UPDATE {table} SET v = v WHERE id = ANY(%s::int[]) RETURNING id", [[1, 2, None, 60]])
    assert sorted(number for (number,) in written.fetchall()) == [1, 2]


def test_explain_names_the_keys(n1: "psycopg.Connection[Any]", table: str) -> None:
    shown = n1.execute(f"EXPLAIN SELECT v FROM {table} WHERE id = ANY(ARRAY[1, 2])").fetchall()
    as_array = n1.execute(f"EXPLAIN SELECT v FROM {table} WHERE id = ANY('{{1,2}}'::bigint[])").fetchall()
    assert as_array == shown == n1.execute(f"EXPLAIN SELECT v FROM {table} WHERE id IN (1, 2)").fetchall()
    assert not any("whole" in line for (line,) in shown)


def test_chars_that_were_read_find_their_rows_again(cluster: Cluster) -> None:
    """A driver sends back what it was shown, without a type: a char with all its blanks, by itself or in an array."""
    name = cluster.table("id int PRIMARY KEY, c char(4)")
    with cluster.connect() as node:
        node.execute(f"INSERT INTO {name} VALUES (1, 'ab'), (2, 'cd'), (3, 'ef')")
        shown = [row[0] for row in node.execute(f"SELECT c FROM {name} WHERE id < 3 ORDER BY id")]
        assert shown == ["ab  ", "cd  "]
        assert node.execute(f"SELECT id FROM {name} WHERE c = ANY (%s) ORDER BY id", [shown]).fetchall() == [(1,), (2,)]
        assert node.execute(f"SELECT id FROM {name} WHERE c <> ALL (%s)", [[*shown, "g "]]).fetchall() == [(3,)]
        assert node.execute(f"SELECT count(*) FROM {name} x WHERE x.c = ANY (%s)", [[None, "ef "]]).fetchall() == [(1,)]
        assert node.execute(f"UPDATE {name} SET c = 'x' WHERE c = %s", [shown[0]]).rowcount == 1


@pytest.mark.parametrize(("setting", "element", "said"), [
    ("intervalstyle = iso_8601", "interval '1 day'", "P1D"), ("bytea_output = escape", "'a'::bytea", "a")
])  # fmt: skip
def test_a_text_of_elements_has_the_form_of_the_session(
    cluster: Cluster, setting: str, element: str, said: str
) -> None:
    with cluster.connect() as ours:
        ours.execute(f"SET {setting}")
        asked = f"SELECT ARRAY[{element}]::text, array_to_string(ARRAY[{element}], ',')"
        assert ours.execute(asked).fetchone() == (f"{{{said}}}", said)


def test_elements_of_a_column_that_are_assigned_at_once_are_limited(cluster: Cluster) -> None:
    name = cluster.table("id int PRIMARY KEY, a int[]")
    with cluster.connect() as ours:
        ours.execute(f"INSERT INTO {name} VALUES (1)")
        sets = [f"a[{n}] = {n}" for n in range(1, 1001)]
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="at most 100 elements"):
            ours.execute(f"UPDATE {name} SET {', '.join(sets)}")


def test_what_was_stored_is_read_by_every_way(cluster: Cluster) -> None:
    """Marks of NULLs, and what the engine adds to texts of numbers, do not count to the length of an array."""
    name = cluster.table("id int PRIMARY KEY, b bigint[], n numeric[]")
    with cluster.connect() as ours:
        ours.execute(f"INSERT INTO {name} (id, n) VALUES (1, %t)", ["{" + ",".join(["12345.5"] * 100_000) + "}"])
        ours.execute(f"UPDATE {name} SET b = %s", [[1, *[None] * 131_070, 1]])
        for sql in (f"SELECT id FROM {name} WHERE n IS NOT NULL AND b[1] = 1", f"SELECT x.id FROM {name} x, {name} y"):
            assert ours.execute(sql).fetchone() == (1,)
        counted = ours.execute(f"SELECT cardinality(x.b), cardinality(x.n) FROM {name} x, {name} y").fetchone()
        assert counted == (131_072, 100_000)
        assert len((ours.execute(f"SELECT x.b FROM {name} x, {name} y").fetchone() or [()])[0]) == 131_072
        assert len((ours.execute(f"SELECT x.n FROM {name} x, {name} y").fetchone() or [()])[0]) == 100_000


@pytest.mark.parametrize("sql", [
    "SELECT ARRAY[[1, 2], [3, 4]]",
    "SELECT '{{1,2},{3,4}}'::int[]",
    "SELECT array_agg(a) FROM (VALUES (ARRAY[1, 2]), (ARRAY[3, 4])) v (a)",
])  # fmt: skip
def test_arrays_of_arrays_are_computed_though_no_column_keeps_one(n1: "psycopg.Connection[Any]", sql: str) -> None:
    assert n1.execute(sql).fetchone() == ([[1, 2], [3, 4]],)


REFUSED = {
    "UPDATE {} SET a = ARRAY[[1, 2], [3, 4]]": "an array of arrays",
    "UPDATE {} SET a = '{{{{1,2}},{{3,4}}}}'": "an array of arrays",
    "UPDATE {} SET a = (SELECT array_agg(b) FROM (VALUES (ARRAY[1])) v (b))": "an array of arrays",
    "UPDATE {} SET a[5:6] = '{{1,2}}'": "an array whose elements do not count from 1",
    "UPDATE {} SET a[5:6] = s.x FROM (SELECT ARRAY[1, 2] AS x) s": "an array whose elements do not count from 1",
    "UPDATE {} SET a[1:2][1:2] = '{{1,2}}'": "SET of a as an array of arrays",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_a_node_has_no_array_for_is_refused_by_name(cluster: Cluster, sql: str) -> None:
    name = cluster.table("id int PRIMARY KEY, a int[]")
    with cluster.connect() as ours:
        ours.execute(f"INSERT INTO {name} VALUES (1, '{{}}')")
        with pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
            ours.execute(sql.format(name) if "{}" in sql and "SET" in sql else sql)
        said = caught.value.diag
        assert said.message_primary == f"{REFUSED[sql]} is not supported"
        if "arrays" in REFUSED[sql] and "fill" not in sql:
            assert "jsonb may be nested" in f"{said.message_hint} {said.message_detail}"
        assert ours.execute(f"SELECT a FROM {name}").fetchone() == ([],)


def test_a_slice_makes_no_array_that_is_too_long(cluster: Cluster) -> None:
    name = cluster.table("id int PRIMARY KEY, a text[]")
    long = f"ARRAY['{'x' * 600_000}']"
    with cluster.connect() as ours:
        ours.execute(f"INSERT INTO {name} VALUES (1, {long})")
        for sql in ("SET a[131073:131073] = ARRAY['y']", f"SET a[2:2] = {long}"):
            with pytest.raises(psycopg.errors.ProgramLimitExceeded):
                ours.execute(f"UPDATE {name} {sql}")
        ours.execute(f"UPDATE {name} SET a = %s", [["x"] * 131_070])
        ours.execute(f"UPDATE {name} SET a[131072:131072] = ARRAY['y']")
        assert ours.execute(f"SELECT cardinality(a), a[131070:] FROM {name}").fetchone() == (131_072, ["x", None, "y"])


@pytest.mark.parametrize("made", [
    pytest.param("a[{} + 1] = 7", id="an element"),
    pytest.param("a[{} + 2:{} + 2] = '{7}'", id="a slice"),
])  # fmt: skip
def test_an_array_grows_by_so_many_elements_at_once(cluster: Cluster, made: str) -> None:
    """For one row by its key, and for those that a query finds."""
    name = cluster.table("id int PRIMARY KEY, a int[]")
    with cluster.connect() as ours:
        ours.execute(f"INSERT INTO {name} VALUES (1, '{{1}}')")
        for others in ("", f" FROM (VALUES (1)) s (id) WHERE s.id = {name}.id"):
            ours.execute(f"UPDATE {name} SET a = '{{1}}'")
            with pytest.raises(psycopg.errors.ProgramLimitExceeded, match=f"by at most {GROWN_ELEMENTS_MAX} elements"):
                ours.execute(f"UPDATE {name} SET {made.replace('{}', str(GROWN_ELEMENTS_MAX + 1))}{others}")
            ours.execute(f"UPDATE {name} SET {made.replace('{}', str(GROWN_ELEMENTS_MAX - 1))}{others}")
            ((length,),) = ours.execute(f"SELECT cardinality(a) FROM {name}").fetchall()
            assert GROWN_ELEMENTS_MAX - 1 <= length <= GROWN_ELEMENTS_MAX + 1


def test_a_shuffled_array_has_every_order(n1: "psycopg.Connection[Any]") -> None:
    """Each call draws anew: of three elements all six orders come, and of two of them all six pairs."""
    for call in ("array_shuffle(ARRAY[1, 2, 3])", "array_sample(ARRAY[1, 2, 3], 2)", "array_sample(a, 2)"):
        rows = n1.execute(f"SELECT {call} FROM generate_series(1, 300), (VALUES (ARRAY[1, 2, 3])) v (a)").fetchall()
        assert len({tuple(row[0]) for row in rows}) == 6
