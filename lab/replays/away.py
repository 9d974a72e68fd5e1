"""A session on the lab's cluster in which a node dies, freezes, is drained or hears no news, beside a real change.

The product's own commands do the same to a real process, and the change goes on by itself: the replay waits for its
publish, or its wait. Withheld are the news of the sandbox; other messages of a waiting node are refused. While a node
is away, or has not heard, the change waits, so later steps have their moment. A transaction that is open in the end
tries to commit after the change has gone on without its node.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from catalog.text.message import Text, Values, names_listed
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
from leases.gossip import News
from leases.node.vocabulary import Unpin

NODES = ("n1", "n2")
FROZEN, ROUTER = "frozen-node", "router"
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
OTHER_MESSAGES = Text("other messages of {node} wait, too: only news can be held or lost on the cluster")
BACK = {"kill": "start", "freeze": "thaw"}


def script(session: Session) -> Script:
    if session.setup == ROUTER:
        raise NotReplayable(Text("requests of routers are not replayed: the console draws the way of real ones"))
    if session.left_out:
        rules = names_listed(sorted(session.left_out))
        raise NotReplayable(Text("it leaves out {rules}: the nodes of the cluster keep every rule", {"rules": rules}))
    positions, refused = world_session.followed(setup_named(session.setup), session)
    if refused is not None:
        raise NotReplayable(Text("step {step} is not possible: {why}", {"step": refused.label, "why": refused.why}))
    translation = _Translation(session.setup, positions)
    narrated = (*translation.begin(), *translation.middle(session.steps), *translation.end())
    return Script(narrated, NODES, lags=translation.lags, ends=PUBLIC if translation.is_submitted else "")


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

    unheard: dict[str, None] = field(default_factory=dict)
    missed: set[str] = field(default_factory=set)
    """Those of them to which a message was lost: it does not come when their messages go on."""

    lags: bool = False
    """A node is to use an older version although it could have learnt of the newer one."""

    def begin(self) -> Iterator[Narrated]:
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
            elif step == "lose news":
                yield from self._withhold(at, NODES, Text("from now on news of the table is lost"))
            else:
                assert step == "spread news", step
                world = self.positions[at].lab().world
                yield from self._spread([node for node in self.unheard if not world.node(node).holds_messages])
            self._check_other_messages(at + 1)

    def end(self) -> Iterator[Narrated]:
        """The change goes on to its end, nodes come back, and an open transaction tries to commit."""
        yield from self._spread(list(self.unheard))
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
        behind = self._behind(at + 1)
        if after.newest == before.newest or (after.newest > 3 and not behind):
            return
        version = after.newest
        yield Narrated(actions.Await(version), Text("it publishes v{version}, by the rules", {"version": version}))
        for node, used in behind.items():
            self.lags = True
            text = Text("{node} has not heard of it, and uses v{version}", {"node": node, "version": used})
            yield Narrated(actions.Still(node, used), text)
        waited_for = next(iter(behind), "") or (next(iter(self.away), "") if version == 2 else "")
        if waited_for:
            waits = any(line.startswith("waits:") for line in perform(after.lab(), "step"))
            text = (
                Text("it waits for {node}, whose lease is not over")
                if waits
                else Text("it waits for no lease of {node}")
            )
            blocked = actions.Blocked(waited_for, waits=waits)
            yield Narrated(blocked, Text(text.template, {"node": waited_for}))

    def _pass(self, at: int) -> Iterator[Narrated]:
        before, after = (_leasing(self.positions[number]) for number in (at, at + 1))
        for node in self.away:
            if node not in before - after:
                continue
            if self.is_submitted:
                self.leaseless.add(node)
            else:
                yield Narrated(actions.LeaseOver(node), Text("the lease of {node} is over", {"node": node}))
        used = self._used(at + 1)
        for node in self.unheard:
            if used[node] > self._used(at)[node]:
                values: Values = {"node": node, "version": used[node]}
                yield Narrated(
                    actions.Learn(node, used[node]), Text("{node} learns of v{version} as it renews", values)
                )

    def _line(self, at: int, node: str, what: str) -> Iterator[Narrated]:
        if what in PROCESS:
            yield from self._process(at, node, what)
        elif what in ("commit", "rollback") and self.open_one:
            commits = what == "commit"
            number, self.open_one = self.open_one, 0
            text = Text("{node} commits") if commits else Text("{node} rolls back")
            yield Narrated(actions.End(number, commits=commits), Text(text.template, {"node": node}))
        elif what in STATEMENTS and (not self.is_submitted or self._behind(at)):
            yield from self._statement(at, node, STATEMENTS[what])
        elif what in STATEMENTS:
            raise NotReplayable(
                Text("{node} writes while the change is on its way: it does not wait for that", {"node": node})
            )
        elif what == "hold":
            yield from self._withhold(at, (node,), Text("news of the table waits, and does not reach {node}"))
        elif what in ("deliver", "deliver last", "lose"):
            yield from self._message(at, node, what)
        elif what == "flush":
            yield from self._spread([node] if node in self.unheard and node not in self.missed else [])
        elif not what.startswith("select"):
            raise NotReplayable(Text("{step} has no moment of its own on the cluster", {"step": f"{node}: {what}"}))

    # News

    def _withhold(self, at: int, nodes: tuple[str, ...], text: Text) -> Iterator[Narrated]:
        if self.is_submitted and not self._behind(at):
            raise NotReplayable(Text("news stays out while the change is on its way: it does not wait for that"))
        new = tuple(node for node in nodes if node not in self.unheard)
        self.unheard |= dict.fromkeys(new)
        if new:
            yield Narrated(actions.Withhold(new), Text(text.template, {"node": names_listed(new)}))

    def _spread(self, nodes: list[str]) -> Iterator[Narrated]:
        for node in nodes:
            del self.unheard[node]
        if nodes:
            text = Text("news of the table is sent to {nodes} again", {"nodes": names_listed(nodes)})
            yield Narrated(actions.Spread(tuple(nodes)), text)

    def _message(self, at: int, node: str, what: str) -> Iterator[Narrated]:
        """One message of a node that waits: its consequences follow by themselves on the cluster."""
        waiting = _messages(self.positions[at], node)
        message = waiting[-1 if what == "deliver last" else 0]
        if not isinstance(message, News) or node not in self.unheard:
            return
        if what == "lose":
            self.missed.add(node)
            return
        del self.unheard[node]
        values: Values = {"node": node, "version": message.version}
        yield Narrated(actions.Spread((node,)), Text("{node} hears of v{version}", values))

    def _check_other_messages(self, at: int) -> None:
        """Raises `NotReplayable` if more than news waits for a node; the end of a use may."""
        for node in self.unheard:
            if any(not isinstance(message, News | Unpin) for message in _messages(self.positions[at], node)):
                raise NotReplayable(Text(OTHER_MESSAGES.template, {"node": node}))

    def _used(self, at: int) -> dict[str, int]:
        world = self.positions[at].lab().world
        return {node: world.node(node).leases.table(T).newest_version for node in NODES}

    def _behind(self, at: int) -> dict[str, int]:
        used, newest = self._used(at), self.positions[at].newest
        return {node: used[node] for node in self.unheard if used[node] < newest}

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

    def _statement(self, at: int, node: str, sql: str) -> Iterator[Narrated]:
        self.transactions += 1
        number, version = self.transactions, self._used(at)[node]
        values: Values = {"node": node, "version": version, "sql": sql}
        if self.is_submitted and node not in self.unheard:
            yield Narrated(actions.Use(node, version), Text("{node} comes to use v{version}", values))
        text = Text("{node} begins a transaction under v{version}", values)
        yield Narrated(actions.Begin(number, node, version), text)
        yield Narrated(actions.Run(number, sql), Text("{node}: {sql}", values))
        yield Narrated(actions.End(number, commits=True), Text("{node} commits", values))

    def _finish(self) -> Iterator[Narrated]:
        if self.is_submitted and not self.is_over:
            self.is_over = True
            yield Narrated(actions.Finish(), Text("the change goes on to its end"))


def _leasing(position: Position) -> set[str]:
    world = position.lab().world
    return {lease.node for lease in world.control.live(T, world.now)}


def _messages(position: Position, node: str) -> list[object]:
    return [message.content for message in position.lab().world.messages if message.node == node]
