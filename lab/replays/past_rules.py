"""A trace in which versions are published past the rules: one `lab_publish` each, and nothing else changes pairs."""

from collections.abc import Iterator

from catalog.text.message import Text, names_listed
from lab.replays import actions
from lab.replays.actions import Narrated, Script
from lab.replays.trace import NotReplayable, Trace


def script(trace: Trace) -> Script:
    return Script(tuple(_actions(trace)), trace.names, lags=bool(trace.lagging))


def _actions(trace: Trace) -> Iterator[Narrated]:
    plain = trace.plain
    first = plain.effects.program.descriptors[plain.stops[0].tables[0].schemas[1]]
    if first.indexes:
        yield Narrated(actions.Publish(1, first), Text("v1 of the model is published, with its index"))
    yield from trace.first_rows()
    for at, step in enumerate(trace.steps):
        if step[0] == "publish":
            yield from _publish(trace, at, int(step[1]))  # type: ignore[call-overload]
        elif step[0] == "cancel":
            raise NotReplayable(Text("a cancel rolls a real change back; this executor only publishes"))
        elif step[0] in plain.names or step[0] == "given":
            yield from trace.step_of_node(at)


def _publish(trace: Trace, at: int, version: int) -> Iterator[Narrated]:
    stop = trace.plain.stops[trace.positions[at].config.stop]
    yield from trace.pinned_before(version)
    lagging = dict.fromkeys(one.node for one in trace.lagging if one.version + 1 == version)
    for node in lagging:
        leases = actions.Warm(node) if version == 2 else actions.Use(node, version - 1)
        yield Narrated(leases, Text("{node} leases v{version}", {"node": node, "version": version - 1}))
    if lagging:
        text = Text("from now on news of the table is withheld from {nodes}", {"nodes": names_listed(lagging)})
        yield Narrated(actions.Withhold(tuple(lagging)), text)
    table = trace.plain.effects.program.descriptors[stop.published[0]]
    text = Text("v{version} is published, and nobody is waited for", {"version": version})
    yield Narrated(actions.Publish(version, table), text)
