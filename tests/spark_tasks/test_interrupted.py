"""An interrupted run leads on behind its last chunk, whoever goes on, however often, whatever writers did meanwhile."""

from collections.abc import Callable
from random import Random
from typing import Any

import psycopg
import pytest

from catalog.elements import State
from spark_tasks.chunks.chunk import Mark, Progress, RunClosed, RunControl, progress_of
from spark_tasks.chunks.snapshot_reads import ranges_of
from spark_tasks.jobs import run_ranges
from spark_tasks.jobs.reorganisations import RUNS
from spark_tasks.jobs.run_ranges import prepare, prepare_again, ranges_over, spread
from spark_tasks.models import Kind, ReorgPulse, ReorgRange, ReorgRun, RunRequest
from spark_tasks.reorganise import backfill, delete
from spark_tasks.reorganise.delete import DeleteKeys
from spark_tasks.reorganise.tombstones import key_space, key_spaces
from spark_tasks.runs.pacing import Pace
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.services import close_run, pause_run, run_status, start_run
from storage.arrow.encoding import Pairs
from storage.integrity.clauses import element_label
from storage.pairs import COLUMN, column_key, prefix
from tests.spark_tasks.kinds import BY_SCORE, SCORE, TWIN, UNIQUE, Change
from tests.spark_tasks.runs import Runs, claim_run, entries, to_filling, to_public
from tests.spark_tasks.test_backfill import fill_in_hand, key_ranges, rows_of
from tests.spark_tasks.test_kinds import BETWEEN, as_inserted, people
from tests.storage import pairs_sql
from tests.storage.stage import BY_NAME, Stage, user

ROWS, CHUNK, PAUSES = 60, 5, 3
FAILURES_MAX = 100


@pytest.fixture
def small(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs in chunks of five pairs."""
    for limit in ("PAIRS_MIN", "PAIRS_MAX"):
        monkeypatch.setattr(f"spark_tasks.runs.pacing.{limit}", CHUNK)
    for module in (backfill, delete):
        monkeypatch.setattr(module, "Pace", lambda: Pace(CHUNK))
    return runs


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The keys that the fill gives to the store, those that are not free among them."""
    keys: list[bytes] = []
    put = backfill.put_where_free

    def spy(connection: psycopg.Connection, table: str, pairs: Pairs, payload: bytes) -> None:
        keys.extend(pairs.keys.to_pylist())
        put(connection, table, pairs, payload)

    monkeypatch.setattr(backfill, "put_where_free", spy)
    return keys


class Lost(Exception):
    """The connection to the database, say."""


Then = Callable[[int], object]


def do(run_id: int, monkeypatch: pytest.MonkeyPatch, then: Then) -> None:
    """One attempt; after each chunk that it commits `then` is called, with its number."""
    moved, count = Progress.move, 0

    def move(progress: Progress, mark: Mark) -> None:
        nonlocal count
        moved(progress, mark)
        count += 1
        then(count)

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "move", move)
        RUNS.run(run_id)


def resume(run_id: int) -> None:
    ReorgPulse.objects.filter(run_id=run_id).update(wanted=RunRequest.RUN)


def pause_after(run_id: int, chunk: int) -> Then:
    return lambda number: number == chunk and pause_run(run_id)


def chunks_of(run_id: int) -> int:
    return sum(ReorgRange.objects.filter(run_id=run_id).values_list("chunks", flat=True))


def test_two_pauses_in_one_range_put_no_pair_twice(
    stage: Stage, small: Runs, offered: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.insert(rows_of(stage, ROWS))
    to_filling(stage)
    run_id = small.start("fill")
    for paused_at in (10, 20):
        do(run_id, monkeypatch, pause_after(run_id, 2))
        assert (run_status(run_id).state, len(offered), run_status(run_id).rows_done) == (
            "waiting",
            paused_at,
            paused_at,
        )
        resume(run_id)
    RUNS.run(run_id)
    assert sorted(offered) == sorted(entries(stage)), "each pair once"
    assert (run_status(run_id).rows_done, run_status(run_id).rows_total) == (ROWS, ROWS)
    assert small.do("verify").state == "done"


def test_interruptions_more_frequent_than_a_range_still_make_progress(
    stage: Stage, small: Runs, offered: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than one chunk of each attempt is committed, and errors are no failures in a row while it moves."""

    def lose(_: int) -> None:
        raise Lost("the connection is lost")

    stage.insert(rows_of(stage, ROWS))
    to_filling(stage)
    run_id = small.start("fill")
    for attempt in range(1, ROWS // CHUNK + 1):
        do(run_id, monkeypatch, lose)
        assert (chunks_of(run_id), run_status(run_id).state) == (attempt, "waiting")
    RUNS.run(run_id)
    assert (run_status(run_id).state, sorted(offered)) == ("done", sorted(entries(stage)))


def test_a_paused_run_commits_no_further_chunk(stage: Stage, small: Runs) -> None:
    """The worker has read its range and has not heard of the pause: the token says so (R7)."""
    stage.insert(rows_of(stage, ROWS))
    to_filling(stage)
    run, run_token, fill = fill_in_hand(stage, small)
    with run_token.connect() as connection:
        worker = backfill.FillWorker(connection, RunControl(), Pace())
        found = [(key_range, fill.find(connection, key_range)) for key_range in key_ranges(run)]
        pause_run(run.id)
        for key_range, there in found:
            with pytest.raises(RunClosed, match="it was closed, paused or taken over"):
                fill.put(worker, key_range, there)
    assert (entries(stage), claim_run(run.id)) == (set(), None)
    resume(run.id)
    RUNS.run(run.id)
    assert (run_status(run.id).state, len(entries(stage))) == ("done", ROWS), (
        "at once: nothing has to fall silent first"
    )


def test_a_pause_of_what_is_closed_or_done_changes_nothing(stage: Stage, small: Runs) -> None:
    to_filling(stage)
    small.do("fill")
    done, closed = small.start("fill"), small.start("verify")
    close_run(closed)
    was = [(run.state, run.token) for run in ReorgRun.objects.filter(id__in=(done, closed)).order_by("id")]
    for run_id in (done, closed):
        pause_run(run_id)
    assert [(run.state, run.token) for run in ReorgRun.objects.filter(id__in=(done, closed)).order_by("id")] == was
    assert ReorgPulse.objects.get(run_id=closed).wanted == RunRequest.CLOSE


class Worker:
    """A fill of one range that is told when to write its next chunk."""

    def __init__(self, fill: backfill.Fill, connection: psycopg.Connection, key_range: KeyRange) -> None:
        self.fill, self.key_range, self.progress = fill, key_range, progress_of(connection, fill.run_token, key_range)
        self.worker = backfill.FillWorker(connection, RunControl(), Pace(CHUNK))
        self.parts = fill._parts(self.worker, key_range, fill.find(connection, key_range), self.progress)

    def chunk(self) -> None:
        self.fill._write(self.worker, self.key_range, *next(self.parts), self.progress)


def test_a_worker_that_is_run_twice_under_one_token_does_no_chunk_twice(
    stage: Stage, small: Runs, offered: list[bytes]
) -> None:
    """Spark may do a task again whose first worker is believed lost and is not."""
    stage.insert(rows_of(stage, ROWS))
    to_filling(stage)
    run, run_token, fill = fill_in_hand(stage, small)
    [key_range] = [key_range for key_range in key_ranges(run) if key_range.storage == 1]
    with run_token.connect() as one, run_token.connect() as another:
        first, second = (Worker(fill, connection, key_range) for connection in (one, another))
        first.chunk()
        with pytest.raises(RunClosed, match="has 1 chunks, this worker knows of 0: another one is at work on it"):
            second.chunk()
    assert len(offered) == len(set(offered)) == CHUNK


def test_what_a_deletion_removed_is_counted_exactly_after_pauses(
    stage: Stage, small: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.insert(rows_of(stage, ROWS))
    small.add_index()
    for state in (State.WRITE_ONLY, State.DELETE_ONLY):
        stage.publish(stage.now.with_index_state(BY_NAME.id, state))
    run_id, seen = small.start("delete"), []
    for _ in range(PAUSES):
        do(run_id, monkeypatch, pause_after(run_id, 1))
        seen.append(run_status(run_id).rows_done)
        resume(run_id)
    RUNS.run(run_id)
    assert seen == [CHUNK * number for number in range(1, PAUSES + 1)]
    status = run_status(run_id)
    assert (status.state, status.rows_done, status.rows_total, entries(stage)) == ("done", ROWS, ROWS, set())


def blocks_of(stage: Stage) -> int:
    """Of the pairs of the table on both storages."""
    sizes = ", ".join(f"pg_relation_size('storage_{n}.kv_{stage.table_id}')" for n in (1, 2))
    [row] = stage.sql(f"SELECT ARRAY[{sizes}], current_setting('block_size')::int")
    return sum(size // row[1] for size in row[0])


def with_values_to_delete(stage: Stage, runs: Runs) -> Change:
    """Some hundred rows with a value of a column in delete-only, a tombstone among them."""
    change = Change((SCORE,))
    rows = [as_inserted(stage, row) for row in people(stage, 400)]
    stage.insert(rows)
    change.to_filling(stage)
    assert runs.do("fill", *change.said).state == "done"
    stage.delete(rows[7:8])
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.DELETE_ONLY)
    return change


def test_a_deletion_of_values_walks_each_block_once_however_often_it_is_paused(
    stage: Stage, small: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = with_values_to_delete(stage, small)
    others = {key for pairs in stage.contents() for key in pairs} - score_keys(stage)
    run_id, blocks, seen = small.start("delete", *change.said), blocks_of(stage), [0]
    while run_status(run_id).state != "done":
        assert len(seen) <= blocks + 1, "it moves"
        do(run_id, monkeypatch, pause_after(run_id, 1))
        seen.append(run_status(run_id).rows_done)
        resume(run_id)
    assert seen == sorted(seen)
    assert len(seen) > PAUSES, "sometimes: it was really interrupted"
    assert (chunks_of(run_id), run_status(run_id).rows_done) == (blocks, 400)
    assert {key for pairs in stage.contents() for key in pairs} == others


def score_keys(stage: Stage) -> set[bytes]:
    """The keys of all pairs of the column that is added, tombstones among them."""
    return {key for pairs in stage.contents() for key in pairs if key.endswith(COLUMN.pack(SCORE.id))}


def test_the_key_space_is_cut_once_however_often_a_run_is_interrupted(
    stage: Stage, small: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts: list[int] = []

    def cut(reader: psycopg.Connection, table_id: int, *rest: Any) -> list[KeyRange]:
        cuts.append(table_id)
        return ranges_of(reader, table_id, *rest)

    monkeypatch.setattr(run_ranges, "ranges_of", cut)
    stage.insert(rows_of(stage, ROWS))
    to_filling(stage)
    for kind in ("fill", "verify", "purge", "delete"):
        if kind == "purge":
            close_run(small.of(Kind.FILL).id)
            to_public(stage)
        elif kind == "delete":
            for state in (State.WRITE_ONLY, State.DELETE_ONLY):
                stage.publish(stage.now.with_index_state(BY_NAME.id, state))
        run_id = small.start(kind)
        cuts.clear()
        for _ in range(PAUSES):
            do(run_id, monkeypatch, pause_after(run_id, 1))
            resume(run_id)
        RUNS.run(run_id)
        assert run_status(run_id).state == "done"
        # there is nothing to purge, and a verification goes by the ranges of its fill
        assert len(cuts) == (kind in ("fill", "delete")), kind


def test_a_deletion_that_goes_over_the_rows_again_has_a_total_of_both_passes(stage: Stage, small: Runs) -> None:
    stage.insert(rows_of(stage, ROWS))
    small.add_index()
    for state in (State.WRITE_ONLY, State.DELETE_ONLY):
        stage.publish(stage.now.with_index_state(BY_NAME.id, state))
    run_id = small.start("delete")
    claim = claim_run(run_id)
    assert claim is not None
    prepare(claim.run, lambda: ranges_over(stage.now, key_spaces(claim.descriptor(), claim.elements)))
    spread(claim, lambda run_token: DeleteKeys(run_token, stage.table_id))
    prepare_again(claim, ranges_over(stage.now, [key_space(stage.now)]))
    status, pulse = run_status(run_id), ReorgPulse.objects.get(run_id=run_id)
    assert (status.rows_done, pulse.rows_total) == (ROWS, 2 * ROWS)
    assert not status.has_ended


def test_a_purge_looks_at_no_more_pairs_at_a_time_than_a_chunk_gets_through(
    stage: Stage, small: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range may have grown to any number of rows since it was cut, and few of them have what is to be removed."""
    monkeypatch.setattr(delete, "SCANNED_MAX", 12)
    change, rows = Change((SCORE,)), people(stage)
    stage.insert(rows)
    change.to_filling(stage)
    assert small.do("fill", *change.said).state == "done"
    close_run(small.of(Kind.FILL).id)
    lost = column_key(prefix(stage.now, stage.now.placement.id), user(stage.now, 999).key, SCORE.id)
    for storage in (1, 2):
        stage.sql(*pairs_sql.insert(storage, stage.table_id, lost, None))
    pairs = sum(map(len, stage.contents()))
    run_id = small.start("purge", *change.said)
    RUNS.run(run_id)
    assert run_status(run_id).state == "done"
    assert sum(map(len, stage.contents())) == pairs - 2, "the tombstones, and nothing else"
    assert chunks_of(run_id) >= pairs // 12


def test_a_table_that_is_dropped_leads_on_too(stage: Stage, small: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, pairs_of_a_row = ROWS // 3, 3
    stage.insert(rows_of(stage, rows))
    stage.publish(stage.now.with_state(State.DELETE_ONLY))
    table = {"kind": "table", "id": stage.table_id, "name": "users"}
    run_id = small.start("delete", table)
    attempts = 0
    while run_status(run_id).state != "done":
        attempts += 1
        assert attempts < FAILURES_MAX
        do(run_id, monkeypatch, pause_after(run_id, 1))
        resume(run_id)
    assert attempts > 2, "sometimes: it was really interrupted"
    status, total = run_status(run_id), rows * pairs_of_a_row
    assert (status.rows_done, status.rows_total, stage.contents()) == (total, total, [{}, {}])


CHANGES = [
    pytest.param(Change((TWIN,)), id="derived column"),
    pytest.param(Change((UNIQUE,)), id="unique index"),
    pytest.param(Change((SCORE, BY_SCORE)), id="column and its index"),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("change", CHANGES)
def test_what_writers_do_between_two_attempts_is_kept(
    stage: Stage, small: Runs, monkeypatch: pytest.MonkeyPatch, change: Change, seed: int
) -> None:
    """A range is read in two snapshots, or more: each pair is right by itself (R2, R5), on either side of the mark."""
    random, rows = Random(f"{change.said[0]['kind']} {seed}"), people(stage)
    stage.insert(rows)
    change.to_filling(stage)
    small.begin_fill(*change.said)
    run_id = start_run(small.change_id, stage.table_id, "fill", change.said, stage.now.version)
    at, attempts = random.randrange(1, 4), 0
    row = random.choice([row for number, row in enumerate(rows) if number != 5])
    while run_status(run_id).state != "done":
        attempts += 1
        assert attempts < FAILURES_MAX
        do(run_id, monkeypatch, pause_after(run_id, 1))
        resume(run_id)
        if attempts == at:
            random.choice(BETWEEN)(stage, row)
    verified = small.do("verify", *change.said)
    assert (verified.state, verified.error) == ("done", "")
    unfinished = frozenset(element_label(one) for one in change.elements)  # type: ignore[arg-type]
    assert stage.violations(unfinished=unfinished) == []
