"""One world step by step: leases, open transactions, and what each actor may do now.

    n1    acquire (a table) · begin · read row · write · commit · rollback · expire (it freezes) · end (its session)
    executor   publish · drain · clear · close · verify · purge · delete · cancel
    fill       read range · put range · again (a second worker takes over)

Whoever explores, replays a link, or stands on the lab's stage uses this: `steps` are the
events that may happen, `hindrance` says of any event why it may not. An event is a tuple
of words and numbers, and `step_id` its name in links and files.

A transaction holds what the world changed behind its back: `dirty`, slots that other
transactions wrote since its snapshot (touching one at commit is 40001), and `unseen`, slots
that a reorganisation wrote, which it neither reads nor removes.

With two tables a node leases each by itself. A transaction pins both when it begins: a version that it pinned later
could be no newer than that (T3), and an older one than the node has by then is one it might have had before.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from catalog.elements import NodeId
from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Effect, Fault, Seen
from lab.explorer.contents.refusals import why_refused
from lab.explorer.contents.statements import Row, Statement, row_of
from lab.explorer.plans.program import UNCHANGED, Do, Stop, Use
from lab.explorer.plans.small_tables import NAMES
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces import reasons
from lab.explorer.spaces.fill import NO_RANGES, Ranges, Step, fill_steps, is_filled
from lab.explorer.spaces.reasons import Reason
from lab.explorer.spaces.reduced_space import act_step, operations_left, ranges_at, seen_of
from lab.texts import Text
from leases import rules

BEGUN, HAS_READ, HAS_WRITTEN = 0, 1, 2


class Held(NamedTuple):
    """A version of a table (0: none), and whether the lease on it is live."""

    version: int
    live: bool


NOTHING_HELD = Held(0, live=False)


class Transaction(NamedTuple):
    """An open transaction. `held` are its versions; `live` stands there where the node has a newer one.

    `snapshot` are the contents it reads, when that matters: where what it has read may change before it commits.
    """

    held: tuple[Held, ...]
    phase: int = BEGUN
    row: Row = ()
    statement: Statement | None = None
    dirty: int = 0
    unseen: int = 0
    snapshot: int | None = None

    @property
    def use(self) -> Use:
        return tuple(held.version for held in self.held)


class Node(NamedTuple):
    """A node: the newest version it has of each table, and its transaction."""

    held: tuple[Held, ...]
    transaction: Transaction | None = None

    @property
    def use(self) -> Use:
        return tuple(held.version for held in self.held)


class Config(NamedTuple):
    """One state of the world. `given` says whether the first rows may still be chosen."""

    stop: int
    contents: int
    nodes: tuple[Node, ...]
    ranges: Ranges
    crashes: int
    operations: int
    given: bool = False


class Impossible(ValueError):
    """A step that cannot be taken in this state. Says which, and why not."""


def step_id(step: Step) -> str:
    """The name of a step, the same in every run."""
    words = (word for part in step for word in (part if isinstance(part, tuple) else (part,)))
    return ".".join(str(word) for word in words)


class Plain:
    """The steps of a model. With `fused`, a transaction reads, writes and commits in one: those touch only itself."""

    def __init__(self, effects: Effects, *, fused: bool = False) -> None:
        self.effects, self.model, self.fused = effects, effects.model, fused
        self.stops = effects.program.stops
        self.names = [NodeId(f"n{number + 1}") for number in range(self.model.nodes)]
        self.statements = effects.statements
        self.rows = tuple(dict.fromkeys(row_of(statement) for statement in self.statements))
        self.tables = NAMES if self.model.foreign_key else ("",)

    def apart(self) -> "Plain":
        """The same steps, transactions taken apart."""
        return Plain(self.effects)

    # States

    def start(self) -> Config:
        """Before anything: every node leases the first version, no rows are there, `given` may say which are."""
        stop = int(self.model.pair)
        node = Node(tuple(self._first_held(self.stops[stop], at) for at in self._all))
        empty = self.effects.empty()
        return Config(
            stop, empty, (node,) * self.model.nodes, NO_RANGES, self.model.crashes, self.model.operations, given=True
        )

    def _first_held(self, stop: Stop, at: int) -> Held:
        if not self._leasable(stop, at, 1):
            return NOTHING_HELD
        return Held(1, live=self.has_leases(stop, at, 1))

    def first(self) -> list[Config]:
        """Every way the rows may be at first."""
        begun = self.start()._replace(given=False)
        return [begun._replace(contents=contents) for contents in self.effects.first_contents()]

    def steps(self, config: Config) -> Iterator[tuple[Step, Config, int]]:
        """Every event possible now, and the state after it."""
        for step in self.candidates(config):
            if not self.hindrance(config, step):
                after, seen = self.after(config, step)
                yield step, after, seen

    def candidates(self, config: Config) -> Iterator[Step]:
        """The steps that are there in some state, those that are out of place here (a read without begin) left out."""
        stop = self.stops[config.stop]
        for number, node in enumerate(config.nodes):
            yield from self._node_candidates(self.names[number], node)
        if stop.do is not Do.END:
            yield act_step(stop)
        if stop.cancel is not None:
            yield ("cancel",)
        for step, *_ in self._fill_steps(config):
            yield step

    def offers(self, config: Config) -> list[tuple[Step, Reason | None]]:
        """All candidates, each with the reason why it may not be taken now (None when it may)."""
        return [(step, self.why_not(config, step)) for step in self.candidates(config)]

    def lease_steps(self, name: str) -> Iterator[Step]:
        """Steps of a node's leases."""
        yield from ((name, "acquire", table) if table else (name, "acquire") for table in self.tables)
        yield name, "expire"

    def _node_candidates(self, name: str, node: Node) -> Iterator[Step]:
        yield from self.lease_steps(name)
        open_one = node.transaction
        if open_one is None:
            yield name, "begin"
            return
        yield name, "rollback"
        yield name, "end"
        if self.fused:
            yield from ((name, "run", statement) for statement in self.statements)
        elif open_one.phase == BEGUN:
            yield from ((name, "read", *row) for row in self.rows)
        elif open_one.phase == HAS_READ:
            yield from ((name, "write", s) for s in self.statements if row_of(s) == open_one.row)
        else:
            yield name, "commit"

    # What may happen

    def hindrance(self, config: Config, step: Step) -> Reason | None:
        """Why `step` may not be taken now; None when it may. A search asks this for every candidate."""
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
        """As `hindrance`, for people: of a statement that a version refuses, why it does."""
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
        """By `leases.rules`, for each table that is published or drained.

        A model that allows more live versions counts as many versions too few.
        """
        tables = stop.drained if stop.do is Do.DRAIN else [at for at in self._all if stop.published[at] != UNCHANGED]
        whys = [why for why in (self._table_hindrance(config, stop, at) for at in tables) if why is not None]
        return reasons.waits(stop.do.value, stop.version, whys) if whys else None

    def _table_hindrance(self, config: Config, stop: Stop, at: int) -> Text | None:
        held = tuple((node, version) for node, version, live in self._leases(config, at) if live)
        asks_locks = self.model.fence and not self.model.lacks(Broken.NO_LOCK)
        locked = tuple(sorted({t.use[at] for t in _open(config)})) if asks_locks else ()
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
                return None if self._has_lease(node) else reasons.no_lease(name)
            case ("begin",):
                return self._begin_hindrance(config, stop, name, node)
        if open_one is None:
            return reasons.is_not_open(name)
        match step[1:]:
            case ("rollback",):
                return None
            case ("end",):
                if not self.model.fence:
                    return reasons.NOT_LOCKED
                return reasons.is_live(name, self.words_of(open_one.use)) if _leased(node) else None
            case ("read", *_):
                return None if open_one.phase == BEGUN else reasons.has_read(name)
            case ("write", statement):
                return self._write_hindrance(config, stop, open_one, statement, HAS_READ)  # type: ignore[arg-type]
            case ("run", statement):
                return self._write_hindrance(config, stop, open_one, statement, BEGUN)  # type: ignore[arg-type]
            case ("commit",):
                if open_one.statement is None:
                    return reasons.has_not_written(name)
                return self._conflict(config, stop, open_one, open_one.statement)
        return reasons.NO_STEP

    def _begin_hindrance(self, config: Config, stop: Stop, name: str, node: Node) -> Reason | None:
        if config.nodes[self.names.index(NodeId(name))].transaction is not None:
            return reasons.is_open(name)
        if not config.operations:
            return reasons.ALL_USED
        if not all(self._is_usable(stop, at, held) for at, held in enumerate(node.held)):
            return reasons.no_lease(name)
        checks = self.model.fence and not self.model.lacks(Broken.NO_CHECK)
        for version, table in zip(node.use, stop.tables, strict=True):
            fence = table.accepted if checks else 0
            if rules.why_not_enter(version, fence=fence, newest_visible=table.newest) is rules.Refusal.BELOW_FENCE:
                return reasons.below_fence(version, fence)
        return None

    def _acquire_hindrance(self, stop: Stop, node: Node, name: str, at: int) -> Reason | None:
        newest = stop.tables[at].newest
        if not self._leasable(stop, at, newest):
            return reasons.not_leasable(newest)
        live = self.has_leases(stop, at, newest)
        return reasons.is_leased(name, newest, self.tables[at], live=live) if node.held[at] == (newest, live) else None

    def _is_usable(self, stop: Stop, at: int, held: Held) -> bool:
        """True if a node may use the version that it has: by a lease, or because there are none."""
        return bool(held.version) and (held.live or not self.has_leases(stop, at, held.version))

    def has_leases(self, stop: Stop, at: int, version: int) -> bool:
        """True if a version of a table is leased; without leases it is only loaded."""
        return self.effects.program.descriptor(stop, version, at).coordination.has_leases

    def table_at(self, which: Sequence[object]) -> int:
        """The table that a step names; where there is one only, none is named."""
        return self.tables.index(str(which[0])) if which else 0

    def _write_hindrance(
        self, config: Config, stop: Stop, open_one: Transaction, statement: Statement, phase: int
    ) -> Reason | None:
        if open_one.phase != phase or (phase == HAS_READ and row_of(statement) != open_one.row):
            return reasons.NOT_READ
        return self._conflict(config, stop, open_one, statement)

    def _conflict(self, config: Config, stop: Stop, open_one: Transaction, statement: Statement) -> Reason | None:
        """Why a statement cannot be committed as things are; the same at its write, where no later chance is lost."""
        effect = self._effect(config, stop, open_one, statement)
        if effect is None:
            return reasons.REFUSED
        return reasons.CONFLICT if effect.touched & open_one.dirty else None

    def _effect(self, config: Config, stop: Stop, open_one: Transaction, statement: Statement) -> Effect | None:
        schema = stop.schema(open_one.use)
        return self.effects.effect(config.contents, schema, statement, open_one.unseen, open_one.snapshot)

    def words_of(self, use: Use) -> Text:
        """The versions of a transaction: "version 2", or "child@2, parent@1"."""
        if len(use) == 1:
            return Text("version {version}", {"version": use[0]})
        return Text("{version}", {"version": version_words(use)})

    # What happens

    def after(self, config: Config, step: Step) -> tuple[Config, int]:
        """The state after a step that may be taken."""
        config = config._replace(given=False)
        if step[0] in self.names:
            return self._after_node(config, self.names.index(step[0]), step)  # type: ignore[arg-type]
        if step[0] == "given":
            given = self.effects.given(step[1:])
            assert given is not None, step
            return config._replace(contents=given), Seen.NOTHING
        if step[0] == "fill":
            return self._after_fill(config, step)
        stop = self.stops[config.stop]
        if step == ("cancel",):
            assert stop.cancel is not None
            return self._arrive(config, stop.cancel), Seen.CANCELLED
        contents, onward, seen = self.effects.act(config.stop, config.contents)
        written = self.effects.differing(config.contents, contents)
        config = config._replace(contents=contents, nodes=_unseen(config.nodes, written))
        return self._arrive(config, onward), seen

    def _arrive(self, config: Config, stop: int) -> Config:
        ranges = ranges_at(self.model, self.stops[stop].do, config.ranges)
        return config._replace(stop=stop, ranges=ranges)

    def _after_fill(self, config: Config, step: Step) -> tuple[Config, int]:
        for label, ranges, contents, crashes, seen in self._fill_steps(config):
            if label == step:
                nodes = _unseen(config.nodes, self.effects.differing(config.contents, contents))
                return config._replace(ranges=ranges, contents=contents, crashes=crashes, nodes=nodes), seen
        raise Impossible(f"{step_id(step)}: no worker is at this point")

    def _after_node(self, config: Config, at: int, step: Step) -> tuple[Config, int]:
        node, stop = config.nodes[at], self.stops[config.stop]
        open_one = node.transaction
        match step[1:]:
            case ("acquire", *which):
                return self._with(config, at, self._acquired(node, stop, self.table_at(which))), Seen.NOTHING
            case ("expire",):
                gone = None if open_one is None else open_one._replace(held=_over(open_one.held))
                return self._with(config, at, Node(_over(node.held), gone)), Seen.FROZEN
            case ("begin",):
                config = config._replace(operations=operations_left(config.operations))
                begun = Transaction(_over(node.held))
                if self.model.lacks(Broken.SNAPSHOT):
                    begun = begun._replace(snapshot=config.contents)
                return self._with(config, at, node._replace(transaction=begun)), Seen.NOTHING
        assert open_one is not None, step
        match step[1:]:
            case ("rollback",) | ("end",):
                return self._with(config, at, node._replace(transaction=None)), Seen.NOTHING
            case ("read", *row):
                has_read = open_one._replace(phase=HAS_READ, row=tuple(row))
                return self._with(config, at, node._replace(transaction=has_read)), Seen.NOTHING
            case ("write", statement):
                wrote = open_one._replace(phase=HAS_WRITTEN, statement=statement)  # type: ignore[arg-type]
                return self._with(config, at, node._replace(transaction=wrote)), Seen.NOTHING
        statement = step[2] if step[1] == "run" else open_one.statement
        return self._commit(config, at, open_one, statement)  # type: ignore[arg-type]

    def _acquired(self, node: Node, stop: Stop, at: int) -> Node:
        """The node with the newest version of a table. A transaction keeps the lease on the older one that it uses."""
        before, open_one, newest = node.held[at], node.transaction, stop.tables[at].newest
        if open_one is not None and open_one.held[at].version == before.version:
            pinned = (*open_one.held[:at], before, *open_one.held[at + 1 :])
            open_one = open_one._replace(held=pinned)
        held = Held(newest, live=self.has_leases(stop, at, newest))
        return Node((*node.held[:at], held, *node.held[at + 1 :]), open_one)

    def _commit(self, config: Config, at: int, open_one: Transaction, statement: Statement) -> tuple[Config, int]:
        stop = self.stops[config.stop]
        effect = self._effect(config, stop, open_one, statement)
        assert effect is not None
        nodes = tuple(
            node._replace(transaction=node.transaction._replace(dirty=node.transaction.dirty | effect.written))
            if node.transaction is not None and other != at
            else node
            for other, node in enumerate(config.nodes)
        )
        config = config._replace(contents=effect.after, nodes=nodes)
        behind = seen_of(stop, open_one.use)
        seen = effect.seen | behind if behind else Seen.NOTHING
        return self._with(config, at, nodes[at]._replace(transaction=None)), seen

    def _with(self, config: Config, at: int, node: Node) -> Config:
        return config._replace(nodes=(*config.nodes[:at], node, *config.nodes[at + 1 :]))

    # What is true

    def faults(self, config: Config) -> tuple[Fault, ...]:
        """The faults now, under every version in force: one the fence lets in (or, without it, leased)."""
        stop = self.stops[config.stop]
        in_force = tuple(self.in_force(config, at) for at in self._all)
        found = self.effects.faults(config.contents, in_force, stop.do is Do.END)
        return found or self.too_many_versions(config)

    def in_force(self, config: Config, at: int) -> tuple[int, ...]:
        """The places (in `Program.descriptors`) of a table's versions in force, oldest first."""
        table = self.stops[config.stop].tables[at]
        if self.model.fence and self.model.by_leases_alone:
            return table.in_force
        if self.model.fence:
            open_ones = {transaction.use[at] for transaction in _open(config)}
            used = (v for v in range(table.fence, table.newest + 1) if v >= table.accepted or v in open_ones)
            return tuple(table.schemas[version] for version in used)
        leased = {version for _, version, live in self._leases(config, at) if live}
        return tuple(table.schemas[version] for version in sorted({table.newest} | leased))

    def too_many_versions(self, config: Config) -> tuple[Fault, ...]:
        """The leases that break the limit of two versions, unless the model allows more."""
        stop = self.stops[config.stop]
        if self.model.versions > 2:
            return ()
        found = []
        for at, table in enumerate(stop.tables):
            leases = reasons.leases_of(tuple((n, v) for n, v, live in self._leases(config, at) if live))
            for lease in rules.outside_two_versions(leases, table=reasons.TABLE, newest=table.newest, now=0.0):
                why = f"{lease.node} leases version {lease.version} beside {table.newest}"
                found.append(Fault("two versions", lease.version, why))
        return tuple(found)

    def _leases(self, config: Config, at: int) -> Iterator[tuple[str, int, bool]]:
        """(node, version, live) of every lease on a table there is."""
        for name, node in zip(self.names, config.nodes, strict=True):
            held = node.held[at]
            if held.version:
                yield name, held.version, held.live
            if node.transaction is not None and node.transaction.held[at].version != held.version:
                yield name, *node.transaction.held[at]

    def _has_lease(self, node: Node) -> bool:
        older = () if node.transaction is None else node.transaction.held
        return any(held.live for held in (*node.held, *older))

    def _leasable(self, stop: Stop, at: int, version: int) -> bool:
        return rules.may_acquire(self.effects.program.descriptor(stop, version, at).state, internal=True)

    def _fill_steps(self, config: Config) -> Iterator[tuple[Step, Ranges, int, int, int]]:
        if config.ranges:
            yield from fill_steps(self.effects, self.stops[config.stop], config.ranges, config.contents, config.crashes)


def sorted_nodes(config: Config) -> Config:
    """The same state with nodes in an order of their own: they are alike, so one order stands for all."""
    return config._replace(nodes=tuple(sorted(config.nodes, key=_node_order)))


def _node_order(node: Node) -> tuple[object, ...]:
    t = node.transaction
    statement = () if t is None else t.statement or ()
    snapshot = -1 if t is None or t.snapshot is None else t.snapshot
    held = () if t is None else (t.held, t.phase, tuple(map(str, t.row)), statement, t.dirty, t.unseen, snapshot)
    return node.held, held


def _open(config: Config) -> list[Transaction]:
    return [node.transaction for node in config.nodes if node.transaction is not None]


def _leased(node: Node) -> bool:
    """True if the lease is live that a node's transaction uses."""
    open_one = node.transaction
    assert open_one is not None
    pairs = zip(node.held, open_one.held, strict=True)
    return all(now.live if now.version == pinned.version else pinned.live for now, pinned in pairs)


def _over(held: tuple[Held, ...]) -> tuple[Held, ...]:
    """The same versions, their leases over, or told elsewhere."""
    return tuple(Held(version, live=False) for version, _ in held)


def version_words(use: Use) -> str:
    """ "v2", or the version of each table: "child@2, parent@1"."""
    if len(use) == 1:
        return f"v{use[0]}"
    return ", ".join(f"{name}@{version}" for name, version in zip(NAMES, use, strict=True))


def _unseen(nodes: tuple[Node, ...], written: int) -> tuple[Node, ...]:
    """A reorganisation wrote these slots: open transactions do not see it."""
    if not written:
        return nodes
    return tuple(
        node
        if node.transaction is None
        else node._replace(transaction=node.transaction._replace(unseen=node.transaction.unseen | written))
        for node in nodes
    )
