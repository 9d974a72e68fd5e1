"""Filling an index while writers go on: whoever decided first wins, and nothing is written after the end (R1 - R7)."""

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from catalog.database import database_dsn
from catalog.descriptor import Descriptor
from catalog.elements import Index, IndexColumn, IndexId, State
from spark_tasks.chunks import chunk as marks
from spark_tasks.chunks.chunk import RunClosed, RunControl, RunToken
from spark_tasks.jobs.phases import prepare_fill
from spark_tasks.jobs.reorganisations import RUNS
from spark_tasks.models import Kind, ReorgPulse, ReorgRange, ReorgRun, RunRequest
from spark_tasks.reorganise import backfill
from spark_tasks.runs.pacing import Pace
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.run_elements import Elements
from spark_tasks.services import close_run, run_status, throttle_run
from storage.pairs import StoredRow
from storage.pairs import rows_of as stored
from tests.spark_tasks.runs import INDEX, Runs, claim_run, entries, entry_of, to_filling, to_public, tombstones
from tests.storage import pairs_sql
from tests.storage.stage import AGE, BY_NAME, Stage, user


def rows_of(stage: Stage, count: int) -> list[StoredRow]:
    return [user(stage.now, n, f"name {n % 7}") for n in range(count)]


def chunks_sleep(monkeypatch: pytest.MonkeyPatch, sleep: Callable[[float], None]) -> None:
    """Chunks sleep so, and nobody else: the watch of a warm JVM sleeps as well, in a thread of this process."""
    monkeypatch.setattr(
        marks, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic, perf_counter=time.perf_counter)
    )


def test_an_index_of_existing_rows_becomes_public_and_consistent(stage: Stage, runs: Runs) -> None:
    stage.insert(rows_of(stage, 50))
    runs.add_index()
    assert stage.violations() == []
    assert len(entries(stage)) == 50
    status = run_status(runs.of(Kind.FILL).id)
    assert (status.rows_done, status.rows_total, status.is_exact) == (50, 50, True)


def test_an_empty_table_is_filled_too(stage: Stage, runs: Runs) -> None:
    runs.add_index()
    assert stage.violations() == []


# --- between reading a range and writing its chunk, a writer comes first

Between = Callable[[Stage, StoredRow], None]


def _delete(stage: Stage, row: StoredRow) -> None:
    stage.delete([row])


def _delete_again(stage: Stage, row: StoredRow) -> None:
    stage.delete([row])
    stage.insert([row])
    stage.delete([row])


def _rename(stage: Stage, row: StoredRow) -> None:
    stage.rename(row, "new")


def _rename_and_back(stage: Stage, row: StoredRow) -> None:
    stage.rename(stage.rename(row, "new"), "name 3")


def _reinsert(stage: Stage, row: StoredRow) -> None:
    stage.delete([row])
    stage.insert([row])


def _delete_as_delete_only(stage: Stage, row: StoredRow) -> None:
    """T8: a delete in delete-only committing during the backfill is impossible after the drain: the fence says so."""
    with pytest.raises(psycopg.Error, match="is below the fence"):
        stage.delete([row], stage.versions[-2])


@pytest.mark.parametrize(
    "between", [_delete, _delete_again, _rename, _rename_and_back, _reinsert, _delete_as_delete_only]
)
def test_a_writer_that_comes_between_reading_and_writing_wins(stage: Stage, runs: Runs, between: Between) -> None:
    rows = rows_of(stage, 10)
    stage.insert(rows)
    to_filling(stage)
    claim, run_token, fill = fill_in_hand(stage, runs)
    read = [(key_range, entries_read(fill, key_range)) for key_range in key_ranges(claim)]
    between(stage, rows[3])
    with run_token.connect() as connection:
        for key_range, found in read:
            fill.put(backfill.FillWorker(connection, RunControl(), Pace()), key_range, found)
    to_public(stage)
    assert stage.violations(unfinished=frozenset({"index 1"})) == []
    assert len(entries(stage)) == sum(len(rows_in(stage.now, pairs)) for pairs in stage.contents())


def rows_in(descriptor: Descriptor, pairs: dict[bytes, bytes | None]) -> list[StoredRow]:
    return stored(descriptor, descriptor.placement, sorted(pairs.items()))


def fill_in_hand(stage: Stage, runs: Runs) -> tuple[ReorgRun, RunToken, backfill.Fill]:
    """A claimed fill run, not yet begun."""
    claim = claim_run(runs.start("fill"))
    assert claim is not None
    prepare_fill(claim.run)
    run_token = RunToken(database_dsn(), claim.run.id, claim.token)
    return claim.run, run_token, backfill.Fill(run_token, stage.now, Elements(indexes=(BY_NAME.id,)), 2, 3000)


def key_ranges(run: ReorgRun) -> list[KeyRange]:
    ranges = ReorgRange.objects.filter(run=run)
    return [KeyRange(r.storage, bytes(r.low), bytes(r.high), r.rows_total, r.id) for r in ranges]


def entries_read(fill: backfill.Fill, key_range: KeyRange) -> backfill.MissingPairs:
    with fill.run_token.connect() as connection:
        return fill.find(connection, key_range)


def test_a_range_done_twice_is_not_written_twice(stage: Stage, runs: Runs) -> None:
    rows = rows_of(stage, 10)
    stage.insert(rows)
    to_filling(stage)
    run, _, fill = fill_in_hand(stage, runs)
    read = {key_range.id: entries_read(fill, key_range) for key_range in key_ranges(run)}
    assert sum(fill(key_ranges(run))) == 10
    stage.sql(*pairs_sql.delete(1, stage.table_id, entry_of(stage, rows[1])))
    before = stage.contents()
    with fill.run_token.connect() as connection:
        for key_range in key_ranges(run):
            fill.put(backfill.FillWorker(connection, RunControl(), Pace()), key_range, read[key_range.id])
    assert stage.contents() == before, "a finished range is never done again (R3)"


def test_an_attempt_that_outlived_its_close_writes_nothing(stage: Stage, runs: Runs) -> None:
    stage.insert(rows_of(stage, 10))
    to_filling(stage)
    run, _, zombie = fill_in_hand(stage, runs)
    read = {key_range.id: entries_read(zombie, key_range) for key_range in key_ranges(run)}
    close_run(run.id)
    with zombie.run_token.connect() as connection:
        for key_range in key_ranges(run):
            with pytest.raises(RunClosed, match=f"run {run.id} has another token than 1"):
                zombie.put(backfill.FillWorker(connection, RunControl(), Pace()), key_range, read[key_range.id])
    assert entries(stage) == set()
    assert run_status(run.id).error == "closed before it ended"
    assert claim_run(run.id) is None, "a closed run is never begun again"


def test_a_chunk_of_a_range_begun_before_the_close_writes_nothing(stage: Stage, runs: Runs) -> None:
    stage.insert(rows_of(stage, 10))
    to_filling(stage)
    run, run_token, _ = fill_in_hand(stage, runs)
    with run_token.connect() as connection:
        begun = [(key_range, marks.progress_of(connection, run_token, key_range)) for key_range in key_ranges(run)]
        close_run(run.id)
        for key_range, progress in begun:
            with (
                pytest.raises(RunClosed, match=f"run {run.id} has another token than 1"),
                marks.chunk(connection, run_token, key_range, RunControl(), progress) as this_chunk,
            ):
                this_chunk.mark = marks.Mark(rows_done=1, rows_total=1, is_done=True)
    assert not ReorgRange.objects.filter(run_id=run.id, is_done=True).exists()


def test_a_newer_attempt_shuts_out_the_older_one_and_finishes(stage: Stage, runs: Runs) -> None:
    stage.insert(rows_of(stage, 10))
    to_filling(stage)
    run, _, zombie = fill_in_hand(stage, runs)
    assert claim_run(run.id) is None, "the first attempt is alive"
    assert run.id not in RUNS.dead()
    fall_silent(stage, run)
    assert run.id in RUNS.dead()
    RUNS.run(run.id)
    status = run_status(run.id)
    assert (status.state, status.attempt, status.rows_done) == ("done", 2, 10)
    with pytest.raises(RunClosed):
        list(zombie(key_ranges(run)))


def fall_silent(stage: Stage, run: ReorgRun) -> None:
    stage.sql(
        "UPDATE spark_tasks_reorgpulse SET heartbeat_at = clock_timestamp() - interval '1 minute' WHERE run_id = %s",
        [run.id],
    )
    stage.sql(
        "UPDATE spark_tasks_reorgrun SET created_at = clock_timestamp() - interval '1 minute' WHERE id = %s", [run.id]
    )


def test_closing_waits_for_a_chunk_and_ends_a_session_that_holds_on(stage: Stage, runs: Runs) -> None:
    stage.insert(rows_of(stage, 10))
    to_filling(stage)
    run, run_token, _ = fill_in_hand(stage, runs)
    with run_token.connect() as stuck:
        stuck.execute("BEGIN")
        stuck.execute("SELECT 1 FROM spark_tasks_reorgrun WHERE id = %s FOR SHARE", (run.id,))
        close_run(run.id)
        with pytest.raises(psycopg.OperationalError):
            stuck.execute("SELECT 1")
    assert ReorgRun.objects.get(id=run.id).is_closed


def test_tombstones_of_before_the_drain_are_cleared_once(stage: Stage, runs: Runs) -> None:
    """R6: a delete-only node re-inserted the row without an entry; the old tombstone must not keep it out."""
    row = user(stage.now, 1, "ann")
    stage.insert([row])
    delete_only = stage.publish(stage.now.with_index(BY_NAME))
    stage.publish(stage.now.with_index_state(BY_NAME.id, State.WRITE_ONLY, filling=True), fence=delete_only.version)
    stage.delete([row])
    stage.insert([row], delete_only)
    assert tombstones(stage) == {entry_of(stage, row)}
    runs.begin_fill()
    assert tombstones(stage) == set()
    later = user(stage.now, 2, "bob")
    stage.insert([later])
    stage.delete([later])
    assert runs.do("fill").state == "done"
    assert entries(stage) == {entry_of(stage, row)}
    assert tombstones(stage) == {entry_of(stage, later)}, "what was written after the clear counts"


def test_the_purge_waits_for_the_close(stage: Stage, runs: Runs) -> None:
    rows = rows_of(stage, 4)
    stage.insert(rows)
    to_filling(stage)
    runs.begin_fill()
    stage.delete(rows[:1])
    assert runs.do("fill").state == "done"
    refused = runs.do("purge")
    assert (refused.state, tombstones(stage)) == ("failed", {entry_of(stage, rows[0])})
    assert "is not closed, it may still need the tombstones" in refused.error


def test_the_purge_removes_tombstones_and_nothing_else(stage: Stage, runs: Runs) -> None:
    rows = rows_of(stage, 4)
    stage.insert(rows)
    to_filling(stage)
    runs.begin_fill()
    stage.delete(rows[:1])
    runs.do("fill")
    close_run(runs.of(Kind.FILL).id)
    to_public(stage)
    assert [v.clause for v in stage.violations()] == ["C7"]
    purged = runs.do("purge")
    assert (purged.state, purged.rows_done) == ("done", 1)
    assert stage.violations() == []
    assert len(entries(stage)) == 3


def test_a_dropped_index_leaves_nothing_behind(stage: Stage, runs: Runs) -> None:
    stage.insert(rows_of(stage, 10))
    runs.add_index()
    stage.publish(stage.now.with_index_state(BY_NAME.id, State.WRITE_ONLY))
    stage.publish(stage.now.with_index_state(BY_NAME.id, State.DELETE_ONLY))
    deleted = runs.do("delete")
    assert (deleted.state, deleted.rows_done, deleted.rows_total) == ("done", 10, 10)
    stage.publish(stage.now.without_index(BY_NAME.id))
    assert stage.violations() == []


def test_a_fill_rolled_back_leaves_neither_entries_nor_tombstones(stage: Stage, runs: Runs) -> None:
    rows = rows_of(stage, 10)
    stage.insert(rows)
    to_filling(stage)
    runs.begin_fill()
    stage.delete(rows[:2])
    runs.do("fill")
    close_run(runs.of(Kind.FILL).id)
    stage.publish(stage.now.with_index_state(BY_NAME.id, State.DELETE_ONLY))
    assert runs.do("delete").state == "done"
    stage.publish(stage.now.without_index(BY_NAME.id))
    assert stage.violations() == []


def test_a_dropped_table_goes_row_by_row(stage: Stage, runs: Runs) -> None:
    stage.insert(rows_of(stage, 30))
    runs.add_index()
    stage.publish(stage.now.with_state(State.DELETE_ONLY))
    element = {"kind": "table", "id": stage.table_id, "name": "users"}
    status = runs.do("delete", element)
    assert (status.state, stage.contents()) == ("done", [{}, {}])
    assert status.rows_done == 30 * 3, "counted in pairs of rows"


BY_AGE = Index(IndexId(2), "by_age", (IndexColumn(AGE),), state=State.DELETE_ONLY)
BOTH = (INDEX, {"kind": "index", "id": BY_AGE.id, "name": BY_AGE.name})


def test_two_indexes_are_filled_in_one_scan_and_deleted_together(stage: Stage, runs: Runs) -> None:
    rows = [user(stage.now, n, f"name {n % 7}", n % 5) for n in range(20)]
    stage.insert(rows)
    stage.publish(stage.now.with_index(BY_NAME).with_index(BY_AGE))
    both = stage.now.with_index_state(BY_NAME.id, State.WRITE_ONLY, filling=True)
    stage.publish(both.with_index_state(BY_AGE.id, State.WRITE_ONLY, filling=True))
    runs.begin_fill(*BOTH)
    stage.delete(rows[:2])
    assert [runs.do(kind, *BOTH).state for kind in ("fill", "verify")] == ["done", "done"]
    close_run(runs.of(Kind.FILL).id)
    stage.publish(stage.now.with_index_state(BY_NAME.id, State.PUBLIC).with_index_state(BY_AGE.id, State.PUBLIC))
    assert (runs.do("purge", *BOTH).rows_done, stage.violations()) == (4, [])
    for state in (State.WRITE_ONLY, State.DELETE_ONLY):
        stage.publish(stage.now.with_index_state(BY_NAME.id, state).with_index_state(BY_AGE.id, state))
    assert runs.do("delete", *BOTH).rows_done == 2 * 18
    stage.publish(stage.now.without_index(BY_NAME.id).without_index(BY_AGE.id))
    assert stage.violations() == []


def test_verification_names_what_is_missing_and_what_is_stale(stage: Stage, runs: Runs) -> None:
    rows = rows_of(stage, 10)
    stage.insert(rows)
    to_filling(stage)
    runs.do("fill")
    missing, stale = entry_of(stage, rows[3]), entry_of(stage, user(stage.now, 5, "was her name"))
    for storage in (1, 2):
        stage.sql(*pairs_sql.delete(storage, stage.table_id, missing))
    stage.sql(*pairs_sql.insert(1, stage.table_id, stale, b""))
    status = runs.do("verify")
    assert status.state == "failed"
    assert [(v["clause"], v["key"], v["why"]) for v in status.violations] == [
        ("C4", missing.hex(), "index by_name has no entry for row id = 3"),
        ("C5", stale.hex(), "index by_name has an entry for row id = 5 with values the row no longer has"),
    ]
    assert status.error == "; ".join(v["why"] for v in status.violations)


def test_starting_a_step_again_finds_its_run(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    assert runs.start("fill") == runs.start("fill")
    assert runs.start("verify") != runs.start("fill")
    RUNS.run(runs.start("fill"))
    assert runs.do("fill").attempt == 1, "what is done is not done again"


def test_a_throttled_fill_takes_its_time(stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    chunks_sleep(monkeypatch, waits.append)
    monkeypatch.setattr("spark_tasks.runs.pacing.PAIRS_FIRST", 5)
    stage.insert(rows_of(stage, 40))
    to_filling(stage)
    run_id = runs.start("fill")
    throttle_run(run_id, 10.0, reason="asked by ann")
    monkeypatch.setattr(backfill, "Pace", lambda: Pace(5))
    RUNS.run(run_id)
    status = run_status(run_id)
    assert (status.state, status.rows_per_s_max, status.throttle_reason) == ("done", 10.0, "asked by ann")
    assert max(waits) > 0.2, "five rows at ten rows a second, heard in between whether they still should"


def test_a_range_may_take_longer_to_read_than_a_chunk_to_write(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends a chunk's session after a time in which no large table can be read."""
    read = backfill.rows_in_parts

    def slowly(connection: psycopg.Connection, *rest: Any) -> Iterator[Any]:
        connection.execute("SELECT pg_sleep(1.5)")
        yield from read(connection, *rest)

    monkeypatch.setattr(backfill, "rows_in_parts", slowly)
    monkeypatch.setattr(marks, "CHUNK_TIMEOUT", "1s")
    stage.insert(rows_of(stage, 10))
    to_filling(stage)
    run, run_token, fill = fill_in_hand(stage, runs)
    with run_token.connect() as connection:
        found = [fill.find(connection, key_range) for key_range in key_ranges(run)]
        assert connection.execute("SHOW transaction_timeout").fetchone() == ("1s",), "as before, for chunks"
    assert sum(one.rows for one in found) == 10


@pytest.mark.parametrize(
    ("wanted", "state"),
    [
        pytest.param({"rows_per_s_max": None}, "done", id="the throttle's end lets it go on at once"),
        pytest.param({"wanted": RunRequest.PAUSE}, "waiting", id="a pause is heard"),
        pytest.param({"wanted": RunRequest.CLOSE}, "running", id="so is a cancel"),
    ],
)
def test_a_writer_that_waits_for_a_throttle_still_listens(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any], state: str
) -> None:
    """A chunk of 20 rows is on its way when the run is limited to one row a second."""
    stage.insert(rows_of(stage, 40))
    to_filling(stage)
    run_id = runs.start("fill")
    put, slept = backfill.put_where_free, []

    def throttled(*arguments: Any) -> None:
        if not slept:
            throttle_run(run_id, 1.0, reason="")
        put(*arguments)

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            ReorgPulse.objects.filter(run_id=run_id).update(**wanted)

    monkeypatch.setattr(backfill, "Pace", lambda: Pace(20))
    monkeypatch.setattr(backfill, "put_where_free", throttled)
    chunks_sleep(monkeypatch, sleep)
    RUNS.run(run_id)
    assert run_status(run_id).state == state
    assert slept[:3] == [0.25, 0.25, 0.25]
    assert sum(slept[3:]) < 0.5


def test_a_paused_fill_stops_between_chunks_and_goes_on_where_it_stood(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "Pace", lambda: Pace(5))
    stage.insert(rows_of(stage, 40))
    to_filling(stage)
    run_id = runs.start("fill")
    ReorgPulse.objects.filter(run_id=run_id).update(rows_per_s_max=1.0)
    pause = ReorgPulse.objects.filter(run_id=run_id).update

    def pause_after_a_chunk(_: float) -> None:
        """A chunk that gives way to a writer sleeps as well, before any row is done."""
        if run_status(run_id).rows_done:
            pause(wanted=RunRequest.PAUSE)

    chunks_sleep(monkeypatch, pause_after_a_chunk)
    RUNS.run(run_id)
    paused = run_status(run_id)
    assert paused.state == "waiting"
    assert 0 < paused.rows_done < 40
    assert claim_run(run_id) is None
    pause(wanted=RunRequest.RUN, rows_per_s_max=None)
    chunks_sleep(monkeypatch, lambda _: None)  # a chunk may give way
    assert runs.start("fill") == run_id
    RUNS.run(run_id)
    assert (run_status(run_id).state, run_status(run_id).rows_done, len(entries(stage))) == ("done", 40, 40)


def test_an_unexpected_error_is_retried_and_then_reported(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    run_id = runs.start("verify", {"kind": "index", "id": IndexId(99), "name": "no such"})
    for _ in range(2):
        RUNS.run(run_id)
        assert run_status(run_id).state == "waiting"
    RUNS.run(run_id)
    assert run_status(run_id).state == "failed"
    assert (
        run_status(run_id).error.startswith("UnknownElement: 'there is no index 99")
        or "index 99" in run_status(run_id).error
    )


class Lost(Exception):
    """The connection to the database, say."""


FillUntil = Callable[[int, Callable[[], object]], None]


@pytest.fixture
def fill_until(stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> FillUntil:
    """A fill of forty rows in chunks of five; what is given is done instead of its n-th chunk."""
    for limit in ("PAIRS_MIN", "PAIRS_MAX"):
        monkeypatch.setattr(f"spark_tasks.runs.pacing.{limit}", 5)
    monkeypatch.setattr(backfill, "Pace", lambda: Pace(5))
    stage.insert(rows_of(stage, 40))
    to_filling(stage)

    def fill(chunk: int, then: Callable[[], object]) -> None:
        chunks = iter([None] * (chunk - 1))
        with monkeypatch.context() as patch:
            patch.setattr("spark_tasks.chunks.chunk.keep_pace", lambda *_, **__: next(chunks, chunk) and then())
            RUNS.run(runs.start("fill"))

    return fill


def lose() -> None:
    raise Lost("the connection is lost")


def test_pauses_are_not_failures(runs: Runs, fill_until: FillUntil) -> None:
    run_id = runs.start("fill")
    pulse = ReorgPulse.objects.filter(run_id=run_id)
    for _ in range(2):
        fill_until(1, lambda: pulse.update(wanted=RunRequest.PAUSE))
        pulse.update(wanted=RunRequest.RUN)
    fill_until(1, lose)
    assert (run_status(run_id).state, run_status(run_id).attempt) == ("waiting", 3)
    RUNS.run(run_id)
    assert run_status(run_id).state == "done"


def test_failures_in_a_row_end_a_run_only_where_it_stands_still(runs: Runs, fill_until: FillUntil) -> None:
    run_id = runs.start("fill")
    for chunk in (1, 1, 2, 1, 2, 1):
        fill_until(chunk, lose)
        assert (run_status(run_id).state, run_status(run_id).error) == ("waiting", "the connection is lost")
    fill_until(1, lose)
    assert (run_status(run_id).state, run_status(run_id).error) == ("failed", "the connection is lost")
