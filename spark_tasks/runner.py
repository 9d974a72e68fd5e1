"""Running a reorganisation: claim it, store its ranges once, spread them, say how it ended.

    waiting --claim--> running --all ranges done--> done
                          |  heartbeat stale            failed: what, and which rows
                          +--claim by another attempt   (token moves: the old attempt writes no more)

Any worker can go on where another one died: what is left are the ranges without a mark.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from catalog.descriptor import Descriptor
from catalog.elements import IndexId
from catalog.selectors import descriptor_at
from catalog.services import control_transaction
from spark_tasks import session
from spark_tasks.backfill import Fill
from spark_tasks.delete import DeleteKeys, DeleteRows
from spark_tasks.marks import Ticket
from spark_tasks.models import Kind, ReorgPulse, ReorgRange, ReorgRun, RunState, Wanted
from spark_tasks.ranges import KeyRange
from spark_tasks.source import KeySpace, ranges_of
from spark_tasks.tidy import clear_tombstones, key_space
from spark_tasks.verify import verify_index
from storage.postgres import session_options

log = logging.getLogger(__name__)

STALE_S = 5.0
BEAT_S = 0.25
ATTEMPTS_MAX = 3
RANGES_STORED_AT_ONCE = 1000
STORING_S = 60.0
"""Clearing tombstones and storing ranges, in one transaction: the server ends it after this."""


class RunFailed(Exception):
    """The reorganisation cannot be done; the message says why, for people."""


class WasClosed(Exception):
    """The run was closed or taken over while this attempt worked on it."""


class WasPaused(Exception):
    """The run is to wait; starting it again goes on with the ranges that are left."""


@dataclass(frozen=True, slots=True)
class Claim:
    """This attempt's right to work on a run."""

    run: ReorgRun
    token: int

    @property
    def index_id(self) -> IndexId:
        return IndexId(self.run.element["id"])

    @property
    def is_table(self) -> bool:
        return bool(self.run.element["kind"] == "table")


def database_dsn() -> str:
    """Django's database as a psycopg conninfo, for sessions of our own and for workers."""
    given = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    return psycopg.conninfo.make_conninfo(**{name: given[name] for name in names if given.get(name)})


def run_reorganisation(run_id: int) -> None:
    """Do what is left of a run, unless another attempt is alive. May be called twice, at once or later."""
    claim = claim_run(run_id)
    if claim is None:
        return
    try:
        with Heart(claim):
            WORK[Kind(claim.run.kind)](claim)
        _end(claim, RunState.DONE)
    except WasClosed as closed:
        log.info("%s", closed)
    except WasPaused as paused:
        log.info("%s", paused)
        _let_another_try(claim)
    except RunFailed as failure:
        _end(claim, RunState.FAILED, error=str(failure))
    except Exception as error:
        log.exception("%s failed in attempt %s", claim.run, claim.run.attempt)
        if claim.run.attempt >= ATTEMPTS_MAX:
            _end(claim, RunState.FAILED, error=f"{type(error).__name__}: {str(error).splitlines()[0]}")
        else:
            _let_another_try(claim)
            raise


CLAIM = """
UPDATE spark_tasks_reorgrun run
SET state = 'running', attempt = attempt + 1, token = token + 1, started_at = coalesce(started_at, clock_timestamp())
FROM spark_tasks_reorgpulse pulse
WHERE run.id = %s AND pulse.run_id = run.id AND NOT run.is_closed AND pulse.wanted = 'run'
  AND (run.state = 'waiting' OR run.state = 'running'
       AND coalesce(pulse.heartbeat_at, '-infinity') < clock_timestamp() - make_interval(secs => %s))
RETURNING run.token
"""


def claim_run(run_id: int) -> Claim | None:
    """Become the attempt that works on the run; None while another one is alive, and when it has ended."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [run_id, STALE_S])
        claimed = cursor.fetchone()
    if claimed is None:
        return None
    ReorgPulse.objects.filter(run_id=run_id).update(heartbeat_at=Now())
    return Claim(ReorgRun.objects.get(id=run_id), claimed[0])


def _end(claim: Claim, state: RunState, *, error: str = "") -> None:
    """Compare-and-set: only the attempt that still holds the run's token may end it."""
    with transaction.atomic(), connection.cursor() as cursor:
        ended = ReorgRun.objects.filter(id=claim.run.id, token=claim.token, state=RunState.RUNNING).update(
            state=state, error=error, violations=claim.run.violations, ended_at=Now()
        )
        if ended:
            cursor.execute("SELECT pg_notify('schemalab_reorg', %s)", [str(claim.run.id)])


def _let_another_try(claim: Claim) -> None:
    ReorgRun.objects.filter(id=claim.run.id, token=claim.token).update(state=RunState.WAITING)


# --- the kinds of work


def _clear(claim: Claim) -> None:
    """R6: the fill that follows gets its ranges here, in the transaction that removes the tombstones."""
    with control_transaction():
        _require_open(claim)
        fill, _ = ReorgRun.objects.get_or_create(
            change_id=claim.run.change_id,
            kind=Kind.FILL,
            version=claim.run.version,
            defaults={
                "table_id": claim.run.table_id,
                "element": claim.run.element,
                "state": RunState.PREPARED,
            },
        )
        ReorgPulse.objects.get_or_create(run=fill)
    prepare_fill(fill)


def _require_open(claim: Claim) -> None:
    """A run that others have closed, or taken over, makes no further one. Raises `WasClosed`."""
    if not ReorgRun.objects.select_for_update().filter(id=claim.run.id, token=claim.token):
        raise WasClosed(f"{claim.run} was closed or taken over in attempt {claim.run.attempt}")


def _fill(claim: Claim) -> None:
    prepare_fill(claim.run)
    descriptor = _descriptor(claim)
    _spread(claim, lambda ticket: Fill(ticket, descriptor, claim.index_id))


def prepare_fill(run: ReorgRun) -> None:
    """Remove the index's old tombstones and store the ranges of the rows: in one transaction, once (R1, R6)."""
    descriptor = descriptor_at(run.table_id, run.version)
    found = _ranges(run.table_id, key_space(descriptor))
    with control_transaction(STORING_S) as cursor:
        if _is_first(run):
            index = key_space(descriptor, IndexId(run.element["id"]))
            removed = clear_tombstones(cursor, run.table_id, index, settings.STORAGE_COUNT)
            _store(run, found)
            log.info("%s: %s ranges, %s tombstones cleared", run, len(found), removed)


def _delete(claim: Claim) -> None:
    descriptor = _descriptor(claim)
    if claim.is_table:
        _prepare(claim.run, _ranges(claim.run.table_id, key_space(descriptor)))
        _spread(claim, lambda ticket: DeleteRows(ticket, descriptor, settings.STORAGE_COUNT, settings.BUCKET_COUNT))
    else:
        _prepare(claim.run, _ranges(claim.run.table_id, key_space(descriptor, claim.index_id)))
        _spread(claim, lambda ticket: DeleteKeys(ticket, claim.run.table_id))


def _purge(claim: Claim) -> None:
    """R7, R8: no tombstone goes while a range may still be written."""
    fills = ReorgRun.objects.filter(change_id=claim.run.change_id, kind=Kind.FILL, is_closed=False)
    if fills.exists():
        raise RunFailed(f"{claim.run} must wait: {fills[0]} is not closed, it may still need the tombstones")
    descriptor = _descriptor(claim)
    _prepare(claim.run, _ranges(claim.run.table_id, key_space(descriptor, claim.index_id)))
    _spread(claim, lambda ticket: DeleteKeys(ticket, claim.run.table_id, tombstones_only=True))


def _verify(claim: Claim) -> None:
    descriptor = _descriptor(claim)
    pieces = _ranges(claim.run.table_id, key_space(descriptor))
    counts = {"storages": settings.STORAGE_COUNT, "buckets": settings.BUCKET_COUNT, "pool": f"run-{claim.run.id}"}
    _show_total(claim, sum(piece.rows for piece in pieces))
    found = verify_index(database_dsn(), descriptor, claim.index_id, pieces, **counts)
    ReorgPulse.objects.filter(run_id=claim.run.id).update(rows_done=found.rows, rows_total=found.rows)
    claim.run.violations = found.violations
    if found.violations:
        raise RunFailed(f"{len(found.violations)} violations, the first: {found.violations[0]['why']}")


WORK: dict[Kind, Callable[[Claim], None]] = {
    Kind.CLEAR: _clear,
    Kind.FILL: _fill,
    Kind.VERIFY: _verify,
    Kind.DELETE: _delete,
    Kind.PURGE: _purge,
}


# --- ranges and workers


def _descriptor(claim: Claim) -> Descriptor:
    return descriptor_at(claim.run.table_id, claim.run.version)


def _ranges(table_id: int, space: KeySpace) -> list[KeyRange]:
    with psycopg.connect(database_dsn(), autocommit=True, **session_options("schemalab ranges")) as reader:
        return ranges_of(reader, table_id, space, settings.STORAGE_COUNT)


def _prepare(run: ReorgRun, found: list[KeyRange]) -> None:
    with control_transaction(STORING_S):
        if _is_first(run):
            _store(run, found)


def _is_first(run: ReorgRun) -> bool:
    """Whether the run's ranges are still to be stored; the run's row is locked from here on. Raises `WasClosed`."""
    locked = ReorgRun.objects.select_for_update().get(id=run.id)
    if locked.is_closed:
        raise WasClosed(f"{run} was closed before its ranges were stored")
    return not locked.are_ranges_stored


def _store(run: ReorgRun, found: list[KeyRange]) -> None:
    ReorgRange.objects.bulk_create(
        [
            ReorgRange(run=run, number=n, storage=p.storage, low=p.low, high=p.high, rows_total=p.rows)
            for n, p in enumerate(found)
        ],
        batch_size=RANGES_STORED_AT_ONCE,
    )
    ReorgRun.objects.filter(id=run.id).update(are_ranges_stored=True)
    ReorgPulse.objects.filter(run=run).update(rows_total=sum(p.rows for p in found))


def _spread(claim: Claim, work: Callable[[Ticket], session.Work]) -> None:
    """Let workers do the ranges that have no mark yet. Raises `WasClosed`."""
    left = [
        KeyRange(r.storage, bytes(r.low), bytes(r.high), r.rows_total, r.id)
        for r in ReorgRange.objects.filter(run=claim.run, is_done=False)
    ]
    is_small = sum(piece.rows for piece in left) < session.ROWS_IN_PROCESS_MAX
    ticket = Ticket(database_dsn(), claim.run.id, claim.token, hands=1 if is_small else session.parallelism())
    session.spread(work(ticket), left, pool=f"run-{claim.run.id}")
    if ReorgRange.objects.filter(run=claim.run, is_done=False).exists():
        if ReorgPulse.objects.get(run=claim.run).wanted == Wanted.PAUSE:
            raise WasPaused(f"{claim.run} is paused")
        raise WasClosed(f"{claim.run} was closed or taken over in attempt {claim.run.attempt}")


def _show_total(claim: Claim, rows: int) -> None:
    ReorgPulse.objects.filter(run_id=claim.run.id).update(rows_total=rows)


# --- the heartbeat


BEAT = """
WITH marks AS (
    SELECT coalesce(sum(rows_done), 0) AS done, sum(rows_total) AS total
    FROM spark_tasks_reorgrange WHERE run_id = %(run)s
)
UPDATE spark_tasks_reorgpulse pulse
SET heartbeat_at = clock_timestamp(), rows_per_s = %(rate)s,
    rows_done = greatest(pulse.rows_done, marks.done), rows_total = coalesce(marks.total, pulse.rows_total)
FROM marks WHERE pulse.run_id = %(run)s RETURNING pulse.rows_done
"""


class Heart:
    """Says from a thread of its own, four times a second, that the attempt lives and how far it is."""

    def __init__(self, claim: Claim) -> None:
        self._run_id = claim.run.id
        self._stop = threading.Event()
        self._dsn = database_dsn()
        self._thread = threading.Thread(target=self._beat, name=f"heart of {claim.run}", daemon=True)

    def __enter__(self) -> "Heart":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=STALE_S)

    def _beat(self) -> None:
        """Until told to stop; a connection that breaks is opened anew at the next beat."""
        beats: psycopg.Connection[Any] | None = None
        began, rate = time.monotonic(), 0.0
        is_last = False
        while True:
            try:
                if beats is None or beats.closed:
                    beats = psycopg.connect(self._dsn, autocommit=True, application_name="schemalab heart")
                row = beats.execute(BEAT, {"run": self._run_id, "rate": rate}).fetchone()
                rate = row[0] / max(time.monotonic() - began, BEAT_S) if row else 0.0
            except psycopg.OperationalError as error:
                log.warning("heartbeat of run %s missed: %s", self._run_id, error)
                beats = None
            if is_last:
                break
            is_last = self._stop.wait(BEAT_S)
        if beats is not None:
            beats.close()
