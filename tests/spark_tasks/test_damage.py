"""What is wrong with columns, unique and partial indexes and rules is found as the clauses find it."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.elements import EXISTS, ColumnId, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from spark_tasks.checks.audit import audit_table
from spark_tasks.checks.entry_checks import EntryJudge
from spark_tasks.models import Kind
from spark_tasks.services import close_run
from storage import encoding
from storage.integrity.clauses import Violation
from storage.pairs import StoredRow, column_key, entry_pair, prefix
from tests.spark_tasks.kinds import ADDED, ADULT, GROWN_UP, NAMED, SCORE, TWIN, UNIQUE, Change
from tests.spark_tasks.runs import Runs, violation_of
from tests.storage import pairs_sql
from tests.storage.stage import AGE, ID, NAME, Stage, user

PEOPLE = 8


@pytest.fixture
def runs(runs: Runs, stage: Stage) -> Runs:
    """With rows there."""
    stage.insert(user(stage.now, n, f"name {n}", 18 + n) for n in range(PEOPLE))
    return runs


def home(stage: Stage, key: bytes) -> int:
    return next(n for n, pairs in enumerate(stage.contents(), 1) if key in pairs)


def pair(stage: Stage, number: int, column: ColumnId) -> bytes:
    return column_key(prefix(stage.now, stage.now.placement.id), user(stage.now, number).key, column)


def remove(stage: Stage, key: bytes) -> None:
    stage.sql(*pairs_sql.delete(home(stage, key), stage.table_id, key))


def overwrite(stage: Stage, key: bytes, value: bytes) -> None:
    stage.sql(*pairs_sql.change(home(stage, key), stage.table_id, key, value))


def put(stage: Stage, key: bytes, value: bytes, storage: int = 1) -> None:
    stage.sql(*pairs_sql.insert(storage, stage.table_id, key, value))


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
    pytest.param(
        (UNIQUE,),
        lambda s: put(s, entry(s, 4, "nobody", 22), b"\xff"),
        ["C5: index one_name has an entry for a row whose key cannot be read (ff), which does not exist"],
        id="a unique entry is of no row's key",
    ),
    pytest.param(
        (UNIQUE,),
        lambda s: put(s, entry(s, 4, "nobody", 22) + b"\x01", user(s.now, 4).key),
        ["C3: key "],
        id="a unique entry's key cannot be read",
    ),
]


def clauses_and_keys(found: list[Violation]) -> set[tuple[str, bytes, str]]:
    return {(violation.clause, violation.key, violation.why) for violation in found}


def said(violations: list[dict[str, object]]) -> list[Violation]:
    return [violation_of(violation) for violation in violations]


def audited(stage: Stage) -> list[Violation]:
    return said(audit_table(stage.dsn, stage.table_id, storages=2, buckets=3000).violations)


@pytest.mark.parametrize(("elements", "damage", "words"), DAMAGE)
def test_damage_is_named_by_verification_and_audit(
    stage: Stage, runs: Runs, elements: tuple[Index, ...], damage: Damage, words: list[str]
) -> None:
    change = Change(elements)
    change.to_filling(stage)
    assert runs.do("fill", *change.said).state == "done"
    damage(stage)
    verified = runs.do("verify", *change.said)
    assert verified.state == "failed"
    assert [str(v).startswith(w) for v, w in zip(said(verified.violations), words, strict=True)] == [True]
    close_run(runs.of(Kind.FILL).id)
    if TWIN not in elements:
        change.to(stage, State.PUBLIC)
    assert clauses_and_keys(audited(stage)) == clauses_and_keys(stage.violations())
    assert of_any_version(audited(stage)) == of_any_version(said(verified.violations))


def of_any_version(found: list[Violation]) -> set[tuple[str, bytes, str]]:
    """The same whichever version was looked at."""
    return {(clause, key, re.sub(r"users@\d+", "users", why)) for clause, key, why in clauses_and_keys(found)}


def test_the_audit_names_rows_that_break_a_rule_and_duplicates(stage: Stage, runs: Runs) -> None:
    change = Change((UNIQUE, ADULT, NAMED))
    change.to_filling(stage)
    assert [runs.do(kind, *change.said).state for kind in ("fill", "verify")] == ["done"] * 2
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
    assert [runs.do(kind, *change.said).error for kind in ("fill", "verify")] == ["", ""]
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    assert audited(stage) == stage.violations() == []


# --- versions in force


REQUIRED = replace(SCORE, not_null=True)


@pytest.mark.parametrize(
    ("elements", "dropping", "damage", "words"),
    [
        pytest.param(
            (REQUIRED,),
            State.WRITE_ONLY,
            lambda s: remove(s, pair(s, 4, ADDED)),
            "C2: row id = 4 has no value of score",
            id="a required column",
        ),
        pytest.param(
            (REQUIRED,),
            State.WRITE_ONLY,
            lambda s: overwrite(s, pair(s, 4, ADDED), encoding.NULL),
            "C6: row id = 4 has NULL in score, which is NOT NULL",
            id="NOT NULL",
        ),
        pytest.param(
            (ADULT,),
            State.WRITE_ONLY,
            lambda s: overwrite(s, pair(s, 4, AGE), encoding.encode(INTEGER, 3)),
            "C6: row id = 4 with (age) = (3) breaks constraint adult",
            id="a check",
        ),
    ],
)
def test_what_the_version_before_relies_on_must_hold_while_it_is_leased(
    stage: Stage, runs: Runs, elements: tuple[Index, ...], dropping: State, damage: Damage, words: str
) -> None:
    change = Change(elements)
    change.to_filling(stage)
    assert [runs.do(kind, *change.said).state for kind in ("fill", "verify")] == ["done"] * 2
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    public = stage.now
    stage.publish(change.at(stage.now, dropping), fence=public.version)
    damage(stage)
    assert audited(stage) == [], "nobody relies on it"
    stage.sql(
        "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
        " VALUES (%s, %s, 'n1', 1, clock_timestamp() + interval '1 minute')",
        [stage.table_id, public.version],
    )
    assert [str(v) for v in audited(stage)] == [words]
    assert clauses_and_keys(audited(stage)) == clauses_and_keys(stage.violations(public))
    stage.sql("DELETE FROM leases_lease WHERE table_id = %s", [stage.table_id])


def test_a_tombstone_of_a_column_that_is_gone_belongs_to_no_column(stage: Stage, runs: Runs) -> None:
    key = pair(stage, 4, ColumnId(9))
    stage.sql(*pairs_sql.insert(home(stage, pair(stage, 4, NAME)), stage.table_id, key, None))
    assert [v.clause for v in audited(stage)] == ["C1"]
    assert clauses_and_keys(audited(stage)) == clauses_and_keys(stage.violations())


def test_tombstones_of_a_change_that_goes_on_hide_no_other(stage: Stage, runs: Runs) -> None:
    """More of them are allowed than are named; the one that is not allowed comes after them."""
    change = Change((SCORE,))
    stage.insert(user(stage.now, n, f"name {n}", 30) for n in range(100, 130))
    change.to_filling(stage)
    runs.begin_fill(*change.said)
    stage.delete(user(stage.now, n, f"name {n}", 30) for n in range(100, 130))
    last = user(stage.now, 200, "last", 30)
    stage.insert([StoredRow(last.key, {**last.columns, ADDED: encoding.encode(INTEGER, 7)})])
    overwrite_with_tombstone(stage, pair(stage, 200, AGE))
    judged = stage.violations(unfinished=frozenset({f"column {ADDED}"}))
    assert [v.clause for v in judged] == ["C7"]
    assert clauses_and_keys(audited(stage)) == clauses_and_keys(judged)


def overwrite_with_tombstone(stage: Stage, key: bytes) -> None:
    stage.sql(*pairs_sql.change(home(stage, key), stage.table_id, key, None))


def test_however_many_entries_are_held_by_others_their_rows_are_read_together(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each entry is the next row's, which has other values: none is a duplicate."""
    many = 40
    stage.insert(user(stage.now, n, f"name {n}", 18 + n) for n in range(PEOPLE, many))
    change = Change((UNIQUE,))
    change.to_filling(stage)
    assert runs.do("fill", *change.said).state == "done"
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    for n in range(many):
        overwrite(stage, entry(stage, n, f"name {n}", 18 + n), user(stage.now, (n + 1) % many).key)
    reads: list[int] = []
    copies_by_key = EntryJudge.copies_by_key

    def counted(judge: EntryJudge, connection: psycopg.Connection, row_keys: set[bytes]) -> Any:
        reads.append(len(row_keys))
        return copies_by_key(judge, connection, row_keys)

    monkeypatch.setattr(EntryJudge, "copies_by_key", counted)
    report = audit_table(stage.dsn, stage.table_id, storages=2, buckets=3000)
    assert (report.violations_total, {v["clause"] for v in report.violations}) == (2 * many, {"C4", "C5"})
    parts = 2 * 2  # of the rows, by storage: the last row of each is judged by itself
    assert len(reads) <= 2 * parts + 2 + 1, "by storage of the entries; for the entries too many; for twins"


def test_duplicates_none_of_which_has_the_entry_are_named(stage: Stage, runs: Runs) -> None:
    change = Change((UNIQUE,))
    change.to_filling(stage)
    assert [runs.do(kind, *change.said).state for kind in ("fill", "verify")] == ["done"] * 2
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    for number in (2, 5, 6):
        remove(stage, entry(stage, number, f"name {number}", 18 + number))
        overwrite(stage, pair(stage, number, NAME), encoding.encode(TEXT, "same"))
    found = audited(stage)
    assert [v.clause for v in found] == ["C4", "C4", "C4", "C6", "C6"]
    assert clauses_and_keys(found) == clauses_and_keys(stage.violations())


def test_a_row_that_is_there_twice_hides_no_entry_that_is_stale(stage: Stage) -> None:
    """Of ages, 17 lies on the second storage and 18 on the first: each copy lies where its sharding key says."""
    guard = Index(IndexId(1), "guard", (IndexColumn(ID),), unique=True)
    by_age = replace(stage.now.placement, sharding_key=(AGE,))
    stage.publish(replace(stage.now.with_index(guard), placements=(by_age,)))
    stage.insert([user(stage.now, 1, "ann", 18), user(stage.now, 2, "bob", 18)])
    assert audited(stage) == stage.violations() == []
    copy = user(stage.now, 1, "ann", 17)
    for key, value in ((pair(stage, 1, EXISTS), b""), *((pair(stage, 1, c), v) for c, v in copy.columns.items())):
        put(stage, key, value, 2)
    stale = user(stage.now, 99)
    put(stage, entry_pair(stage.now, by_age, guard, stale)[0], stale.key)
    found = audited(stage)
    assert [str(violation) for violation in found] == [
        "C5: index guard has an entry for row id = 99, which does not exist",
        "C6: row id = 1 is there more than once, on different storages",
    ]
    assert clauses_and_keys(found) == clauses_and_keys(stage.violations())
