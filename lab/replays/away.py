"""A session on the lab's cluster in which a node dies, freezes or is drained, as real processes beside a real change.

    nodes lease v1 ── n1 dies ── submit ── v2 at once ── v3 waits for the lease of n1 ── v3 ── .. ── n1 is started

crash, start, freeze, thaw, drain    the same to a real process, by the product's own commands
step                                 the change goes on by itself: it is waited for where it has published, or waits
s pass                               how long a wait takes is for the cluster's own leases to say: where the lease of a
                                     node that is away ends, its real one is waited for
messages held or lost                refused: all tables' news go the same way

While n1 is away the change waits at v2, so what comes between v2 and v3 has its moment; later nothing keeps it. A
transaction that is open in the end tries to commit when the change has gone on without its node.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lab.replays import actions
from lab.replays.actions import PUBLIC, Narrated, Script
from lab.replays.trace import NotReplayable
from lab.scripts.commands_of import perform
from lab.sessions.session import Session
from lab.sessions.setups import setup_named
from lab.sessions.world import session as world_session
from lab.sessions.world.cluster import T
from lab.sessions.world.session import Position
from lab.sessions.world.setups import SCENERY
from lab.texts import Text, Values

NODES = ("n1", "n2")
FROZEN = "frozen-node"
LINE = re.compile(r"(n\d): (.+)")
INSERT = "INSERT INTO t VALUES (1, 1)"
STATEMENTS = {"insert t (1, 1)": INSERT, "delete t (1)": "DELETE FROM t WHERE id = 1"}
PROCESS = {
    "crash": ("kill", Text("the process of {node} is killed")),
    "start": ("start", Text("the process of {node} is started again")),
    "freeze": ("freeze", Text("the process of {node} is frozen")),
    "thaw": ("thaw", Text("the process of {node} is thawed")),
    "drain": ("drain", Text("{node} is drained: it gives its leases back")),
}
MESSAGES = ("hold", "deliver", "deliver last", "lose", "flush")
NEWS = Text("messages of the cluster are neither held nor lost for a replay: all tables' news go one way")
BACK = {"kill": "start", "freeze": "thaw"}


def script(session: Session) -> Script:
    """The actions of a session on the lab's cluster. Raises `NotReplayable`, `BadSession`."""
    if session.left_out:
        rules = ", ".join(sorted(session.left_out))
        raise NotReplayable(Text("it leaves out {rules}: the nodes of the cluster keep every rule", {"rules": rules}))
    positions, refused = world_session.followed(setup_named(session.setup), session)
    if refused is not None:
        raise NotReplayable(Text("step {step} is not possible: {why}", {"step": refused.step, "why": refused.why}))
    translation = _Translation(session.setup, positions)
    narrated = (*translation.begin(), *translation.middle(session.steps), *translation.end())
    return Script(narrated, NODES, ends=PUBLIC if translation.is_submitted else "")


@dataclass(slots=True)
class _Translation:
    """`away` are nodes that have been killed or frozen, each with the command that brings it back."""

    setup: str
    positions: list[Position]
    away: dict[str, str] = field(default_factory=dict)
    transactions: int = 0
    open_one: int = 0
    is_submitted: bool = False
    is_over: bool = False
    leaseless: set[str] = field(default_factory=set)
    """Nodes whose lease ended while they were away, since the change was submitted."""

    def begin(self) -> Iterator[Narrated]:
        """The scene before a session begins: leases, and on n1 a transaction."""
        for node in NODES:
            if self.setup != FROZEN or node != "n1":
                yield Narrated(actions.Warm(node), Text("{node} leases v{version}", {"node": node, "version": 1}))
        if self.setup == FROZEN:
            self.transactions = self.open_one = 1
            text = Text("{node} begins a transaction under v{version}", {"node": "n1", "version": 1})
            yield Narrated(actions.Begin(1, "n1", 1), text)
            yield Narrated(actions.Run(1, INSERT), Text("{node}: {sql}", {"node": "n1", "sql": INSERT}))

    def middle(self, steps: tuple[str, ...]) -> Iterator[Narrated]:
        for at, step in enumerate(steps):
            line = LINE.fullmatch(step)
            if step == "step":
                yield from self._step(at)
            elif line is not None:
                yield from self._line(at, line[1], line[2])
            elif step.startswith("tick "):
                yield from self._pass(at)
            else:
                raise NotReplayable(NEWS)

    def end(self) -> Iterator[Narrated]:
        """The change goes on to its end, nodes come back, and a transaction that is open tries to commit."""
        yield from self._finish()
        for node, command in self.away.items():
            values = {"node": node}
            text = PROCESS[command][1]
            yield Narrated(actions.Process(command, node), Text(text.template, values))
        if self.open_one:
            lines = {line.text: line for line in SCENERY[self.setup].palette}
            is_frozen = self.away.get("n1") == "thaw"
            why = world_session.refusal(self.positions[-1], lines["n1: late commit" if is_frozen else "n1: commit"])
            late = actions.LateCommit(self.open_one, is_refused=bool(why.template))
            text = Text("{node} tries to commit, and is refused") if why.template else Text("{node} commits")
            yield Narrated(late, Text(text.template, {"node": "n1"}))

    def _step(self, at: int) -> Iterator[Narrated]:
        before, after = self.positions[at], self.positions[at + 1]
        if self.is_over:
            return
        if not self.is_submitted:
            self.is_submitted = True
            yield Narrated(actions.Submit(unique=False), Text("the change is submitted, as any other"))
        if after.newest == before.newest or after.newest > 3:
            return
        version = after.newest
        yield Narrated(actions.Await(version), Text("it publishes v{version}, by the rules", {"version": version}))
        if version == 2 and self.away:
            node, waits = next(iter(self.away)), _waits(after)
            text = (
                Text("it waits for {node}, whose lease is not over")
                if waits
                else Text("it waits for no lease of {node}")
            )
            yield Narrated(actions.Blocked(node, waits=waits), Text(text.template, {"node": node}))

    def _pass(self, at: int) -> Iterator[Narrated]:
        """A change that is on its way waits for the lease itself."""
        before, after = (_leasing(self.positions[number]) for number in (at, at + 1))
        for node in self.away:
            if node not in before - after:
                continue
            if self.is_submitted:
                self.leaseless.add(node)
            else:
                yield Narrated(actions.LeaseOver(node), Text("the lease of {node} is over", {"node": node}))

    def _line(self, at: int, node: str, what: str) -> Iterator[Narrated]:
        if what in PROCESS:
            yield from self._process(at, node, what)
        elif what in ("commit", "rollback") and self.open_one:
            yield from self._ends(node, commits=what == "commit")
        elif what in STATEMENTS and not self.is_submitted:
            yield from self._statement(node, STATEMENTS[what])
        elif what in STATEMENTS:
            raise NotReplayable(
                Text("{node} writes while the change is on its way: it does not wait for that", {"node": node})
            )
        elif not what.startswith("select"):
            raise NotReplayable(
                NEWS
                if what in MESSAGES
                else Text("{step} has no moment of its own on the cluster", {"step": f"{node}: {what}"})
            )

    def _process(self, at: int, node: str, what: str) -> Iterator[Narrated]:
        command, text = PROCESS[what]
        if self.is_submitted and not (self.away or self.open_one):
            raise NotReplayable(
                Text("{node} goes away while the change is on its way: it does not wait for that", {"node": node})
            )
        if command == "thaw" and (self.positions[at].newest > 2 or node in self.leaseless):
            yield from self._finish()
        if command in BACK:
            self.away[node] = BACK[command]
        elif command != "drain":
            self.away.pop(node, None)
        yield Narrated(actions.Process(command, node), Text(text.template, {"node": node}))

    def _ends(self, node: str, *, commits: bool) -> Iterator[Narrated]:
        number, self.open_one = self.open_one, 0
        text = Text("{node} commits") if commits else Text("{node} rolls back")
        yield Narrated(actions.End(number, commits=commits), Text(text.template, {"node": node}))

    def _statement(self, node: str, sql: str) -> Iterator[Narrated]:
        self.transactions += 1
        number = self.transactions
        values: Values = {"node": node, "version": 1, "sql": sql}
        text = Text("{node} begins a transaction under v{version}", values)
        yield Narrated(actions.Begin(number, node, 1), text)
        yield Narrated(actions.Run(number, sql), Text("{node}: {sql}", values))
        yield Narrated(actions.End(number, commits=True), Text("{node} commits", values))

    def _finish(self) -> Iterator[Narrated]:
        if self.is_submitted and not self.is_over:
            self.is_over = True
            yield Narrated(actions.Finish(), Text("the change goes on to its end"))


def _leasing(position: Position) -> set[str]:
    """The nodes that have a live lease on the table."""
    world = position.lab().world
    return {lease.node for lease in world.control.live(T, world.now)}


def _waits(position: Position) -> bool:
    """True if the change cannot go on yet."""
    return any(line.startswith("waits:") for line in perform(position.lab(), "step"))
