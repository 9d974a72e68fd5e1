"""What is wrong with columns, unique and partial indexes and rules is found as the clauses find it."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from catalog.elements import ColumnId, Index, IndexColumn, IndexId, State
from catalog.types import SqlType
from spark_tasks.audit import audit_table
from spark_tasks.finding import violation_from_json
from spark_tasks.models import Kind, ReorgRun
from spark_tasks.services import close_run
from storage import encoding
from storage.clauses import Violation
from storage.pairs import column_key, entry_pair, prefix
from tests.spark_tasks.kinds import ADDED, ADULT, GROWN_UP, NAMED, SCORE, TWIN, UNIQUE, Change
from tests.spark_tasks.runs import Runs
from tests.storage.stage import AGE, NAME, Stage, user

PEOPLE = 8


@pytest.fixture
def runs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    monkeypatch.setattr("spark_tasks.services._send", lambda run_id: None)
    stage.insert(user(stage.now, n, f"name {n}", 18 + n) for n in range(PEOPLE))
    yield Runs(stage, change_id=stage.table_id)
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


def home(stage: Stage, key: bytes) -> int:
    return next(n for n, pairs in enumerate(stage.contents(), 1) if key in pairs)


def pair(stage: Stage, number: int, column: ColumnId) -> bytes:
    return column_key(prefix(stage.now, stage.now.placement.id), user(stage.now, number).key, column)


def remove(stage: Stage, key: bytes) -> None:
    stage.sql(f"DELETE FROM storage_{home(stage, key)}.kv_{stage.table_id} WHERE key = %s", [key])


def overwrite(stage: Stage, key: bytes, value: bytes) -> None:
    stage.sql(f"UPDATE storage_{home(stage, key)}.kv_{stage.table_id} SET value = %s WHERE key = %s", [value, key])


def put(stage: Stage, key: bytes, value: bytes, storage: int = 1) -> None:
    stage.sql(f"INSERT INTO storage_{storage}.kv_{stage.table_id} VALUES (%s, %s)", [key, value])


def entry(stage: Stage, number: int, name: str, age: int) -> bytes:
    index = stage.now.index(IndexId(1))
    return entry_pair(stage.now, stage.now.placement, index, user(stage.now, number, name, age))[0]


TEXT, INTEGER = SqlType.TEXT, SqlType.INTEGER
Damage = Callable[[Stage], object]

DAMAGE = [
    pytest.param(
        (SCORE,), lambda s: remove(s, pair(s, 4, ADDED)), ["C2: row id = 4 has no value of score"], id="no value"
    ),
    pytest.param(
        (replace(SCORE, not_null=True),),
        lambda s: overwrite(s, pair(s, 4, ADDED), encoding.NULL),
        ["C6: row id = 4 has NULL in score, which is NOT NULL"],
        id="NULL in a NOT NULL column",
    ),
    pytest.param(
        (SCORE,),
        lambda s: put(s, pair(s, 99, ADDED), encoding.encode(INTEGER, 1)),
        ["C1: column score has a value for row id = 99, which does not exist"],
        id="a value of no row",
    ),
    pytest.param(
        (TWIN,),
        lambda s: overwrite(s, pair(s, 4, ADDED), encoding.encode(TEXT, "23")),
        ["C5: column age (text) has a value for row id = 4 that does not follow from its source"],
        id="a derived value that does not follow",
    ),
    pytest.param(
        (GROWN_UP,),
        lambda s: remove(s, entry(s, 4, "name 4", 22)),
        ["C4: index grown_up has no entry for row id = 4"],
        id="a partial index lacks an entry",
    ),
    pytest.param(
        (GROWN_UP,),
        lambda s: overwrite(s, pair(s, 4, AGE), encoding.encode(INTEGER, 3)),
        ["C5: index grown_up has an entry for row id = 4, which its condition does not accept"],
        id="a partial index has an entry too many",
    ),
    pytest.param(
        (UNIQUE,),
        lambda s: put(s, entry(s, 4, "nobody", 22), user(s.now, 4).key),
        ["C5: index one_name has an entry for row id = 4"],
        id="a unique entry is stale",
    ),
]


def clauses_and_keys(found: list[Violation]) -> set[tuple[str, bytes, str]]:
    return {(violation.clause, violation.key, violation.why) for violation in found}


def said(violations: list[dict[str, object]]) -> list[Violation]:
    return [violation_from_json(violation) for violation in violations]


def audited(stage: Stage) -> list[Violation]:
    return said(audit_table(stage.dsn, stage.table_id, storages=2, buckets=3000).violations)


@pytest.mark.parametrize(("elements", "damage", "words"), DAMAGE)
def test_damage_is_named_by_verification_and_audit(
    stage: Stage, runs: Runs, elements: tuple[Index, ...], damage: Damage, words: list[str]
) -> None:
    change = Change(elements)
    change.to_filling(stage)
    assert [runs.do(kind, *change.said).state for kind in ("clear", "fill")] == ["done", "done"]
    damage(stage)
    verified = runs.do("verify", *change.said)
    assert verified.state == "failed"
    assert [str(v).startswith(w) for v, w in zip(said(verified.violations), words, strict=True)] == [True]
    close_run(runs.of(Kind.FILL).id)
    if TWIN not in elements:
        change.to(stage, State.PUBLIC)
    assert clauses_and_keys(audited(stage)) == clauses_and_keys(stage.violations())
    assert clauses_and_keys(audited(stage)) == clauses_and_keys(said(verified.violations))


def test_the_audit_names_rows_that_break_a_rule_and_duplicates(stage: Stage, runs: Runs) -> None:
    change = Change((UNIQUE, ADULT, NAMED))
    change.to_filling(stage)
    assert [runs.do(kind, *change.said).state for kind in ("clear", "fill", "verify")] == ["done"] * 3
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    assert runs.do("purge", *change.said).state == "done"
    assert audited(stage) == []
    overwrite(stage, pair(stage, 2, AGE), encoding.encode(INTEGER, 3))
    overwrite(stage, pair(stage, 3, NAME), encoding.NULL)
    overwrite(stage, pair(stage, 5, NAME), encoding.encode(TEXT, "name 6"))
    found = audited(stage)
    assert clauses_and_keys(found) == clauses_and_keys(stage.violations())
    assert [v.clause for v in found] == ["C4", "C4", "C5", "C5", "C6", "C6", "C6"]


def test_rows_without_a_name_have_no_place_of_their_own(stage: Stage, runs: Runs) -> None:
    """NULLs never collide in a unique index: such entries lie with their rows and bear their keys."""
    by_name = replace(UNIQUE, columns=(IndexColumn(NAME), IndexColumn(AGE)))
    stage.insert(user(stage.now, n, None, 30) for n in range(50, 54))
    change = Change((by_name,))
    change.to_filling(stage)
    assert [runs.do(kind, *change.said).error for kind in ("clear", "fill", "verify")] == ["", "", ""]
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    assert audited(stage) == stage.violations() == []
