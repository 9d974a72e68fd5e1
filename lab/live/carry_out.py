"""One replay on live nodes: its actions in order on a sandbox, then the audit's verdict beside the model's.

A node that is sent no news may still get a version too early, as it renews, and transactions may fail to serialize:
then all is done again on a new sandbox, a few times. The last one is kept until the next replay of this person, or the
timetable, drops it. All else ends with the replay: transactions are rolled back, news is spread, connections are
closed, and nothing runs longer than `SECONDS_MAX`.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import closing
from typing import Any

import psycopg
from django.conf import settings
from django.db.models.functions import Now
from psycopg import sql

from catalog.database import database_clock_s
from catalog.descriptor import Descriptor
from catalog.selectors import newest_descriptor
from catalog.text.sql_names import quoted
from changes import services as changes
from changes.ddl.errors import DdlError
from changes.executor.state import uses_waited_for
from changes.models import Change, Status, Step
from changes.services import ChangeError
from lab.live import absent_nodes, drawn, replays, sandbox
from lab.live.publish import NotPublished, lab_publish
from lab.live.supervisor import NotControlled, NotReached
from lab.models import Replay
from lab.replays import actions
from lab.replays.actions import Action, Script
from lab.replays.comparison import compared
from lab.replays.translation import on_sandbox, translated
from lab.sessions.session import Session
from leases import withheld
from leases.asyncio.session import shut_down
from leases.models import Lease, Node
from nodes.people.vouching import vouched_address
from spark_tasks.models import AuditJob
from spark_tasks.services import request_audit

log = logging.getLogger(__name__)

ATTEMPTS_MAX = 5
CONNECT_S, USE_S, LOOK_S = 5, 5.0, 0.02
WAIT_MS = 5_000
"""Of a statement. A node locks a row when it writes it, a model at its commit, so a statement may wait here for a
transaction of the same session, which would only end after it."""

NAMED_MAX = 20
UNIQUE_VIOLATION = "23505"
AGAIN = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)


class Unable(Exception):
    """The replay came to no verdict; `why` is a word that the page explains, `detail` what the cluster said."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(f"{why}: {detail}" if detail else why)
        self.why, self.detail = why, detail


class TooEarly(Exception):
    """A node used a newer version than it should have, or a transaction has to be tried again."""


def carry_out(pk: int) -> None:
    replay = replays.begin(pk)
    if replay is None:
        return
    outcome: dict[str, Any] = {"result": "unable", "why": "failed"}
    try:
        outcome = _outcome(replay, time.monotonic() + replays.SECONDS_MAX)
    except Unable as error:
        outcome = {"result": "unable", "why": error.why, "detail": error.detail}
    except (DdlError, ChangeError, NotPublished, NotControlled, psycopg.Error) as error:
        log.info("replay %s: %s", pk, error)
        outcome = {"result": "unable", "why": "refused", "detail": str(error)}
    except NotReached as error:
        log.warning("replay %s: %s", pk, error)
        outcome = {"result": "unable", "why": "supervisor", "detail": str(error)}
    finally:
        replays.end(pk, outcome)


def _outcome(replay: Replay, deadline: float) -> dict[str, Any]:
    session = replays.session_of(replay)
    script = translated(session)
    _drop_kept(replay)
    for attempt in range(1, ATTEMPTS_MAX + 1):
        is_kept = False
        replays.note(replay.pk, f"Attempt {attempt}", attempt=attempt, done=0, times=[])
        making = sandbox.make(replay.owner)
        try:
            change = sandbox.wait(making, seconds=deadline - time.monotonic())
            base = newest_descriptor(change.table_id)
            if change.is_open or base is None:
                raise Unable("time", "its table was not made in time")
            replays.note(replay.pk, f"{base.name} is made", table=base.name)
            with closing(Attempt(replay, script, base, deadline)) as attempted:
                attempted.run()
            outcome = _judged(session, attempted, deadline)
            is_kept = True
            return outcome
        except TooEarly as error:
            log.info("replay %s, attempt %s: %s", replay.pk, attempt, error)
        finally:
            dropping = None if is_kept else _drop(making.table_name)
        if dropping is not None:
            sandbox.wait(dropping, seconds=deadline - time.monotonic())  # a person has few sandboxes at once
    raise Unable("early")


def _drop_kept(replay: Replay) -> None:
    kept = Replay.objects.filter(owner=replay.owner, ended_at__isnull=False).values_list("table", flat=True)
    for table in sandbox.sandboxes(replay.owner):
        if table.name in kept:
            _drop(table.name)


def _drop(table: str) -> Change | None:
    """The change that drops a sandbox; one that cannot be dropped now is left to the timetable."""
    try:
        return sandbox.drop(table, who=sandbox.TIMETABLE, may_drop_all=True)
    except (ChangeError, DdlError) as error:
        log.info("sandbox %s is not dropped now: %s", table, error)
        return None


class Attempt:
    """The actions of a replay on one sandbox. Transactions are connections, by their number."""

    def __init__(self, replay: Replay, script: Script, base: Descriptor, deadline: float) -> None:
        self.replay, self.script, self.base, self.deadline = replay, script, base, deadline
        self.transactions: dict[int, psycopg.Connection[Any]] = {}
        self.opened: list[psycopg.Connection[Any]] = []

        self.nodes: dict[str, Node] = {}
        """The node that stands for each of the model, once it has answered."""

        self.change: Change | None = None
        self.ended = ""

        self.waits: set[int] = set()
        """Steps of the change of which it is known that they waited: the next wait is another one's."""

        self.otherwise: list[str] = []

        first = script.actions[0].action if script.actions else None
        self.ahead = 0 if isinstance(first, actions.Publish) and first.version == 1 else 1
        """The sandbox itself is the model's first version, unless that has an index and is published on it."""

        self.began_at = self.ended_at = 0.0

        self.timer = threading.Timer(max(deadline - time.monotonic(), 0), self._stop)
        self.timer.daemon = True
        self.timer.start()

    def run(self) -> None:
        self._cast_nodes()
        self.began_at = database_clock_s()
        began, times = time.monotonic(), list[float]()
        for done, narrated in enumerate(self.script.actions, 1):
            self._check_time()
            try:
                self._do(narrated.action)
            except AGAIN as error:
                raise TooEarly(str(error)) from error
            except psycopg.errors.QueryCanceled as error:
                raise Unable("waits", str(narrated.text)) from error
            except psycopg.Error:
                self._check_time()
                raise
            times.append(round(time.monotonic() - began, 2))
            replays.note(self.replay.pk, str(narrated.text), done=done, times=times)
        self.ended_at = database_clock_s()

    def _cast_nodes(self) -> None:
        """A node that has just died may still be taken for one that is up: those that answer play."""
        running = iter(Node.objects.filter(state=Node.State.UP).order_by("name"))
        for name in self._used():
            node = next((one for one in running if self._answers(one)), None)
            if node is None:
                raise Unable("nodes", name)
            self.nodes[name] = node

    def _answers(self, node: Node) -> bool:
        try:
            self._open(node).close()
        except psycopg.OperationalError as error:
            log.info("replay %s: node %s does not answer: %s", self.replay.pk, node.name, error)
            return False
        return True

    def close(self) -> None:
        """Rolls back all open transactions. News is spread, nodes come back."""
        self.timer.cancel()
        try:
            for opened in self.transactions.values():
                opened.close()
            self.transactions.clear()
        finally:
            try:
                withheld.spread(self.base.table_id)
            finally:
                absent_nodes.bring_back(self.replay)

    def lanes(self) -> dict[str, Any]:
        times = {"began": self.began_at, "end": self.ended_at}
        return drawn.lanes(self.base, self.script, self.nodes, ahead=self.ahead, **times)

    def _used(self) -> list[str]:
        named = (getattr(narrated.action, "node", None) for narrated in self.script.actions)
        return list(dict.fromkeys(name for name in named if name)) or list(self.script.nodes[:1])

    def _stop(self) -> None:
        for opened in list(self.opened):
            shut_down(opened)

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise Unable("time")

    # Actions

    def _do(self, action: Action) -> None:
        match action:
            case actions.Given(rows):
                with self._open(next(iter(self.nodes.values()))) as opened:
                    for row in rows:
                        opened.execute(self._sql("INSERT INTO {} VALUES (%s, %s)"), row)
            case actions.Warm(node):
                with self._connect(node) as opened:
                    self._version_used(opened)
            case actions.Withhold(nodes):
                names = [self.nodes[node].name for node in nodes]
                withheld.withhold(self.base.table_id, names, seconds=self.deadline - time.monotonic())
            case actions.Spread(nodes):
                withheld.spread(self.base.table_id, [self.nodes[node].name for node in nodes])
            case actions.Still(node, version):
                self._expect_use(node, self._there(version))
            case actions.Learn(node, version):
                self._await_use(node, self._there(version), seconds=self.deadline - time.monotonic(), is_exact=False)
            case actions.Use(node, version):
                withheld.spread(self.base.table_id, [self.nodes[node].name])
                self._await_use(node, self._there(version))
            case actions.Begin(number, node, version):
                self._begin(number, node, self._there(version))
            case actions.Run(number, statement):
                self.transactions[number].execute(self._sql(statement.replace(" t ", " {} ", 1)))
            case actions.End(number, commits):
                with self.transactions.pop(number) as opened:
                    opened.execute("COMMIT" if commits else "ROLLBACK")
            case actions.Publish(version, table):
                new = on_sandbox(table, self.base, version - self.ahead)
                lab_publish(new, who=self.replay.owner, what=f"v{version} of a replay")
            case actions.Submit(is_unique):
                self._submit(is_unique=is_unique)
            case actions.Await(version):
                self._await_version(self._there(version))
            case actions.Finish():
                self._await_end()
            case actions.Blocked(node, waits):
                self._await_block(self.nodes[node].name, waits=waits)
            case actions.Process(command, node):
                self._process(command, self.nodes[node])
            case actions.LeaseOver(node):
                self._await_end_of_lease(self.nodes[node].name)
            case actions.LateCommit(number, is_refused):
                self._late_commit(number, is_refused=is_refused)

    # A real change

    def _submit(self, *, is_unique: bool) -> None:
        kind = "UNIQUE INDEX" if is_unique else "INDEX"
        statement = f"CREATE {kind} by_a_{self.base.table_id} ON {quoted(self.base.name)} (a)"
        self.change = changes.submit(statement, who=self.replay.owner)

    def _await_version(self, version: int) -> None:
        """Waits for other users of an older version, as long as the replay may last."""
        assert self.change is not None
        while (newest := self._newest()) < version:
            self._check_time()
            self.change.refresh_from_db()
            if not self.change.is_open:
                raise Unable("ended", f"{self.change} ({self.change.status})")
            time.sleep(LOOK_S)
        if newest > version:
            raise TooEarly(f"version {newest} is out, not {version}")

    def _await_end(self) -> None:
        assert self.change is not None
        change = sandbox.wait(self.change, seconds=self.deadline - time.monotonic())
        if change.is_open:
            raise Unable("time", f"{change} ({change.status})")
        is_violated = (change.error or {}).get("sqlstate") == UNIQUE_VIOLATION
        self._check_not_cancelled()
        ends = {Status.DONE: actions.PUBLIC, Status.FAILED: actions.ROLLED_BACK if is_violated else "failed"}
        self.ended = ends.get(Status(change.status), change.status)

    def _await_block(self, node: str, *, waits: bool) -> None:
        assert self.change is not None
        before = self._newest()
        while not self._waits_for(node) and self._newest() == before and self.change.is_open:
            self._check_time()
            time.sleep(LOOK_S)
            self.change.refresh_from_db()
        self._check_not_cancelled()
        found = self._waits_for(node)
        self.waits |= found
        if bool(found) != waits:
            self.otherwise.append(f"the change {'waited' if found else 'did not wait'} for {node}")

    def _check_not_cancelled(self) -> None:
        """A person may have cancelled it: then no verdict says anything."""
        assert self.change is not None
        self.change.refresh_from_db()
        if self.change.status == Status.CANCELLED:
            raise Unable("ended", f"{self.change} ({self.change.status})")

    def _waits_for(self, node: str) -> set[int]:
        """The steps of the change that have waited for it, or do now. A node without a lease is never waited for."""
        assert self.change is not None
        waits = Step.objects.filter(change=self.change).values_list("pk", "waited_for")
        return {pk for pk, waited_for in waits if node in uses_waited_for(waited_for)} - self.waits

    def _newest(self) -> int:
        found = newest_descriptor(self.base.table_id)
        assert found is not None, self.base
        return found.version

    # Nodes

    def _process(self, command: str, node: Node) -> None:
        absent_nodes.do(self.replay, command, node.name)
        if command == absent_nodes.DRAIN:
            while Lease.objects.filter(table_id=self.base.table_id, node=node.name).exists():
                self._check_time()
                time.sleep(LOOK_S)
        elif command == "start":
            while not self._answers(Node.objects.get(name=node.name)):
                self._check_time()
                time.sleep(5 * LOOK_S)

    def _await_end_of_lease(self, node: str) -> None:
        live = Lease.objects.filter(table_id=self.base.table_id, node=node, expires_at__gt=Now())
        while live.exists():
            self._check_time()
            time.sleep(5 * LOOK_S)

    def _late_commit(self, number: int, *, is_refused: bool) -> None:
        opened = self.transactions.pop(number)
        try:
            opened.execute("COMMIT")
        except psycopg.Error as error:
            log.info("replay %s: a late commit: %s", self.replay.pk, error)
            was_refused = True
        else:
            was_refused = False
        finally:
            opened.close()
        if was_refused != is_refused:
            self.otherwise.append(f"a commit was {'refused' if was_refused else 'accepted'}")

    def _there(self, version: int) -> int:
        return self.base.version + version - self.ahead

    def _sql(self, statement: str) -> sql.Composed:
        return sql.SQL(statement).format(sql.Identifier(self.base.name))  # type: ignore[arg-type]

    def _connect(self, node: str) -> psycopg.Connection[Any]:
        return self._open(self.nodes[node])

    def _open(self, node: Node) -> psycopg.Connection[Any]:
        replay = f"replay {self.replay.pk}"
        address = vouched_address(
            settings.SECRET_KEY, node.host, node.port, name=self.replay.owner, application_name=replay
        )
        opened = psycopg.connect(**address, connect_timeout=CONNECT_S, autocommit=True)
        self.opened.append(opened)
        self._check_time()
        return opened

    def _version_used(self, opened: psycopg.Connection[Any]) -> int:
        lines = opened.execute(self._sql("EXPLAIN SELECT 1 FROM {}")).fetchall()
        found = [line.rpartition("@")[2] for (line,) in lines if f"{self.base.name}@" in line]
        return int(found[0])

    def _begin(self, number: int, node: str, version: int) -> None:
        opened = self.transactions[number] = self._connect(node)
        opened.execute(sql.SQL("SET statement_timeout = {}").format(WAIT_MS))
        opened.execute("BEGIN")
        used = self._version_used(opened)
        if used != version:
            raise TooEarly(f"{node} uses version {used}, not {version}")

    def _expect_use(self, node: str, version: int) -> None:
        with self._connect(node) as opened:
            used = self._version_used(opened)
        if used != version:
            raise TooEarly(f"{node} uses version {used}, not {version}")

    def _await_use(self, node: str, version: int, *, seconds: float = USE_S, is_exact: bool = True) -> None:
        until = time.monotonic() + seconds
        with self._connect(node) as opened:
            while (used := self._version_used(opened)) < version:
                self._check_time()
                if time.monotonic() > until:
                    raise Unable("behind", f"{node}: {used}, {version}")
                time.sleep(LOOK_S)
        if is_exact and used > version:
            raise TooEarly(f"{node} uses version {used}, not {version}")


def _judged(session: Session, attempted: Attempt, deadline: float) -> dict[str, Any]:
    job = AuditJob.objects.get(pk=request_audit(attempted.base.table_id))
    while job.ended_at is None:
        if time.monotonic() > deadline:
            raise Unable("time", "the audit has not ended")
        time.sleep(5 * LOOK_S)
        job.refresh_from_db()
    if job.error:
        raise Unable("audit", job.error)
    found = compared(
        session,
        job.violations,
        judged_before=len(job.versions) > 1,
        ends=(attempted.script.ends, attempted.ended),
        otherwise=attempted.otherwise,
    )
    named = [{"clause": one["clause"], "why": one["why"]} for one in job.violations[:NAMED_MAX]]
    shown = {"stores": drawn.stores(session, attempted.base.table_id), "lanes": attempted.lanes()}
    counts = {"rows": job.rows, "pairs": job.pairs}
    return {"result": "compared", **found.to_json(), "violations": named, **counts, "drawn": shown}
