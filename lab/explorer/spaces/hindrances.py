"""Why a step cannot be taken now: rules of leases, transactions and the plan, each asked where it is decided."""

from collections.abc import Iterator, Sequence

from catalog.elements import NodeId
from catalog.text.message import Text
from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Effect
from lab.explorer.contents.refusals import why_refused
from lab.explorer.contents.statements import Statement, row_of
from lab.explorer.plans.program import UNCHANGED, Do, Stop, Use
from lab.explorer.plans.small_tables import NAMES
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces import reasons
from lab.explorer.spaces.config import (
    BEGUN,
    HAS_PINNED,
    HAS_READ,
    HAS_SNAPSHOT,
    Config,
    Node,
    NodeLease,
    Transaction,
    version_words,
)
from lab.explorer.spaces.fill import Ranges, Step, fill_steps, is_filled
from lab.explorer.spaces.reasons import Reason
from lab.explorer.spaces.reduced_space import act_step
from leases import rules


class Hindrances:
    def __init__(self, effects: Effects) -> None:
        self.effects, self.model = effects, effects.model
        self.stops = effects.program.stops
        self.names = [NodeId(f"n{number + 1}") for number in range(self.model.nodes)]
        self.tables = NAMES if self.model.foreign_key else ("",)

    def hindrance(self, config: Config, step: Step) -> Reason | None:
        """None if `step` may be taken. A search asks this for every candidate."""
        if step[0] in self.names:
            at = self.names.index(step[0])  # type: ignore[arg-type]
            return self._node_hindrance(config, at, config.nodes[at], step)
        stop = self.stops[config.stop]
        match step:
            case ("publish" | "drain", _):
                return self._executor_hindrance(config, stop) if step == act_step(stop) else reasons.NOT_NOW
            case ("close",):
                if stop.do is not Do.FILL:
                    return reasons.NO_FILL
                return None if is_filled(config.ranges) else reasons.UNFILLED
            case ("fill", *_):
                return None if any(step == s for s, *_ in self._fill_steps(config)) else reasons.NO_WORKER
            case ("cancel",):
                return None if stop.cancel is not None else reasons.NO_CANCEL
            case ("given", *rows):
                if not config.given:
                    return reasons.NOT_FIRST
                return None if self.effects.given(rows) is not None else reasons.NO_SUCH_ROWS
            case _:
                return None if step == act_step(stop) else reasons.NOT_NOW

    def why_not(self, config: Config, step: Step) -> Reason | None:
        """As `hindrance`, for people: with the reason why a version refuses a statement."""
        found = self.hindrance(config, step)
        if found is not reasons.REFUSED:
            return found
        open_one = config.nodes[self.names.index(step[0])].transaction  # type: ignore[arg-type]
        assert open_one is not None
        statement: Statement = open_one.statement or step[2]  # type: ignore[assignment]
        schema = self.stops[config.stop].schema(open_one.use)
        if self.effects.effect(config.contents, schema, statement, snapshot=open_one.snapshot) is not None:
            return reasons.REORGANISED
        read = config.contents if open_one.snapshot is None else open_one.snapshot
        return Reason(why_refused(self.effects, read, schema, statement))

    @property
    def _all(self) -> range:
        return range(len(self.tables))

    def _executor_hindrance(self, config: Config, stop: Stop) -> Reason | None:
        """A model that allows more live versions counts as many versions too few."""
        tables = stop.drained if stop.do is Do.DRAIN else [at for at in self._all if stop.published[at] != UNCHANGED]
        whys = [why for why in (self._table_hindrance(config, stop, at) for at in tables) if why is not None]
        return reasons.waits(stop.do.value, whys) if whys else None

    def _table_hindrance(self, config: Config, stop: Stop, at: int) -> Text | None:
        held = tuple((node, version) for node, version, live in self._leases(config, at) if live)
        asks_locks = self.model.fence and not self.model.lacks(Broken.NO_LOCK)
        locked = tuple(sorted({t.use[at] for t in entered_transactions(config)})) if asks_locks else ()
        newest, name = stop.tables[at].newest, self.tables[at]
        if stop.do is Do.DRAIN:
            return reasons.drain_whys(held, locked, newest, name)
        return reasons.publish_whys(held, locked, newest + 1 + 2 - self.model.versions, name)

    def _node_hindrance(self, config: Config, at: int, node: Node, step: Step) -> Reason | None:
        stop, name, open_one = self.stops[config.stop], self.names[at], node.transaction
        match step[1:]:
            case ("acquire", *which):
                return self._acquire_hindrance(stop, node, name, self.table_at(which))
            case ("expire",):
                older = () if node.transaction is None else node.transaction.held
                return None if any(held.live for held in (*node.held, *older)) else reasons.no_lease(name)
            case ("begin",):
                if config.nodes[self.names.index(NodeId(name))].transaction is not None:
                    return reasons.is_open(name)
                if not config.operations:
                    return reasons.ALL_USED
                if not all(self._is_usable(stop, at, held) for at, held in enumerate(node.held)):
                    return reasons.no_lease(name)
                if self.model.late_enter:
                    return None
                checks = self.model.fence and not self.model.lacks(Broken.NO_CHECK)
                for version, table in zip(node.use, stop.tables, strict=True):
                    fence = table.accepted if checks else 0
                    if (
                        rules.why_not_enter(version, fence=fence, newest_visible=table.newest)
                        is rules.Refusal.BELOW_FENCE
                    ):
                        return reasons.below_fence(version, fence)
                return None
        if open_one is None:
            return reasons.is_not_open(name)
        match step[1:]:
            case ("rollback",):
                return None
            case ("pin",):
                may = open_one.phase == HAS_SNAPSHOT and self._is_usable(stop, 0, node.held[0])
                return None if may else reasons.no_lease(name)
            case ("enter",):
                return self._enter_hindrance(stop, open_one)
            case ("end",):
                if not self.model.fence:
                    return reasons.NOT_LOCKED
                return (
                    reasons.is_live(name, self.words_of(open_one.use))
                    if all(held.live for held in _pinned(node))
                    else None
                )
            case ("read", *_):
                return None if open_one.phase == BEGUN else reasons.has_read(name)
            case ("write", statement):
                if not (
                    self.model.late_enter
                    or all(live or not self.has_leases(stop, at, used) for at, (used, live) in enumerate(_pinned(node)))
                ):
                    return reasons.reads_only(name)
                return self._write_hindrance(config, stop, open_one, statement, HAS_READ)  # type: ignore[arg-type]
            case ("run", statement):
                return self._write_hindrance(config, stop, open_one, statement, BEGUN)  # type: ignore[arg-type]
            case ("commit",):
                if open_one.statement is None:
                    return reasons.has_not_written(name)
                return self._conflict(config, stop, open_one, open_one.statement)
        return reasons.NO_STEP

    def _enter_hindrance(self, stop: Stop, open_one: Transaction) -> Reason | None:
        """The fence of now (T2), the version in the transaction's snapshot (T3)."""
        if open_one.phase != HAS_PINNED:
            return reasons.NO_STEP
        (version,), model = open_one.use, self.model
        now = open_one.fence if model.lacks(Broken.STALE_FENCE) else stop.tables[0].accepted
        fence = now if model.fence and not model.lacks(Broken.NO_CHECK) else 0
        visible = version if model.lacks(Broken.NEWER_VERSION) else open_one.newest
        match rules.why_not_enter(version, fence=fence, newest_visible=visible):
            case rules.Refusal.BELOW_FENCE:
                return reasons.below_fence(version, fence)
            case rules.Refusal.NOT_VISIBLE:
                return reasons.not_in_snapshot(version)
        return None

    def _acquire_hindrance(self, stop: Stop, node: Node, name: str, at: int) -> Reason | None:
        newest = stop.tables[at].newest
        if not self._leasable(stop, at, newest):
            return reasons.not_leasable(newest)
        live = self.has_leases(stop, at, newest)
        return reasons.is_leased(name, newest, self.tables[at], live=live) if node.held[at] == (newest, live) else None

    def _is_usable(self, stop: Stop, at: int, held: NodeLease) -> bool:
        return bool(held.version) and (held.live or not self.has_leases(stop, at, held.version))

    def has_leases(self, stop: Stop, at: int, version: int) -> bool:
        return self.effects.program.descriptor(stop, version, at).coordination.has_leases

    def table_at(self, which: Sequence[object]) -> int:
        """The table that a step names; with one table none is named."""
        return self.tables.index(str(which[0])) if which else 0

    def _write_hindrance(
        self, config: Config, stop: Stop, open_one: Transaction, statement: Statement, phase: int
    ) -> Reason | None:
        if open_one.phase != phase or (phase == HAS_READ and row_of(statement) != open_one.row):
            return reasons.NOT_READ
        return self._conflict(config, stop, open_one, statement)

    def _conflict(self, config: Config, stop: Stop, open_one: Transaction, statement: Statement) -> Reason | None:
        """Why a statement cannot be committed now; its write has the same reasons."""
        effect = self._effect(config, stop, open_one, statement)
        if effect is None:
            return reasons.REFUSED
        return reasons.CONFLICT if effect.touched & open_one.dirty else None

    def _effect(self, config: Config, stop: Stop, open_one: Transaction, statement: Statement) -> Effect | None:
        schema = stop.schema(open_one.use)
        return self.effects.effect(config.contents, schema, statement, open_one.unseen, open_one.snapshot)

    def words_of(self, use: Use) -> Text:
        if len(use) == 1:
            return Text("version {version}", {"version": use[0]})
        return Text("{version}", {"version": version_words(use)})

    def _leases(self, config: Config, at: int) -> Iterator[tuple[str, int, bool]]:
        for name, node in zip(self.names, config.nodes, strict=True):
            held = node.held[at]
            if held.version:
                yield name, held.version, held.live
            if node.transaction is not None and node.transaction.held[at].version != held.version:
                yield name, *node.transaction.held[at]

    def _leasable(self, stop: Stop, at: int, version: int) -> bool:
        return rules.may_acquire(self.effects.program.descriptor(stop, version, at).state, internal=True)

    def _fill_steps(self, config: Config) -> Iterator[tuple[Step, Ranges, int, int, int]]:
        if config.ranges:
            yield from fill_steps(self.effects, self.stops[config.stop], config.ranges, config.contents, config.crashes)


def open_transactions(config: Config) -> list[Transaction]:
    return [node.transaction for node in config.nodes if node.transaction is not None]


def entered_transactions(config: Config) -> list[Transaction]:
    return [transaction for transaction in open_transactions(config) if transaction.has_entered]


def _pinned(node: Node) -> Iterator[NodeLease]:
    open_one = node.transaction
    assert open_one is not None
    for now, pinned in zip(node.held, open_one.held, strict=True):
        yield now if now.version == pinned.version else pinned
