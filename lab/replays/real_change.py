"""A trace whose fill puts pairs, as one real change: submitted as any other, with no rule left out.

An open transaction under version n blocks version n + 2, and the drain of n + 1 (L7, L9); so it keeps the change at the
trace's statements. Nothing blocks it between the drain and its end. A statement between the drain and the fill's first
read runs before the drain, which changes no pair; one beside the fill cannot be placed.
"""

from collections.abc import Iterator

from catalog.elements import State
from catalog.text.message import Text, Values
from lab.replays import actions
from lab.replays.actions import PUBLIC, ROLLED_BACK, Narrated, Script
from lab.replays.trace import NotReplayable, Trace, Transaction


def script(trace: Trace) -> Script:
    if any(step[0] == "cancel" for step in trace.steps):
        raise NotReplayable(Text("a cancel has no moment of its own beside a change that goes on by itself"))
    if trace.lagging:
        node = trace.lagging[0].node
        raise NotReplayable(Text("{node} would have to miss the news, and a real change sends them", {"node": node}))
    ends = _end(trace)
    fill, out = _filled(trace, ends)
    for one in trace.transactions:
        _check_place(trace, one, fill, out)
    tables = trace.plain.effects.program.descriptors
    is_unique = any(index.unique for table in tables for index in table.indexes)
    return Script(tuple(_actions(trace, fill, is_unique=is_unique, ends=ends)), trace.names, ends=ends)


def _end(trace: Trace) -> str:
    config = trace.positions[-1].config
    stop = trace.plain.stops[config.stop]
    table = trace.plain.effects.program.descriptor(stop, stop.newest)
    if not table.indexes:
        return ROLLED_BACK
    if [index.state for index in table.indexes] != [State.PUBLIC]:
        raise NotReplayable(
            Text("the trace ends before its change does, and a real one goes on to its end: play it on")
        )
    return PUBLIC


def _filled(trace: Trace, ends: str) -> tuple[int, int]:
    fill = next(at for at, step in enumerate(trace.steps) if step[0] in ("clear", "fill"))
    if ends == PUBLIC:
        return fill, max(trace.published.values())
    return fill, len(trace.steps)


def _check_place(trace: Trace, one: Transaction, fill: int, out: int) -> None:
    """Raises `NotReplayable` for a transaction beside the fill, or one of an old version after it."""
    ends = len(trace.steps) if one.ends is None else one.ends
    if ends > fill and one.begins < out:
        raise NotReplayable(
            Text(
                "{node} writes while the fill is under way: no moment of a real fill can be chosen", {"node": one.node}
            )
        )
    if one.begins > out and one in trace.pinned:
        raise NotReplayable(
            Text("{node} writes under an old version when the fill is over: it would hold it back", {"node": one.node})
        )


def _actions(trace: Trace, fill: int, *, is_unique: bool, ends: str) -> Iterator[Narrated]:
    yield from trace.first_rows()
    holds = _Holds(trace)
    for at, step in enumerate(trace.steps):
        if at == fill:
            yield from holds.let_go()
            text = (
                Text("the change drains, fills, verifies, and publishes the index")
                if ends == PUBLIC
                else Text("the change drains, fills, finds that rows violate it, and rolls back")
            )
            yield Narrated(actions.Finish(), text)
        if step[0] in trace.plain.names or step[0] == "given":
            yield from trace.step_of_node(at)
        elif step[0] == "publish" and at < fill:
            version = int(step[1])  # type: ignore[call-overload]
            yield from trace.pinned_before(version)
            yield from holds.move_to(version - 1)
            if version == 2:
                yield Narrated(actions.Submit(is_unique), Text("the change is submitted, as any other"))
            text = Text("it publishes v{version}, by the rules", {"version": version})
            yield Narrated(actions.Await(version), text)


class _Holds:
    """The one transaction that blocks the change: under the newest version but one."""

    def __init__(self, trace: Trace) -> None:
        self.node = trace.names[-1]
        self.number = len(trace.transactions)
        self.is_open = False

    def move_to(self, version: int) -> Iterator[Narrated]:
        before, was_open = self.number, self.is_open
        self.number, self.is_open = self.number + 1, True
        values: Values = {"node": self.node, "version": version, "next": version + 2}
        yield Narrated(actions.Use(self.node, version), Text("{node} comes to use v{version}", values))
        text = Text("{node} keeps a transaction open under v{version}: v{next} has to wait", values)
        yield Narrated(actions.Begin(self.number, self.node, version), text)
        if was_open:
            yield self._end(before)

    def let_go(self) -> Iterator[Narrated]:
        if self.is_open:
            self.is_open = False
            yield self._end(self.number)

    def _end(self, number: int) -> Narrated:
        text = Text("{node} ends its transaction: the change may go on", {"node": self.node})
        return Narrated(actions.End(number, commits=False), text)
