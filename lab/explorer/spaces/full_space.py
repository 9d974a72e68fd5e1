"""One world step by step: leases, open transactions, and the steps of nodes, executor and fill; for exploring,
replaying a link and the stage. With two tables a node leases each by itself. A transaction pins both when it begins: a
version pinned later could be no newer (T3), and an older one it might have had before."""

from collections.abc import Iterator

from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Fault, Occurrence, third_version
from lab.explorer.contents.statements import Statement, row_of
from lab.explorer.plans.program import Do, Stop
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces import reasons
from lab.explorer.spaces.config import (
    BEGUN,
    HAS_PINNED,
    HAS_READ,
    HAS_SNAPSHOT,
    HAS_WRITTEN,
    NOTHING_HELD,
    Config,
    Impossible,
    Node,
    NodeLease,
    Transaction,
    step_id,
)
from lab.explorer.spaces.fill import NO_RANGES, Step
from lab.explorer.spaces.hindrances import Hindrances, entered_transactions
from lab.explorer.spaces.reasons import Reason
from lab.explorer.spaces.reduced_space import act_step, operations_left, ranges_at, seen_of
from leases import rules


class Plain(Hindrances):
    """With `fused`, a transaction reads, writes and commits in one step, perhaps after its lease expired."""

    def __init__(self, effects: Effects, *, fused: bool = False) -> None:
        super().__init__(effects)
        self.fused, self.statements = fused, effects.statements
        self.rows = tuple(dict.fromkeys(row_of(statement) for statement in self.statements))

    def apart(self) -> "Plain":
        """The same model with transactions taken apart."""
        return Plain(self.effects)

    # States

    def start(self) -> Config:
        """Every node leases the first version, without rows; `given` may choose them."""
        stop = int(self.model.pair)
        node = Node(tuple(self._first_held(self.stops[stop], at) for at in self._all))
        empty = self.effects.empty()
        return Config(
            stop, empty, (node,) * self.model.nodes, NO_RANGES, self.model.crashes, self.model.operations, given=True
        )

    def _first_held(self, stop: Stop, at: int) -> NodeLease:
        if not self._leasable(stop, at, 1):
            return NOTHING_HELD
        return NodeLease(1, live=self.has_leases(stop, at, 1))

    def first(self) -> list[Config]:
        begun = self.start()._replace(given=False)
        return [begun._replace(contents=contents) for contents in self.effects.first_contents()]

    def steps(self, config: Config) -> Iterator[tuple[Step, Config, int]]:
        for step in self.candidates(config):
            if not self.hindrance(config, step):
                after, seen = self.after(config, step)
                yield step, after, seen

    def candidates(self, config: Config) -> Iterator[Step]:
        """The steps that some state offers, except those out of place here (a read without begin)."""
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
        """All candidates, each with the reason why it cannot be taken (None: it can)."""
        return [(step, self.why_not(config, step)) for step in self.candidates(config)]

    def lease_steps(self, name: str) -> Iterator[Step]:
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
        if open_one.phase == HAS_SNAPSHOT:
            yield name, "pin"
        elif open_one.phase == HAS_PINNED:
            yield name, "enter"
        elif self.fused:
            yield from ((name, "run", statement) for statement in self.statements)
        elif open_one.phase == BEGUN:
            yield from ((name, "read", *row) for row in self.rows)
        elif open_one.phase == HAS_READ:
            yield from ((name, "write", s) for s in self.statements if row_of(s) == open_one.row)
        else:
            yield name, "commit"

    # What happens

    def after(self, config: Config, step: Step) -> tuple[Config, int]:
        config = config._replace(given=False)
        if step[0] in self.names:
            return self._after_node(config, self.names.index(step[0]), step)  # type: ignore[arg-type]
        if step[0] == "given":
            given = self.effects.given(step[1:])
            assert given is not None, step
            return config._replace(contents=given), Occurrence.NOTHING
        if step[0] == "fill":
            return self._after_fill(config, step)
        stop = self.stops[config.stop]
        if step == ("cancel",):
            assert stop.cancel is not None
            return self._arrive(config, stop.cancel), Occurrence.CANCELLED
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
                return self._with(config, at, self._acquired(node, stop, self.table_at(which))), Occurrence.NOTHING
            case ("expire",):
                gone = None if open_one is None else open_one._replace(held=_over(open_one.held))
                return self._with(config, at, Node(_over(node.held), gone)), Occurrence.FROZEN
            case ("begin",):
                config = config._replace(operations=operations_left(config.operations))
                begun = self._begun(node, stop)
                if self.model.lacks(Broken.SNAPSHOT):
                    begun = begun._replace(snapshot=config.contents)
                return self._with(config, at, node._replace(transaction=begun)), Occurrence.NOTHING
        assert open_one is not None, step
        match step[1:]:
            case ("rollback",) | ("end",):
                return self._with(config, at, node._replace(transaction=None)), Occurrence.NOTHING
            case ("pin",):
                pinned = open_one._replace(held=_over(node.held), phase=HAS_PINNED)
                return self._with(config, at, node._replace(transaction=pinned)), Occurrence.NOTHING
            case ("enter",):
                entered = open_one._replace(phase=BEGUN, newest=0, fence=0)
                return self._with(config, at, node._replace(transaction=entered)), Occurrence.NOTHING
            case ("read", *row):
                has_read = open_one._replace(phase=HAS_READ, row=tuple(row))
                return self._with(config, at, node._replace(transaction=has_read)), Occurrence.NOTHING
            case ("write", statement):
                wrote = open_one._replace(phase=HAS_WRITTEN, statement=statement)  # type: ignore[arg-type]
                return self._with(config, at, node._replace(transaction=wrote)), Occurrence.NOTHING
        statement = step[2] if step[1] == "run" else open_one.statement
        return self._commit(config, at, open_one, statement)  # type: ignore[arg-type]

    def _begun(self, node: Node, stop: Stop) -> Transaction:
        """A transaction that enters late has a snapshot and no version yet."""
        if not self.model.late_enter:
            return Transaction(_over(node.held))
        table = stop.tables[0]
        fence = table.fence if self.model.lacks(Broken.STALE_FENCE) else 0
        return Transaction((NOTHING_HELD,), HAS_SNAPSHOT, newest=table.newest, fence=fence)

    def _acquired(self, node: Node, stop: Stop, at: int) -> Node:
        """A transaction keeps the lease on the older version that it uses."""
        before, open_one, newest = node.held[at], node.transaction, stop.tables[at].newest
        if open_one is not None and open_one.held[at].version == before.version:
            pinned = (*open_one.held[:at], before, *open_one.held[at + 1 :])
            open_one = open_one._replace(held=pinned)
        held = NodeLease(newest, live=self.has_leases(stop, at, newest))
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
        seen = effect.seen | behind if behind else Occurrence.NOTHING
        return self._with(config, at, nodes[at]._replace(transaction=None)), seen

    def _with(self, config: Config, at: int, node: Node) -> Config:
        return config._replace(nodes=(*config.nodes[:at], node, *config.nodes[at + 1 :]))

    # What is true

    def faults(self, config: Config) -> tuple[Fault, ...]:
        """The faults under every version in force: one above the fence (or, without it, leased)."""
        stop = self.stops[config.stop]
        in_force = tuple(self.in_force(config, at) for at in self._all)
        found = self.effects.faults(config.contents, in_force, stop.do is Do.END)
        return found or self.too_many_versions(config)

    def in_force(self, config: Config, at: int) -> tuple[int, ...]:
        table = self.stops[config.stop].tables[at]
        if self.model.fence and self.model.by_leases_alone:
            return table.in_force
        if self.model.fence:
            open_ones = {transaction.use[at] for transaction in entered_transactions(config)}
            used = (v for v in range(table.fence, table.newest + 1) if v >= table.accepted or v in open_ones)
            return tuple(table.schemas[version] for version in used)
        leased = {version for _, version, live in self._leases(config, at) if live}
        return tuple(table.schemas[version] for version in sorted({table.newest} | leased))

    def too_many_versions(self, config: Config) -> tuple[Fault, ...]:
        stop = self.stops[config.stop]
        if self.model.versions > 2:
            return ()
        found = []
        for at, table in enumerate(stop.tables):
            leases = reasons.leases_of(tuple((n, v) for n, v, live in self._leases(config, at) if live))
            outside = rules.outside_two_versions(leases, table=reasons.TABLE, newest=table.newest, now=0.0)
            found += [third_version(lease.node, lease.version, table.newest) for lease in outside]
        return tuple(found)


def _over(held: tuple[NodeLease, ...]) -> tuple[NodeLease, ...]:
    return tuple(NodeLease(version, live=False) for version, _ in held)


def _unseen(nodes: tuple[Node, ...], written: int) -> tuple[Node, ...]:
    if not written:
        return nodes
    return tuple(
        node
        if node.transaction is None
        else node._replace(transaction=node.transaction._replace(unseen=node.transaction.unseen | written))
        for node in nodes
    )
