"""The actions on live nodes that a session on a model becomes, or why it cannot be replayed.

n1.begin under v2, and v2 is the newest   the node begins a transaction, once it uses v2
n1.begin under v1, and v2 is out          two ways to have it use v1 still:
    pin    its transaction begins before v2 is published and waits: its snapshot is older, so no row that it
           touches may have been written by then (the missing entry)
    lag    the node is made to lease v1, no news is sent, and all is done before its next heartbeat tells it of
           v2 (the orphan: it must see what was written under v2)
publish.3                                 published past the rules, on a sandbox
drain, clear, close, purge, fill          nothing, where it changes nothing; else the session cannot be replayed:
                                          fills and deletions exist on the cluster as they must be, never careless
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from catalog.descriptor import Descriptor
from catalog.elements import IndexId
from lab.explorer.contents.statements import DELETE, INSERT, MOVE, NO_VALUE, UPDATE, Statement
from lab.explorer.model import Model
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from lab.replays import actions
from lab.replays.actions import Narrated, Script
from lab.sessions.model_session import Machine, Position, machine_of
from lab.sessions.model_setups import model_of
from lab.sessions.session import Session
from lab.sessions.setup import MODEL
from lab.sessions.setups import setup_named
from lab.texts import Text, Values

TRANSACTIONS_MAX, NODES_MAX = 40, 3
NO_ROW = "-"


class NotReplayable(Exception):
    """The session cannot be carried out on live nodes; says what in it, and why."""

    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def translated(session: Session) -> Script:
    """The actions of a session. Raises `NotReplayable`, `BadSession`."""
    machine, rows = machine_for(session)
    with machine.lock:
        positions, _, refused = machine.follow(session.steps)
        if refused is not None:
            raise NotReplayable(Text("step {step} is not possible: {why}", {"step": refused.step, "why": refused.why}))
        steps = [position.taken[name].step for position, name in zip(positions, session.steps, strict=False)]
    return _Translation(machine.plain, positions, steps, rows).script()


def machine_for(session: Session) -> tuple[Machine, tuple[str | int, ...]]:
    """The machine of a session that may be replayed, and its first rows. Raises `NotReplayable`, `BadSession`."""
    setup = setup_named(session.setup)
    if setup.kind != MODEL:
        raise NotReplayable(Text("this is no session on a model: its clock and its messages are its own"))
    model, rows = model_of(setup, session)
    _check_model(model)
    return machine_of(model, rows), rows


def _check_model(model: Model) -> None:
    if len(model.kinds) != 1 or not model.kind.is_index or model.partial or model.apart:
        raise NotReplayable(Text("a sandbox is a table t (id, a): only an index over a can be replayed on it"))
    if model.pair:
        raise NotReplayable(Text("two versions side by side are no trace of a change"))
    if model.nodes > NODES_MAX:
        raise NotReplayable(Text("the cluster has fewer nodes than this model"))


def on_sandbox(table: Descriptor, sandbox: Descriptor, version: int) -> Descriptor:
    """Version `version` of the model's table as one of a sandbox, which had none of its indexes at `sandbox`."""
    indexes = tuple(replace(one, name=f"{one.name}_{sandbox.table_id}") for one in table.indexes)
    following = IndexId(max((one.id for one in indexes), default=0) + 1)
    return replace(
        sandbox,
        version=sandbox.version + version,
        indexes=indexes,
        next_index_id=max(following, sandbox.next_index_id),
    )


@dataclass(slots=True)
class _Transaction:
    """A transaction of the trace: where it begins and ends, and the row that it is about."""

    number: int
    node: str
    version: int
    begins: int
    row: object = None
    committed: int | None = None


class _Translation:
    def __init__(
        self, plain: Plain, positions: Sequence[Position], steps: Sequence[Step], rows: Sequence[str | int]
    ) -> None:
        self.plain, self.positions, self.steps, self.rows = plain, positions, steps, rows
        self.transactions = self._transactions()
        self.published = {step[1]: at for at, step in enumerate(steps) if step[0] == "publish"}
        self.pinned = [one for one in self.transactions if self._is_late(one) and self._may_pin(one)]
        self.lagging = [one for one in self.transactions if self._is_late(one) and one not in self.pinned]

    def script(self) -> Script:
        if len(self.transactions) > TRANSACTIONS_MAX:
            raise NotReplayable(Text("a replay has at most {most} transactions", {"most": TRANSACTIONS_MAX}))
        narrated = tuple(self._all())
        return Script(narrated, tuple(map(str, self.plain.names)), lags=bool(self.lagging))

    # What the trace holds

    def _transactions(self) -> list[_Transaction]:
        found: list[_Transaction] = []
        opened: dict[object, _Transaction] = {}
        for at, step in enumerate(self.steps):
            node = step[0]
            match step[1:]:
                case ("begin",):
                    version = self.positions[at].config.nodes[self.plain.names.index(node)].use[0]  # type: ignore[arg-type]
                    opened[node] = _Transaction(len(found) + 1, str(node), version, at)
                    found.append(opened[node])
                case ("read", row) if node in opened:
                    opened[node].row = row
                case ("commit",):
                    opened.pop(node).committed = at
                case ("rollback",):
                    opened.pop(node)
        return found

    def _is_late(self, one: _Transaction) -> bool:
        """It begins under a version that is not the newest any more."""
        return one.version < self.positions[one.begins].newest

    def _may_pin(self, one: _Transaction) -> bool:
        """A snapshot from before the next version would show it the same: nobody has written its row since."""
        since = self.published[one.version + 1]
        return not any(
            other.row == one.row and other.committed is not None and since < other.committed < one.begins
            for other in self.transactions
        )

    # What it becomes

    def _all(self) -> Iterator[Narrated]:
        first = self.plain.effects.program.descriptors[self.plain.stops[0].tables[0].schemas[1]]
        if first.indexes:
            yield Narrated(actions.Publish(1, first), Text("v1 of the model is published, with its index"))
        rows = tuple((number, value) for number, value in enumerate(self.rows, 1) if value != NO_ROW)
        if rows:
            yield self._given(rows)
        for at, step in enumerate(self.steps):
            yield from self._step(at, step)

    def _given(self, rows: Sequence[tuple[int, str | int]]) -> Narrated:
        values = tuple((row, int(value) or None) for row, value in rows)
        return Narrated(actions.Given(values), Text("the first rows are inserted"))

    def _step(self, at: int, step: Step) -> Iterator[Narrated]:
        if step[0] in self.plain.names:
            yield from self._node_step(at, str(step[0]), step)
        elif step[0] == "given":
            rows = [(number, value) for number, value in enumerate(step[1:], 1) if value != NO_ROW]
            yield self._given(rows)  # type: ignore[arg-type]
        elif step[0] == "publish":
            yield from self._publish(at, int(step[1]))  # type: ignore[call-overload]
        elif step[0] == "cancel":
            raise NotReplayable(Text("a cancel rolls a real change back; this executor only publishes"))
        elif self.positions[at].config.contents != self.positions[at + 1].config.contents:
            raise NotReplayable(_reorganises(step))

    def _publish(self, at: int, version: int) -> Iterator[Narrated]:
        stop = self.plain.stops[self.positions[at].config.stop]
        for one in self.pinned:
            if one.version + 1 == version:
                values: Values = {"node": one.node, "version": one.version}
                text = Text("{node} begins a transaction under v{version}, and keeps it open", values)
                yield Narrated(actions.Begin(one.number, one.node, one.version), text)
        lagging = dict.fromkeys(one.node for one in self.lagging if one.version + 1 == version)
        for node in lagging:
            yield Narrated(actions.Warm(node), Text("{node} leases v{version}", {"node": node, "version": version - 1}))
        for node in lagging:
            yield Narrated(actions.AfterHeartbeat(node), Text("{node} has just asked for news", {"node": node}))
        table = self.plain.effects.program.descriptors[stop.published[0]]
        text = Text("v{version} is published, and nobody is waited for", {"version": version})
        yield Narrated(actions.Publish(version, table), text)

    def _node_step(self, at: int, node: str, step: Step) -> Iterator[Narrated]:
        match step[1:]:
            case ("acquire",) | ("read", *_):
                return
            case ("begin",):
                one = self._at(node, at)
                if one in self.pinned:
                    return
                values: Values = {"node": node, "version": one.version}
                if one not in self.lagging:
                    yield Narrated(actions.Use(node, one.version), Text("{node} comes to use v{version}", values))
                text = Text("{node} begins a transaction under v{version}", values)
                yield Narrated(actions.Begin(one.number, node, one.version), text)
            case ("write", statement):
                sql = statement_sql(statement)  # type: ignore[arg-type]
                text = Text("{node}: {sql}", {"node": node, "sql": sql})
                yield Narrated(actions.Run(self._at(node, at).number, sql), text)
            case ("commit",):
                yield Narrated(
                    actions.End(self._at(node, at).number, commits=True), Text("{node} commits", {"node": node})
                )
            case ("rollback",):
                text = Text("{node} rolls back", {"node": node})
                yield Narrated(actions.End(self._at(node, at).number, commits=False), text)
            case _:
                raise NotReplayable(
                    Text("{node} freezes until its lease runs out: others use the nodes, too", {"node": node})
                )

    def _at(self, node: str, at: int) -> _Transaction:
        """The transaction that the node has open at a step, or begins with it."""
        return max((one for one in self.transactions if one.node == node and one.begins <= at), key=lambda o: o.begins)


def _reorganises(step: Step) -> Text:
    if step[0] == "fill" or step[0] == "clear":
        return Text("the fill puts pairs here: it runs as one whole on the cluster, and never carelessly")
    return Text("{act} changes pairs here: on the cluster only a real change does that", {"act": str(step[0])})


def statement_sql(statement: Statement) -> str:
    """A statement of the model as SQL on the table t (id, a)."""
    what, row, value = statement
    shown = "NULL" if value == 0 else str(value)
    if what == INSERT:
        return f"INSERT INTO t (id) VALUES ({row})" if value == NO_VALUE else f"INSERT INTO t VALUES ({row}, {shown})"
    if what == UPDATE:
        return f"UPDATE t SET a = {shown} WHERE id = {row}"
    if what == MOVE:
        return f"UPDATE t SET id = {value} WHERE id = {row}"
    assert what == DELETE, statement
    return f"DELETE FROM t WHERE id = {row}"
