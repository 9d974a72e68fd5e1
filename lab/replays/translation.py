"""The script on live nodes that a session becomes, or why it cannot be replayed: `past_rules` if no fill puts anything,
`away` if a node dies or freezes, else `real_change`: careless fills do not exist on the cluster."""

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import IndexId
from catalog.text.message import Text, names_listed
from lab.explorer.variant import UP, stages
from lab.replays import away, past_rules, real_change
from lab.replays.actions import Script
from lab.replays.trace import NotReplayable, Trace
from lab.sessions.model.session import Machine, machine_of
from lab.sessions.model.setups import FILL, model_of
from lab.sessions.session import Session
from lab.sessions.setup import MODEL, WORLD
from lab.sessions.setups import setup_named

NODES_MAX = 3
CARELESS = frozenset(rule.id for rule in FILL) - {"skipped"} | {"unverified"}
"""The rules of a fill and of the steps after it. Without any fill at all, nothing careless happens."""


def translated(session: Session) -> Script:
    if setup_named(session.setup).kind == WORLD:
        return away.script(session)
    machine, rows = machine_for(session)
    with machine.lock:
        positions, _, refused = machine.follow(session.steps)
        if refused is not None:
            raise NotReplayable(Text("step {step} is not possible: {why}", {"step": refused.label, "why": refused.why}))
        steps = [position.taken[name].step for position, name in zip(positions, session.steps, strict=False)]
    trace = Trace(machine.plain, positions, steps, rows)
    _check_fill(session, trace)
    return real_change.script(trace) if trace.reorganises else past_rules.script(trace)


def _check_fill(session: Session, trace: Trace) -> None:
    careless = sorted(session.left_out & CARELESS)
    if careless and any(step[0] in ("clear", "fill", "close", "verify") for step in trace.steps):
        rules = names_listed(careless)
        raise NotReplayable(Text("it leaves out {rules}: no fill of the cluster is careless", {"rules": rules}))
    if not trace.reorganises:
        return
    if session.left_out:
        rules = names_listed(sorted(session.left_out))
        raise NotReplayable(Text("it leaves out {rules}: a change with a fill keeps every rule", {"rules": rules}))
    model = trace.plain.model
    if model.stages != stages(UP[model.kind]):
        raise NotReplayable(Text("a real change takes the full ladder, and this trace fills on another one"))


def machine_for(session: Session) -> tuple[Machine, tuple[str | int, ...]]:
    """The machine of a replayable session, and its first rows. Raises `NotReplayable`, `BadSession`."""
    setup = setup_named(session.setup)
    if setup.kind != MODEL:
        raise NotReplayable(Text("this is a company with its handbooks: no node of the cluster reads any"))
    model, rows = model_of(setup, session)
    if len(model.kinds) != 1 or not model.kind.is_index or model.partial or model.apart:
        raise NotReplayable(Text("a sandbox is a table t (id, a): only an index over a can be replayed on it"))
    if model.pair:
        raise NotReplayable(Text("two versions side by side are no trace of a change"))
    if model.nodes > NODES_MAX:
        raise NotReplayable(Text("the cluster has fewer nodes than this model"))
    return machine_of(model, rows), rows


def on_sandbox(table: Descriptor, sandbox: Descriptor, version: int) -> Descriptor:
    """Version `version` of the model's table as one of a sandbox, which had no index at `sandbox`."""
    indexes = tuple(replace(one, name=f"{one.name}_{sandbox.table_id}") for one in table.indexes)
    following = IndexId(max((one.id for one in indexes), default=0) + 1)
    return replace(
        sandbox, version=sandbox.version + version, indexes=indexes, next_index_id=max(following, sandbox.next_index_id)
    )
