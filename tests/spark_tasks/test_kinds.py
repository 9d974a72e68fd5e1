"""Every kind of element through its whole run, beside writers that come between reading and writing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from catalog.database import database_dsn
from catalog.elements import State
from spark_tasks.chunks.chunk import RunClosed, RunControl, RunToken
from spark_tasks.jobs import phases
from spark_tasks.jobs.claim import Claim
from spark_tasks.jobs.phases import prepare_fill
from spark_tasks.models import Kind, ReorgRange
from spark_tasks.reorganise import backfill
from spark_tasks.runs.pacing import Pace
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import NAMED_MAX
from spark_tasks.runs.run_elements import elements_of
from spark_tasks.services import close_run
from storage import encoding
from storage.buckets import BUCKETS
from storage.integrity.clauses import element_label
from storage.mutations import Act, Op, update_row
from storage.pairs import KEY_BYTES_MAX, StoredRow, column_key, entry_pair, prefix, row_bucket, row_key
from tests.rounds import some_of
from tests.spark_tasks.kinds import (
    ADDED,
    ADULT,
    BY_AGE,
    BY_SCORE,
    FILL_VALUE,
    GROWN_UP,
    NAMED,
    SCORE,
    TWIN,
    UNIQUE,
    Change,
    score,
)
from tests.spark_tasks.runs import Runs, claim_run, tombstones
from tests.storage.stage import AGE, BY_NAME, NAME, Stage, user

CHANGES = [
    pytest.param(Change((SCORE,)), id="required column"),
    pytest.param(Change((TWIN,)), id="derived column"),
    pytest.param(Change((BY_AGE,)), id="index of two columns, one descending"),
    pytest.param(Change((UNIQUE,)), id="unique index"),
    pytest.param(Change((GROWN_UP,)), id="partial index"),
    pytest.param(Change((SCORE, BY_SCORE)), id="required column and its index"),
]


def people(stage: Stage, count: int = 12) -> list[StoredRow]:
    """Half of them grown up, no name twice, one without a name."""
    return [user(stage.now, n, f"name {n}" if n != 5 else None, 10 + 2 * n) for n in range(count)]


def as_inserted(stage: Stage, row: StoredRow) -> StoredRow:
    """The row with the default of the column that is being added, as a node inserts it."""
    has_score = any(c.id == ADDED and c.derived is None for c in stage.now.columns)
    return StoredRow(row.key, {**row.columns, ADDED: FILL_VALUE}) if has_score else row


def as_it_is(stage: Stage, row: StoredRow) -> StoredRow:
    """The row with every pair it has now."""
    start = row.key + ADDED.to_bytes(2)
    value = next((v for key, v in score(stage).items() if key[8:] == start and v is not None), None)
    return row if value is None else StoredRow(row.key, {**row.columns, ADDED: value})


# --- there and back


def go_public(stage: Stage, runs: Runs, change: Change) -> None:
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    assert runs.do("purge", *change.said).state == "done"


@pytest.mark.parametrize("change", CHANGES)
def test_an_element_is_added_and_dropped_and_nothing_is_left(stage: Stage, runs: Runs, change: Change) -> None:
    rows = people(stage)
    stage.insert(rows)
    before = stage.contents()
    change.to_filling(stage)
    runs.begin_fill(*change.said)
    stage.delete(rows[8:9])
    stage.insert([as_inserted(stage, user(stage.now, 50, "late", 50))])
    for kind in ("fill", "verify"):
        status = runs.do(kind, *change.said)
        assert (status.state, status.error) == ("done", "")
    assert tombstones(stage), "the deleted row left one"
    if any(one.kind.value == "derived column" for one in change.elements):
        close_run(runs.of(Kind.FILL).id)
    else:
        go_public(stage, runs, change)
        assert tombstones(stage) == set()
        change.to(stage, State.WRITE_ONLY)
    assert stage.violations() == []
    stage.delete([as_it_is(stage, user(stage.now, 50, "late", 50))])
    change.to(stage, State.DELETE_ONLY)
    stage.insert(rows[8:9])
    assert runs.do("delete", *change.said).state == "done"
    change.to(stage, State.ABSENT)
    assert stage.violations() == []
    assert stage.contents() == before


def test_a_column_is_filled_with_its_fill_value_and_keeps_what_writers_put(stage: Stage, runs: Runs) -> None:
    change, other = Change((SCORE,)), encoding.encode(SCORE.type, 99)
    rows = people(stage)
    stage.insert(rows)
    change.to_filling(stage)
    late = user(stage.now, 50, "late")
    stage.insert([StoredRow(late.key, {**late.columns, ADDED: other})])
    runs.do("fill", *change.said)
    assert sorted(filter(None, score(stage).values())) == [FILL_VALUE] * len(rows) + [other]


# --- writers between reading and writing

Between = Callable[[Stage, StoredRow], None]


def _delete(stage: Stage, row: StoredRow) -> None:
    stage.delete([row])


def _delete_and_insert(stage: Stage, row: StoredRow) -> None:
    stage.delete([row])
    stage.insert([as_inserted(stage, row)])


def _rename_and_age(stage: Stage, row: StoredRow) -> None:
    """The row leaves the partial index, and its derived value changes."""
    with stage.transaction() as statements:
        assigned = {NAME: encoding.encode(SCORE.type, None), AGE: encoding.encode(SCORE.type, 3)}
        statements.run(update_row(stage.now, row, assigned))


def _change_key(stage: Stage, row: StoredRow) -> None:
    with stage.transaction() as statements:
        statements.run(update_row(stage.now, row, {}, row_key(stage.now, [77])))


def _change_key_and_back(stage: Stage, row: StoredRow) -> None:
    _change_key(stage, row)
    moved = as_it_is(stage, StoredRow(row_key(stage.now, [77]), row.columns))
    with stage.transaction() as statements:
        statements.run(update_row(stage.now, moved, {}, row.key))


def _exchange_name(stage: Stage, row: StoredRow) -> None:
    """Another row takes the name the fill has read here."""
    _rename_and_age(stage, row)
    stage.insert([as_inserted(stage, StoredRow(row_key(stage.now, [78]), row.columns))])


BETWEEN = [_delete, _delete_and_insert, _rename_and_age, _change_key, _change_key_and_back, _exchange_name]


def in_hand(stage: Stage, runs: Runs, change: Change) -> tuple[backfill.Fill, list[KeyRange]]:
    """A claimed fill, not yet begun, and its ranges."""
    claim = claim_run(runs.start("fill", *change.said))
    assert claim is not None
    prepare_fill(claim.run)
    run_token = RunToken(database_dsn(), claim.run.id, claim.token)
    ranges = ReorgRange.objects.filter(run=claim.run)
    key_ranges = [KeyRange(r.storage, bytes(r.low), bytes(r.high), r.rows_total, r.id) for r in ranges]
    return backfill.Fill(run_token, stage.now, elements_of(change.said), 2, 3000), key_ranges


def put(fill: backfill.Fill, key_range: KeyRange, found: backfill.MissingPairs) -> None:
    with fill.run_token.connect() as connection:
        fill.put(backfill.FillWorker(connection, RunControl(), Pace()), key_range, found)


def find(fill: backfill.Fill, key_range: KeyRange) -> backfill.MissingPairs:
    with fill.run_token.connect() as connection:
        return fill.find(connection, key_range)


@pytest.mark.parametrize("between", some_of(BETWEEN, 2))
@pytest.mark.parametrize("change", CHANGES)
def test_a_writer_between_reading_and_writing_wins(stage: Stage, runs: Runs, change: Change, between: Between) -> None:
    rows = people(stage)
    stage.insert(rows)
    change.to_filling(stage)
    fill, key_ranges = in_hand(stage, runs, change)
    found = [(key_range, find(fill, key_range)) for key_range in key_ranges]
    between(stage, rows[8])
    for key_range, there in found:
        put(fill, key_range, there)
    verified = runs.do("verify", *change.said)
    assert (verified.state, verified.error) == ("done", "")
    if not any(one.kind.value == "derived column" for one in change.elements):
        change.to(stage, State.PUBLIC)
    unfinished = frozenset(element_label(one) for one in change.elements)  # type: ignore[arg-type]
    assert stage.violations(unfinished=unfinished) == []


@pytest.mark.parametrize("change", CHANGES)
def test_an_attempt_that_outlived_its_close_puts_nothing(stage: Stage, runs: Runs, change: Change) -> None:
    stage.insert(people(stage))
    before = stage.contents()
    change.to_filling(stage)
    fill, key_ranges = in_hand(stage, runs, change)
    found = [(key_range, find(fill, key_range)) for key_range in key_ranges]
    close_run(fill.run_token.run_id)
    for key_range, there in found:
        with pytest.raises(RunClosed, match="it was closed, paused or taken over"):
            put(fill, key_range, there)
    assert stage.contents() == before


def test_an_explicit_null_is_not_overwritten_by_the_fill(stage: Stage, runs: Runs) -> None:
    change, null = Change((SCORE,)), encoding.encode(SCORE.type, None)
    rows = people(stage)
    stage.insert(rows)
    change.to_filling(stage)
    fill, key_ranges = in_hand(stage, runs, change)
    found = [(key_range, find(fill, key_range)) for key_range in key_ranges]
    stage.delete(rows[3:4])
    stage.insert([StoredRow(rows[3].key, {**rows[3].columns, ADDED: null})])
    for key_range, there in found:
        put(fill, key_range, there)
    assert sorted(filter(None, score(stage).values())) == sorted([FILL_VALUE] * (len(rows) - 1) + [null])


def test_old_tombstones_of_a_column_are_cleared_once(stage: Stage, runs: Runs) -> None:
    """R6: a delete-only node inserts the row again without a value; the tombstone must not keep the fill from it."""
    change = Change((SCORE,))
    rows = people(stage, 4)
    stage.insert(rows)
    delete_only = stage.publish(change.at(stage.now, State.DELETE_ONLY))
    stage.publish(change.at(stage.now, State.WRITE_ONLY, filling=True), fence=delete_only.version)
    stage.delete(rows[:1])
    stage.insert(rows[:1], delete_only)
    assert len(tombstones(stage)) == 1
    runs.begin_fill(*change.said)
    assert tombstones(stage) == set()
    runs.do("fill", *change.said)
    assert sorted(score(stage).values()) == [FILL_VALUE] * 4


def test_a_value_that_its_row_took_into_a_finished_range_is_deleted_too(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delete-only node moves hidden values along with their row (section 3), here behind the deletion's back."""
    change = Change((SCORE,))
    rows = people(stage, 6)
    stage.insert(rows)
    change.to_filling(stage)
    change.to(stage, State.DELETE_ONLY)
    spread, passes = phases.spread, []

    def spread_and_move(claim: Claim, what: Any) -> None:
        spread(claim, what)
        passes.append(claim)
        if len(passes) == 1:
            put_score(stage, rows[2])

    monkeypatch.setattr(phases, "spread", spread_and_move)
    assert runs.do("delete", *change.said).state == "done"
    assert (len(passes), score(stage)) == (2, {})


def put_score(stage: Stage, row: StoredRow) -> None:
    placement = stage.now.placement
    key = column_key(prefix(stage.now, placement.id), row.key, ADDED)
    with stage.transaction() as opened:
        opened.run([Op(Act.PUT, row_bucket(stage.now, placement, row, BUCKETS), key, FILL_VALUE)])


# --- what cannot be


def test_duplicates_are_named_with_both_rows_and_leave_nothing_behind(stage: Stage, runs: Runs) -> None:
    change = Change((UNIQUE,))
    stage.insert([*people(stage), user(stage.now, 60, "name 3"), user(stage.now, 61, None)])
    before = stage.contents()
    change.to_filling(stage)
    assert runs.do("fill", *change.said).state == "done"
    status = runs.do("verify", *change.said)
    assert (status.state, [v["clause"] for v in status.violations]) == ("failed", ["C6"])
    judged = stage.violations(change.at(stage.now, State.PUBLIC))
    assert [v.why for v in judged if v.clause == "C6"] == [status.error]
    assert "row id = 3" in status.error
    assert "row id = 60" in status.error
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.DELETE_ONLY)
    assert runs.do("delete", *change.said).state == "done"
    change.to(stage, State.ABSENT)
    assert stage.contents() == before


def test_an_entry_whose_key_was_taken_and_given_up_is_put_by_the_repair(stage: Stage, runs: Runs) -> None:
    """R10: the fill came when another row held the name; it holds it no more."""
    change = Change((UNIQUE,))
    stage.insert([user(stage.now, 1, "ann"), user(stage.now, 2, "ann")])
    change.to_filling(stage)
    runs.do("fill", *change.said)
    [holder] = [value for pairs in stage.contents() for key, value in pairs.items() if key[7] == UNIQUE.id and value]
    stage.rename(user(stage.now, 1 if holder == user(stage.now, 1).key else 2, "ann"), "bea")
    status = runs.do("verify", *change.said)
    assert (status.state, status.error) == ("done", "")
    assert stage.sql("SELECT count(*) FROM leases_lease WHERE table_id = %s", [stage.table_id]) == [(0,)]
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    assert stage.violations(unfinished=frozenset({"index 1"})) == []


def test_a_row_that_has_no_value_for_the_twin_makes_the_fill_fail_by_name(stage: Stage, runs: Runs) -> None:
    derived = replace(TWIN, type=SCORE.type, derived=replace(TWIN.derived, source=NAME, expression='"#2"::integer'))
    change = Change((derived,))
    stage.insert([user(stage.now, 1, "12"), user(stage.now, 2, "a dozen")])
    change.to_filling(stage)
    status = runs.do("fill", *change.said)
    assert (status.state, status.attempt) == ("failed", 1)
    why = "column age (text) has no value for row id = 2: invalid input syntax for type integer"
    assert status.error.startswith(why)


def test_the_rows_that_have_no_value_for_the_twin_are_counted_and_shown(stage: Stage, runs: Runs) -> None:
    derived = replace(TWIN, type=SCORE.type, derived=replace(TWIN.derived, source=NAME, expression='"#2"::integer'))
    change = Change((derived,))
    stage.insert([user(stage.now, n, "a dozen" if n % 2 else "99999999999") for n in range(30)])
    change.to_filling(stage)
    found = runs.do("fill", *change.said).violations
    assert len(found) == NAMED_MAX
    assert {(one["clause"], one["element"], one["total"]) for one in found} == {("C2", "column age (text)", 30)}
    assert [(one["sqlstate"], one["offender"]["key"], one["offender"]["values"]) for one in found[:2]] == [
        ("22003", {"id": "0"}, {"name": "'99999999999'"}),
        ("22P02", {"id": "1"}, {"name": "'a dozen'"}),
    ]


@pytest.mark.parametrize(("spare", "state"), [(0, "done"), (1, "failed")], ids=["the longest", "a byte more"])
def test_a_fill_takes_the_entries_that_a_writer_may_put_and_no_longer_ones(
    stage: Stage, runs: Runs, spare: int, state: str
) -> None:
    change = Change((BY_NAME,))
    empty = entry_pair(stage.now, stage.now.placement, BY_NAME, user(stage.now, 7, ""))[0]
    row = user(stage.now, 7, "x" * (KEY_BYTES_MAX - len(empty) + spare))
    stage.insert([user(stage.now, 1, "short"), row])
    change.to_filling(stage)
    status = runs.do("fill", *change.said)
    assert status.state == state
    if spare:
        why = "index by_name has no room for row id = 7: its key would take 2601 bytes, the limit is 2600"
        assert status.error.startswith(why)
        assert [(v["element"], v["total"], v["sqlstate"], v["why"]) for v in status.violations] == [
            ("index by_name", 1, "54000", why)
        ]
        stage.delete([row])  # it has no entry that could be too long to be removed
        return
    change.to(stage, State.PUBLIC)
    stage.rename(stage.rename(row, "short"), "x" * 100)


@pytest.mark.parametrize(
    ("constraint", "error"),
    [
        pytest.param(
            ADULT,
            "4 rows break constraint adult\n"
            "constraint adult: row id = 0 with (age) = (10), row id = 1 with (age) = (12),"
            " row id = 2 with (age) = (14), row id = 3 with (age) = (16)",
            id="check",
        ),
        pytest.param(NAMED, "row id = 5 has NULL in name, which constraint named forbids", id="not null"),
    ],
)
def test_rows_that_break_a_constraint_are_counted_and_named(
    stage: Stage, runs: Runs, constraint: object, error: str
) -> None:
    change = Change((constraint,))  # type: ignore[arg-type]
    stage.insert(people(stage))
    change.to(stage, State.WRITE_ONLY)
    status = runs.do("verify", *change.said)
    assert (status.state, {v["clause"] for v in status.violations}) == ("failed", {"C6"})
    assert status.error == error
    change.to(stage, State.PUBLIC)
    judged = {(v.clause, v.key.hex(), v.why) for v in stage.violations()}
    assert {(v["clause"], v["key"]) for v in status.violations} == {(clause, key) for clause, key, _ in judged}
    assert {v["why"] for v in status.violations} == {why for _, _, why in judged}


def test_a_constraint_that_holds_is_verified(stage: Stage, runs: Runs) -> None:
    change = Change((ADULT, NAMED))
    stage.insert([user(stage.now, n, "x", 18 + n) for n in range(3)])
    change.to(stage, State.WRITE_ONLY)
    assert runs.do("verify", *change.said).state == "done"
