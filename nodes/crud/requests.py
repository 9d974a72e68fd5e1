"""The path of one request: planned with one version, sent with its hashes, reloaded and tried again (requests.md).

`enter` goes first, in the batch of the first statement: version and hashes, before anything is done. A reload is keyed
by the refused version: one for all requests that met it. Each attempt is one transaction, which commits or keeps
nothing. The request's time limit covers all attempts.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from catalog.descriptor import Descriptor
from expressions.analysis.building import Parameters
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import NOT_NULL_VIOLATION, UNDEFINED_COLUMN, UNDEFINED_TABLE, SqlError
from expressions.limits import begin_anew
from expressions.sqltypes import parameter_type
from expressions.typed import Context, Session
from leases.rules import LeaseError
from nodes.clients.portals import Portal, Prepared
from nodes.context import Environment
from nodes.crud import errors
from nodes.crud.answers import AnswerColumns
from nodes.crud.calls import Call
from nodes.crud.texts import Text, shown_columns
from nodes.execution.fairness import LARGE_CHARS, in_thread, in_thread_if_large
from nodes.execution.in_place import Read
from nodes.execution.judging import judged
from nodes.execution.writing import dml
from nodes.execution.writing.computing import computing_of, settings_of
from nodes.execution.writing.writer import Ambiguous
from nodes.foreign_keys.enforced import pin_others
from nodes.router.attempts import Attempts, Failure, Next
from nodes.router.compiled import is_short
from nodes.router.counters import Counts
from nodes.router.reloads import Known, Outcome
from nodes.sql.admission import admitted
from nodes.sql.conditions.access_paths import Access
from nodes.sql.planner import make_plan
from nodes.sql.plans import Plan, SelectPlan, WritingPlan
from nodes.sql.readable import InPlace, Use, over_tables
from nodes.sql.statements import Statement, parse
from nodes.sql.uses import scans_in
from nodes.sql.writes.questions import Described, Undescribed
from nodes.sql.writes.source_text import Reading
from nodes.store.entering import Hashes
from nodes.store.name_resolution import Names
from nodes.store.refusals import Retry, checked
from nodes.store.transaction import Owner, Transaction
from nodes.trace.record import Trace
from nodes.wire.messages import Field
from nodes.wire.parameters import values_of
from nodes.wire.results import Result, Row
from storage.postgres import BELOW_FENCE, HASH_DIFFERS

T = TypeVar("T")
PART_S_MAX = 30.0
"""Of an operation without a time limit: each transaction of `truncate`, each page of `pairs`."""
MISMATCHES = frozenset({BELOW_FENCE, HASH_DIFFERS})
"""The refusals of `enter` that say: another schema. The others are of time, and end with a new transaction."""
EXPLAINED_BY_OLD_SCHEMA = frozenset({UNDEFINED_TABLE, UNDEFINED_COLUMN, NOT_NULL_VIOLATION})
OLD_SCHEMA_KINDS = frozenset({"FlattenError", "UnknownIndexError", "BucketError"})
Planned = Callable[[Transaction, Mapping[str, Descriptor], Plan, Context], None]
Work = Callable[[Transaction, Descriptor], Awaitable[T]]


async def within_time(
    work: Awaitable[T], limit_s: float | None, phase: Callable[[], str], deadline: float | None = None
) -> T:
    """`work`, for at most `limit_s` seconds, or until `deadline` (monotonic). Raises class TimeoutError of requests."""
    left_s = limit_s if limit_s is None or deadline is None else max(deadline - time.monotonic(), 0)
    try:
        async with asyncio.timeout(left_s):
            return await work
    except TimeoutError:
        assert limit_s is not None
        raise errors.too_late(limit_s, phase()) from None


@dataclass(eq=False)
class Caller:
    owner: Owner
    values: Session
    style: TimeStyle = PLAIN
    trace: Trace | None = None
    planned: Planned | None = None
    """Called with each plan, when there is a trace."""


@dataclass(eq=False)
class Request:
    """One request on its way. `descriptor` is the version it was planned with last."""

    env: Environment
    call: Call
    caller: Caller
    table: str
    attempts: Attempts = field(default_factory=Attempts)
    descriptor: Descriptor | None = None
    in_one_batch: bool = True
    uses_sharding: bool = True
    """Its plan follows from the sharding key: the sharding hash is sent, too."""
    deadline: float = field(init=False)
    phase: str = "it waited for the schema"
    left_open: Transaction | None = None
    """The transaction of rows that are still to come."""
    _fresh: bool = False
    _others_fresh: bool = False
    """An attempt was refused: the other tables are asked for anew, too."""

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.limit_s
        bucket = self.call.options.get("bucket_id")
        if bucket is not None and bucket > self.env.buckets:
            raise errors.bad_bucket(f"there is no bucket {bucket}: there are {self.env.buckets}")

    @property
    def limit_s(self) -> float:
        return PART_S_MAX if self.call.timeout_s is None else self.call.timeout_s

    @property
    def counts(self) -> Counts:
        return self.env.router.counters.of(self.table)

    @property
    def version(self) -> int | None:
        return None if self.descriptor is None else self.descriptor.version

    async def within_time(self, work: Awaitable[T]) -> T:
        return await within_time(work, self.call.timeout_s, lambda: self.phase, self.deadline)

    async def part_within_time(self, work: Awaitable[T]) -> T:
        """One bounded part of an operation that takes as long as it takes: unless it has a limit, a part has one."""
        if self.call.timeout_s is None:
            self.deadline = time.monotonic() + PART_S_MAX
        return await within_time(work, self.limit_s, lambda: self.phase, self.deadline)

    async def attempt(self, work: Work[T], *, is_read_only: bool = False) -> T:
        """`work` in a transaction that it ends, under one version; tried again as `nodes.router.attempts` says."""
        while True:
            transaction = self.env.begin(is_read_only=is_read_only, by=self.caller.owner)
            transaction.trace = self.caller.trace
            begin_anew()
            try:
                self.phase = "it waited for the schema"
                descriptor = self.descriptor = await self._snapshot(transaction)
                built_for = self.call.options.get("version")
                if built_for is not None and built_for != descriptor.version:
                    raise errors.built_for_other(built_for, descriptor)
                self._say("request", table=self.table, version=descriptor.version)
                self.sends(transaction, descriptor, sharding=self.uses_sharding)
                self.phase = f"it waited for the storages, at version {descriptor.version}"
                async with checked(transaction):
                    found = await work(transaction, descriptor)
                self._say("accepted", table=self.table, version=descriptor.version)
                return found
            except Ambiguous:
                self.in_one_batch = False
            except LeaseError as error:
                raise errors.RequestError("57P03", str(error), hint="try another node", kind="StorageError") from error
            except SqlError as error:
                await self._after(error, was_sent=transaction.connection is not None or transaction.has_written)
            finally:
                if not transaction.is_over and transaction is not self.left_open:
                    await transaction.rollback()

    # -- the version --------------------------------------------------------------------------------------------

    async def _snapshot(self, transaction: Transaction) -> Descriptor:
        """The version that this attempt uses, to its end. Raises `UnknownTableError`."""
        directory, router = self.env.directory, self.env.router
        if directory.known(self.table) is None:
            wake = await router.newer(self.table, None, deadline=self.deadline, is_patient=False)
            if wake.outcome is Outcome.FAILED:
                raise errors.reload_failed(wake.cause)
            if wake.outcome is Outcome.LATE:
                raise errors.too_late(self.limit_s, self.phase)
            if wake.outcome is not Outcome.NEWER:
                raise errors.unknown_table(self.table, self.env.directory.met())
        fresh, self._fresh = self._fresh, False
        found = await Names(self.env).versions(transaction, [self.table], fresh=fresh)
        descriptor = found.get(self.table)
        if descriptor is None:
            raise errors.unknown_table(self.table, self.env.directory.met())
        router.seen(self.table, Known(descriptor.table_id, descriptor.version))
        return descriptor

    def sends(self, transaction: Transaction, descriptor: Descriptor, *, sharding: bool) -> None:
        """Chooses the hashes that go along, and traces them. Object operations always send the schema's, others when
        asked; the sharding's goes where it was used."""
        is_asked = bool(self.call.options.get("add_space_schema_hash"))
        hashes = Hashes(schema=self.call.operation.is_object or is_asked, sharding=sharding)
        transaction.sends[descriptor.table_id] = hashes
        if self.caller.trace is not None:
            pin = transaction.pins[descriptor.table_id]
            given = {"schema": (hashes.schema, pin.schema_hash), "sharding": (hashes.sharding, pin.sharding_hash)}
            sent = {name: value for name, (is_sent, value) in given.items() if is_sent}
            self.caller.trace.amend("request", hashes=list(sent), sent=sent)

    # -- failed attempts ----------------------------------------------------------------------------------------

    def failure_of(self, error: SqlError, *, was_sent: bool) -> Failure:
        if isinstance(error, Retry):
            return Failure.MISMATCH if error.refusal in MISMATCHES else Failure.CONFLICT
        kind = error.kind if isinstance(error, errors.RequestError) else None
        is_explained = error.sqlstate in EXPLAINED_BY_OLD_SCHEMA or kind in OLD_SCHEMA_KINDS
        if is_explained and not was_sent and self.descriptor is not None:
            return Failure.OLD_SCHEMA
        return Failure.FINAL

    async def _after(self, error: SqlError, *, was_sent: bool) -> None:
        """Return when another attempt is to be made; raise what the request ends with."""
        failure = self.failure_of(error, was_sent=was_sent)
        if failure is Failure.MISMATCH:
            self.counts.mismatches += 1
            self._say("refused", table=self.table, version=self.version, message=error.message)
        self.attempts, after = self.attempts.after(failure)
        self._others_fresh = isinstance(error, Retry) and error.stale
        if after is Next.AGAIN:
            assert isinstance(error, Retry)
            self.counts.conflicts += 1
            self._fresh = error.stale
            self._again("retry", sqlstate=error.sqlstate, message=error.message, fresh=error.stale)
            await asyncio.sleep(self.attempts.pause_s)
        elif after is Next.RELOAD:
            await self._reload(error, failure)
        elif failure is Failure.MISMATCH:
            raise errors.mismatch(self.version or 0, error.message, "it had been reloaded and tried again once")
        else:
            raise error

    async def _reload(self, error: SqlError, failure: Failure) -> None:
        descriptor = self._version()
        refused, is_patient = self._refused(error, descriptor), failure is Failure.MISMATCH
        name, than = refused.name, Known(refused.table_id, refused.version)
        self.phase = f"it waited for a version newer than {refused}: {error.message}"
        began, loads = time.perf_counter(), self.env.router.is_loading(name)
        wake = await self.env.router.newer(name, than, deadline=self.deadline, is_patient=is_patient)
        took_ms = round((time.perf_counter() - began) * 1000, 2)
        found = None if wake.version is None else wake.version.version
        about = {"sqlstate": error.sqlstate, "message": error.message, "took_ms": took_ms, "found": found}
        self._again("join" if loads else "reload", **about)
        match wake.outcome:
            case Outcome.NEWER:
                self.counts.retries += 1
            case Outcome.FAILED if is_patient:
                raise errors.mismatch(refused.version, error.message, f"and {errors.reload_failed(wake.cause).message}")
            case Outcome.LATE:
                raise errors.too_late(self.limit_s, self.phase)
            case Outcome.UNKNOWN if refused is not descriptor:
                self.counts.retries += 1  # another table, found by its id, whatever its name is now
            case Outcome.UNKNOWN:
                raise errors.unknown_table(self.table, self.env.directory.met())
            case _:
                raise error

    @staticmethod
    def _refused(error: SqlError, descriptor: Descriptor) -> Descriptor:
        """The version that was refused: of the request's own table, or of one that its foreign keys stand to."""
        pin = error.pin if isinstance(error, Retry) else None
        of = descriptor if pin is None else pin.descriptor
        return of if isinstance(of, Descriptor) and of.table_id != descriptor.table_id else descriptor

    def _say(self, do: str, **more: Any) -> None:
        if self.caller.trace is not None:
            self.caller.trace.step(do, **more)

    def _again(self, do: str, **more: Any) -> None:
        if self.caller.trace is not None:
            self.caller.trace.again(do, **more)

    # -- statements ---------------------------------------------------------------------------------------------

    async def plan(self, transaction: Transaction, text: Text) -> tuple[Plan, Context]:
        descriptor = self._version()
        plan, oids, _ = await self.planned(descriptor, text)
        await self.use_others(transaction, plan)
        now, values = transaction.started_at, _encoded(text.values)
        is_long = len(text.sql) > LARGE_CHARS or sum(len(v) for v in values if v) > LARGE_CHARS
        read = partial(values_of, oids, values, (), self.caller.style, now)
        found = await in_thread(read) if is_long else read()
        context = Context(found, now, self.caller.values, self.caller.style, is_long=is_long)
        if self.caller.planned is not None:
            self.caller.planned(transaction, {descriptor.name: descriptor}, plan, context)
        return plan, context

    async def planned(self, descriptor: Descriptor, text: Text) -> tuple[Plan, list[int], Statement]:
        """The plan of a statement under a version, and the types of its parameters: made once for equal texts."""
        style, compiled = self.caller.style, self.env.router.compiled
        known = compiled.get(descriptor, (text.sql, style))
        if known is not None:
            return known  # type: ignore[no-any-return]
        catalog, answers = {descriptor.name: descriptor}, list[Described]()
        reading = Reading(self.env.reader.functions, catalog, {}, Parameters(), style)

        def made() -> tuple[Plan, list[int], Statement]:
            (statement,) = parse(text.sql)
            parameters = Parameters([], count_max=len(text.values))
            plan = make_plan(statement, catalog, parameters, style, reading=reading, answers=answers)
            return plan, [of.oid for of in parameters.types], statement

        found = None
        while found is None:
            try:
                try:
                    found = await in_thread_if_large(text.sql, made)
                except Undescribed as lacking:
                    user, settings = self.caller.owner.user, settings_of(style)
                    answers.append(await judged(self.env, lacking, catalog, {}, settings, user))
            except SqlError as error:
                error.offset = -1  # of a text that the client has not written
                raise await Names(self.env).explained(error, catalog) from None
        if is_short((text.sql,)):
            compiled.keep(descriptor, (text.sql, style), found)
        return found

    def shown(self, descriptor: Descriptor) -> AnswerColumns:
        """The columns of the answer under a version. Raises `UnknownFieldError` for one that it does not have."""
        fields, compiled = self.call.options.get("fields"), self.env.router.compiled
        kind = "shown", fields if fields is None else tuple(fields)
        known = compiled.get(descriptor, kind)
        if known is None:
            known = AnswerColumns(descriptor, shown_columns(descriptor, fields))
            if is_short(fields or ()):
                compiled.keep(descriptor, kind, known)
        return known  # type: ignore[no-any-return]

    async def use_others(self, transaction: Transaction, plan: Plan) -> None:
        await pin_others(self.env, transaction, plan, fresh=self._others_fresh)

    async def do(self, transaction: Transaction, text: Text, *, commit: bool) -> tuple[Sequence[Field], list[Row], int]:
        """Do a statement; the columns and rows of its answer, and how many rows it was about."""
        plan, context = await self.plan(transaction, text)
        ends = commit and self.in_one_batch
        if isinstance(plan, SelectPlan):
            result = await self.read(transaction, text, context, commit=ends)
        else:
            assert isinstance(plan, WritingPlan)
            _, oids, statement = await self.planned(self._version(), text)
            portal = Portal(Prepared(text.sql, statement, oids), _encoded(text.values))
            settings, reading = settings_of(self.caller.style), partial(self._reading, oids)
            computing, _ = await computing_of(self.env, portal, plan, settings, reading)
            result = await dml.perform(self.env, transaction, plan, context, computing, commit=ends)
        rows = list(result.rows)
        if result.more is not None:
            async for batch in result.more:
                rows += batch
        if commit and not transaction.is_over:
            await transaction.commit()
        words = result.tag.split()
        return result.fields or (), rows, int(words[-1]) if words[-1].isdigit() else len(rows)

    async def read(
        self, transaction: Transaction, text: Text, context: Context, *, way: Access | None = None, commit: bool
    ) -> Result:
        """A query of the table, answered by PostgreSQL; `way`: to its rows, where the conditions do not say it."""
        portal, place = await self._placed(text)
        ways = {} if way is None else {use.scan.number: way for use in place.uses}
        settings = settings_of(self.caller.style)
        return await Read(self.env, transaction, portal, place, context, settings, ways=ways).result(commit=commit)

    async def use_of(self, text: Text) -> Use:
        _, place = await self._placed(text)
        (use,) = place.uses
        return use

    async def _placed(self, text: Text) -> tuple[Portal, InPlace]:
        version, router, style = self._version(), self.env.router, self.caller.style
        kind = "in place", text.sql, style

        def read_in_place() -> tuple[Statement, InPlace]:
            (statement,) = parse(text.sql)
            reading = self._reading([])
            parameters = Parameters([], count_max=len(text.values))
            scans = scans_in(statement.node, reading.tables, {}, parameters, style)
            (scan,) = scans.values()
            query = admitted(text.sql, reading.functions)
            return statement, over_tables(query, 0, scans, {}, reading.functions, style, scan)

        known = router.compiled.get(version, kind)
        if known is None:
            known = await in_thread_if_large(text.sql, read_in_place)
            if is_short((text.sql,)):
                router.compiled.keep(version, kind, known)
        statement, place = known
        return Portal(Prepared(text.sql, statement, (0,) * len(text.values)), _encoded(text.values)), place

    def _reading(self, oids: Sequence[int]) -> Reading:
        version = self._version()
        types = [parameter_type(oid) for oid in oids]
        parameters = Parameters(types, count_max=len(types))
        return Reading(self.env.reader.functions, {version.name: version}, {}, parameters, self.caller.style)

    def _version(self) -> Descriptor:
        assert self.descriptor is not None
        return self.descriptor


def _encoded(values: Sequence[str | None]) -> list[bytes | None]:
    return [None if value is None else value.encode() for value in values]
