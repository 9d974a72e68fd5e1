"""The cause of a failed change: a count, rows in a table, and a query that a node takes; not what follows from it. That
the queries find the rows is tried in `tests.nodes.session.test_schema_changes_of_data`."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from changes.pages.failure import ROWS_SHOWN, failure
from tests.changes.tables import people, planned

FAILED = {"message": "18 rows break constraint people_age_check, the first 10: ..", "sqlstate": "23514"}


def violation(element: str, clause: str = "C6", *, total: int = 18, **offender: Any) -> dict[str, Any]:
    shown = {"offender": offender} if offender else {}
    return {"clause": clause, "element": element, "key": "", "storage": 1, "why": "row id = 1", "total": total} | shown


def cause(sql: str, element: str, **offender: Any) -> dict[str, Any]:
    """The one cause of a change of people."""
    found = failure(planned(sql, people()), [violation(element, **offender)], FAILED)
    assert found is not None
    [only] = found["causes"]
    return dict(only)


def test_a_change_that_has_not_failed_has_no_cause() -> None:
    assert failure(planned("DROP INDEX by_age", people()), [], None) is None


def test_rows_are_in_the_order_of_their_keys() -> None:
    """Numbers as numbers: 9 comes before 87; what has no key by its words."""
    keys = ["87", "9", "-3", "100"]
    broken = [
        violation("constraint people_name_not_null", key={"id": key}, values={}, other=None)
        | {"why": f"row id = {key}"}
        for key in sorted(keys)
    ]
    found = failure(planned("ALTER TABLE people ALTER name SET NOT NULL", people()), broken, FAILED)
    assert found is not None
    [only] = found["causes"]
    assert [row[0] for row in only["rows"]] == ["-3", "9", "87", "100"]
    assert only["whys"] == ["row id = -3", "row id = 9", "row id = 87", "row id = 100"]


def test_an_error_that_is_no_matter_of_rows_is_its_own_sentence() -> None:
    found = failure(planned("DROP INDEX by_age", people()), [], {"message": "the workers fell silent"})
    assert found == {"message": "the workers fell silent", "particulars": "", "sqlstate": "", "causes": []}


@pytest.mark.parametrize(
    ("sql", "element", "code", "columns", "rule", "query"),
    [
        pytest.param(
            "ALTER TABLE people ALTER name SET NOT NULL",
            "constraint people_name_not_null",
            "23502",
            ["name"],
            "",
            'SELECT "id", "name"\nFROM "people"\nWHERE "name" IS NULL\nORDER BY "id"',
            id="NOT NULL",
        ),
        pytest.param(
            "ALTER TABLE people ADD CHECK (born > '1900-01-01' OR name IS NULL)",
            "constraint people_check",
            "23514",
            ["name", "born"],
            "born > '1900-01-01' OR name IS NULL",
            'SELECT "id", "name", "born"\nFROM "people"\nWHERE NOT (born > \'1900-01-01\' OR name IS NULL)\n'
            'ORDER BY "id"',
            id="CHECK",
        ),
        pytest.param(
            "ALTER TABLE people ADD code int NOT NULL DEFAULT 7, ADD CONSTRAINT k CHECK (code > age)",
            "constraint k",
            "23514",
            ["age", "code"],
            "code > age",
            'SELECT "id", "age", "code"\nFROM (SELECT *, 7 AS "code" FROM "people") AS "people"\n'
            'WHERE NOT (code > age)\nORDER BY "id"',
            id="a column that is not there any more has the value that every row would get",
        ),
        pytest.param(
            "CREATE UNIQUE INDEX i ON people (born DESC, name) WHERE town IS NOT NULL",
            "index i",
            "23505",
            ["born", "name"],
            "WHERE town IS NOT NULL",
            'SELECT * FROM (\n  SELECT "id", "born", "name", '
            'count(*) OVER (PARTITION BY "born", "name") AS rows_alike\n'
            '  FROM "people"\n  WHERE "born" IS NOT NULL AND "name" IS NOT NULL AND (town IS NOT NULL)\n'
            ') AS alike\nWHERE rows_alike > 1\nORDER BY "born", "name"',
            id="a partial unique index: rows with a NULL never collide",
        ),
        pytest.param(
            "ALTER TABLE people ADD boss bigint DEFAULT 3, ADD FOREIGN KEY (boss) REFERENCES people (id)",
            "constraint people_boss_fkey",
            "23503",
            ["boss"],
            "people (id)",
            'SELECT "id", "boss"\nFROM (SELECT *, 3 AS "boss" FROM "people") AS "people"\nWHERE "boss" IS NOT NULL\n'
            '  AND NOT EXISTS (SELECT 1 FROM "people" AS referenced WHERE referenced."id" = "people"."boss")\n'
            'ORDER BY "id"',
            id="a foreign key",
        ),
    ],
)
def test_the_rule_that_rows_break_and_the_query_that_finds_them(
    sql: str, element: str, code: str, columns: list[str], rule: str, query: str
) -> None:
    found = cause(sql, element)
    assert (found["sqlstate"], found["columns"], found["rule"], found["total"]) == (code, columns, rule, 18)
    assert found["query"] == query


def test_a_value_that_another_type_has_not_is_found_by_its_text() -> None:
    plan = planned("ALTER TABLE people ALTER town TYPE integer", people())
    found = violation("column town (as integer)", "C2", key={"id": "9"}, other=None, values={"town": "'Ulm'"})
    shown = failure(plan, [found | {"sqlstate": "22P02"}], {"message": "..", "sqlstate": "22P02"})
    assert shown is not None
    [only] = shown["causes"]
    assert (only["kind"], only["sqlstate"], only["columns"], only["rule"]) == ("cast", "22P02", ["town"], "integer")
    assert only["rows"] == [["9", "'Ulm'"]]
    query = 'SELECT "id", "town"\nFROM "people"\nWHERE NOT pg_input_is_valid("town"::text, \'integer\')\nORDER BY "id"'
    assert only["query"] == query


def test_a_value_that_is_too_long_is_said_to_be_that() -> None:
    plan = planned("ALTER TABLE people ALTER town TYPE varchar(3)", people())
    found = violation("column town (as varchar(3))", "C2", key={"id": "9"}, other=None, values={"town": "'Berlin'"})
    shown = failure(plan, [found | {"sqlstate": "22001"}], {"message": "..", "sqlstate": "22001"})
    assert shown is not None
    said = render_to_string("parts/failure_cause.html", {"c": shown["causes"][0]})
    assert "of people have a town that is too long for varchar(3)." in said


def test_a_count_that_is_a_lower_bound_says_so() -> None:
    found = cause("CREATE UNIQUE INDEX i ON people (town)", "index i")
    assert found["is_least"] is False
    some = [violation("index i", total=5000) | {"is_least": True}]
    shown = failure(planned("CREATE UNIQUE INDEX i ON people (town)", people()), some, FAILED)
    assert shown is not None
    assert "At least 5,000 rows of" in render_to_string("parts/failure_cause.html", {"c": shown["causes"][0]})
    with translation.override("zh-hans"):
        chinese = render_to_string("parts/failure_cause.html", {"c": shown["causes"][0]})
    assert chinese.strip().startswith("people "), "a name that begins a sentence stays as it is"


def test_the_rows_are_a_table_of_keys_and_values() -> None:
    found = cause(
        "CREATE UNIQUE INDEX i ON people (town)",
        "index i",
        key={"id": "9"},
        other={"id": "7"},
        values={"town": "'Ulm'"},
    )
    assert found["heads"] == {"key": ["id"], "other": ["id"], "values": ["town"]}
    assert found["rows"] == [["9", "7", "'Ulm'"]]


def test_ten_rows_are_shown_of_each_rule() -> None:
    many = [
        violation("constraint k", key={"id": str(n)}, other=None, values={"age": "1"}) for n in range(ROWS_SHOWN + 5)
    ]
    found = failure(planned("ALTER TABLE people ADD CONSTRAINT k CHECK (age > 2)", people()), many, FAILED)
    assert found is not None
    assert len(found["causes"][0]["rows"]) == len(found["causes"][0]["whys"]) == ROWS_SHOWN


def test_what_follows_from_a_broken_rule_is_not_named_beside_it() -> None:
    plan = planned("ALTER TABLE people ADD code int DEFAULT 1 UNIQUE, ADD CONSTRAINT k CHECK (age > 2)", people())
    broken = [
        violation("index people_code_key", "C4"),
        violation("index people_code_key"),
        violation("constraint k", total=2),
    ]
    found = failure(plan, broken, FAILED)
    assert found is not None
    assert [(one["name"], one["sqlstate"]) for one in found["causes"]] == [("k", "23514"), ("people_code_key", "23505")]
    alone = failure(plan, broken[:1], FAILED)
    assert alone is not None
    assert [(one["element"], one["sqlstate"]) for one in alone["causes"]] == [("index people_code_key", None)]


def test_what_was_kept_before_there_were_counts_is_shown_in_words() -> None:
    kept = [
        {"clause": "C6", "element": "constraint k", "key": "", "storage": 1, "why": f"row id = {n}"} for n in (1, 2)
    ]
    found = failure(planned("ALTER TABLE people ADD CONSTRAINT k CHECK (age > 2)", people()), kept, FAILED)
    assert found is not None
    [only] = found["causes"]
    assert (only["total"], only["rows"], only["whys"]) == (2, [], ["row id = 1", "row id = 2"])
