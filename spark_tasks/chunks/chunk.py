"""A chunk: a short transaction that first asks whether it may still write, and leaves its mark as it commits.

It locks the run's row FOR SHARE, where the token is ours (R7), then the range's row FOR UPDATE, with our last mark
(R3). Closing or pausing a run moves its token, which waits for running chunks and excludes later ones. The next attempt
continues behind the mark's pair: no chunk is done twice. No Django here: workers are processes of Spark.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import errors

from spark_tasks.runs.pacing import LISTEN_S, Pace, Quiet, pairs_allowed, rest_s, wait_s
from spark_tasks.runs.ranges import KeyRange, Reached
from storage.pairs import CannotDerive
from storage.postgres import kv, session_options

Connection = psycopg.Connection[Any]
log = logging.getLogger(__name__)

LOCK_TIMEOUT = "20ms"
CHUNK_TIMEOUT = "5s"
"""A chunk holds locks, and the run's row."""
READ_TIMEOUT = "10min"
"""A range that is read holds a snapshot only."""
TRIES_MAX = 500
PAUSE_S_MAX = 0.05
GIVES_WAY = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)


class RunClosed(Exception):
    """The run was closed, paused, or taken over: this attempt must not write any more (R7)."""


class RangeDone(Exception):
    """Another attempt has finished the range (R3)."""


class CannotGetThrough(Exception):
    """A chunk gave way to writers too often."""


@dataclass(frozen=True, slots=True)
class RunToken:
    """The right of a worker to write for a run. `workers` workers share the run's throttle."""

    dsn: str
    run_id: int
    token: int
    workers: int = 1

    def connect(self) -> Connection:
        """A worker's session: READ COMMITTED, asynchronous commit, gives way after 20 ms (R3)."""
        options = session_options(
            f"schemalab run {self.run_id}",
            default_transaction_isolation="read committed",
            lock_timeout=LOCK_TIMEOUT,
            transaction_timeout=CHUNK_TIMEOUT,
            synchronous_commit="off",
        )
        return psycopg.connect(self.dsn, autocommit=True, **options)


def no_break() -> None:
    """Go on at once."""


def allow_reading(connection: Connection) -> None:
    """Extends the current transaction's time limit to that of a large range."""
    connection.execute(f"SET LOCAL transaction_timeout = 0; SET LOCAL transaction_timeout = '{READ_TIMEOUT}'")


@dataclass(frozen=True, slots=True)
class Mark:
    """Written with each chunk: rows done of those in the range, and its last pair, if any."""

    rows_done: int
    rows_total: int
    is_done: bool
    reached: Reached | None = None


@dataclass
class Progress:
    """The position of a range by its marks."""

    chunks: int = 0
    rows_done: int = 0
    reached: Reached | None = None

    def move(self, mark: Mark) -> None:
        self.chunks += 1
        self.rows_done = max(self.rows_done, mark.rows_done)
        self.reached = mark.reached or self.reached


@dataclass
class Chunk:
    """The transaction in progress: the mark it will leave."""

    mark: Mark | None = None


@dataclass
class RunControl:
    """The requests to a run, read with each commit. `scans` is SQL that counts look-ups of the table's pairs."""

    scans: str = "NULL::bigint"
    wanted: str = "run"
    rows_per_s_max: float | None = None
    works: float = 1.0
    is_idle: bool = False
    quiet: Quiet = field(default_factory=Quiet)

    @property
    def is_quiet(self) -> bool:
        return self.is_idle or self.quiet.lasts(time.monotonic())


HOLD = "SELECT 1 FROM spark_tasks_reorgrun WHERE id = {run} AND token = {token} FOR SHARE"
BEGIN = f"""BEGIN;
{HOLD};
SELECT is_done, chunks FROM spark_tasks_reorgrange WHERE id = {{range}} FOR UPDATE;
SAVEPOINT chunk"""

WANTED = "SELECT wanted, rows_per_s_max, works, is_quiet, {scans} FROM spark_tasks_reorgpulse WHERE run_id = {run}"

END = f"""UPDATE spark_tasks_reorgrange SET chunks = chunks + 1, is_done = {{mark.is_done}}{{reached}},
rows_done = greatest(rows_done, {{mark.rows_done}}), rows_total = greatest(rows_done, {{mark.rows_total}})
WHERE id = {{range}};
COMMIT;
{WANTED}"""

PROGRESS = """SELECT run.token, range.is_done, range.chunks, range.rows_done, range.reached_storage, range.reached_key
FROM spark_tasks_reorgrange range JOIN spark_tasks_reorgrun run ON run.id = range.run_id WHERE range.id = %s"""


@contextmanager
def chunk(
    connection: Connection, run_token: RunToken, key_range: KeyRange, control: RunControl, progress: Progress
) -> Iterator[Chunk]:
    """The transaction of one chunk, with savepoint `chunk`; moves `progress`. Raises `RunClosed`, `RangeDone`."""
    this_chunk = Chunk()
    _require_wanted(run_token, control)
    try:
        cursor = connection.execute(BEGIN.format(run=run_token.run_id, token=run_token.token, range=key_range.id))
        _require_open(cursor, run_token, key_range, progress)
        yield this_chunk
        assert this_chunk.mark is not None, "a chunk leaves a mark"
        reached = this_chunk.mark.reached
        pair = f", reached_storage = {reached.storage}, reached_key = '\\x{reached.key.hex()}'" if reached else ""
        end = {"mark": this_chunk.mark, "reached": pair, "scans": control.scans}
        cursor = connection.execute(END.format(run=run_token.run_id, range=key_range.id, **end))
        while cursor.nextset():
            pass
        progress.move(this_chunk.mark)
        _hear(control, cursor.fetchone())
    except BaseException:
        if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
        raise


def scans_sql(table_id: int, storages: int) -> str:
    tables = (kv(storage, table_id) for storage in range(1, storages + 1))
    return " + ".join(f"pg_stat_get_numscans('{table}_pkey'::regclass)" for table in tables)


def listen(connection: Connection, run_token: RunToken, control: RunControl) -> None:
    """Reads the requests and whether others use the table. Raises `RunClosed`."""
    _hear(control, connection.execute(WANTED.format(run=run_token.run_id, scans=control.scans)).fetchone())
    _require_wanted(run_token, control)


def progress_of(connection: Connection, run_token: RunToken, key_range: KeyRange) -> Progress:
    """Where a range continues. Raises `RunClosed`, `RangeDone`."""
    row = connection.execute(PROGRESS, (key_range.id,)).fetchone()
    if row is None or row[0] != run_token.token:
        raise _shut_out(run_token)
    _, is_done, chunks, rows_done, storage, key = row
    if is_done:
        raise RangeDone
    return Progress(chunks, rows_done, None if key is None else Reached(storage, key))


def hold_token(connection: Connection, run_token: RunToken) -> None:
    """Holds the run's token until the transaction ends (R7). Raises `RunClosed`."""
    if connection.execute(HOLD.format(run=run_token.run_id, token=run_token.token)).fetchone() is None:
        raise _shut_out(run_token)


def _shut_out(run_token: RunToken) -> RunClosed:
    was = "it was closed, paused or taken over"
    return RunClosed(f"run {run_token.run_id} has another token than {run_token.token}: {was}")


def _require_wanted(run_token: RunToken, control: RunControl) -> None:
    if control.wanted != "run":
        raise RunClosed(f"run {run_token.run_id} is wanted to {control.wanted}: no further chunk is begun")


SHUT_OUT = ("close", None, 1.0, False, None)


def _hear(control: RunControl, row: tuple[Any, ...] | None) -> None:
    control.wanted, control.rows_per_s_max, control.works, control.is_idle, scans = row or SHUT_OUT
    if scans is not None:
        control.quiet.hear(scans, time.monotonic())


def pairs_of_chunk(run_token: RunToken, control: RunControl, pace: Pace) -> int:
    """The size of the next chunk, by pace and this worker's share of the throttle."""
    return pairs_allowed(pace.pairs, _share(run_token, control))


def _share(run_token: RunToken, control: RunControl) -> float | None:
    return None if control.rows_per_s_max is None else control.rows_per_s_max / run_token.workers


def _require_open(cursor: psycopg.Cursor[Any], run_token: RunToken, key_range: KeyRange, progress: Progress) -> None:
    cursor.nextset()
    if cursor.fetchone() is None:
        raise _shut_out(run_token)
    cursor.nextset()
    row = cursor.fetchone()
    if row is None or row[0]:
        raise RangeDone
    if row[1] != progress.chunks:
        chunks = f"has {row[1]} chunks, this worker knows of {progress.chunks}"
        raise RunClosed(f"range {key_range.id} of run {run_token.run_id} {chunks}: another one is at work on it")


def tries(what: str) -> Iterator[int]:
    """Numbers of attempts. Raises `CannotGetThrough`."""
    yield from spaced(TRIES_MAX, first_s=0.002, longest_s=PAUSE_S_MAX)
    raise CannotGetThrough(f"{what} gave way to writers {TRIES_MAX} times")


def spaced(tries_max: int, *, first_s: float, longest_s: float) -> Iterator[int]:
    pause_s = first_s
    for attempt in range(tries_max):
        if attempt:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, longest_s)
        yield attempt


def keep_pace(connection: Connection, run_token: RunToken, control: RunControl, *, rows: int, seconds: float) -> None:
    """Waits for the throttle, or rests for traffic, after `rows` rows took `seconds`. Raises `RunClosed`. A long wait
    listens, since throttle and traffic may change."""
    rest(
        lambda: _pause_s(run_token, control, rows=rows, seconds=seconds), lambda: listen(connection, run_token, control)
    )


def rest(pause_s: Callable[[], float], hear: Callable[[], object]) -> None:
    """Waits for `pause_s`, asked again after each listening."""
    waited = 0.0
    while (left := pause_s() - waited) > 0:
        pause = min(left, LISTEN_S)
        time.sleep(pause)
        waited += pause
        if left > pause:
            hear()


@dataclass(slots=True)
class Breaks:
    """Called while nothing is written: rests for the work since the last call. Raises `RunClosed`."""

    connection: Connection
    run_token: RunToken
    control: RunControl
    since: float = field(default_factory=time.perf_counter)

    def __call__(self) -> None:
        seconds = time.perf_counter() - self.since
        listen(self.connection, self.run_token, self.control)
        keep_pace(self.connection, self.run_token, self.control, rows=0, seconds=seconds)
        self.since = time.perf_counter()


def _pause_s(run_token: RunToken, control: RunControl, *, rows: int, seconds: float) -> float:
    throttled = wait_s(rows=rows, seconds=seconds, rows_per_s_max=_share(run_token, control))
    return throttled + rest_s(seconds=seconds, works=control.works, rows_per_s_max=control.rows_per_s_max)


def until_closed(work: Callable[[Iterable[KeyRange]], Iterator[Any]], key_ranges: Iterable[KeyRange]) -> Iterator[Any]:
    """Results of `work` for each range until the run is closed; {"refused": why} for a row that makes it impossible."""
    try:
        yield from work(key_ranges)
    except CannotDerive as cannot:
        yield {"refused": str(cannot)}
    except RunClosed as closed:
        log.info("stopped: %s", closed)
