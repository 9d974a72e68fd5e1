"""The lanes of a trace, and its arrows: the explorer's counterexamples and the simulator's findings."""

import re
from collections.abc import Sequence

from catalog.diagrams.sequence import Event, draw
from lab.explorer.lanes import CATALOG, EXECUTOR, FILL, STORE, ends
from lab.explorer.plans.small_tables import CHILD, NAMES, PARENT
from lab.explorer.spaces.config import step_id
from lab.explorer.spaces.fill import Step
from lab.explorer.verdict import Answer
from lab.scripts.commands_of import Lab
from lab.scripts.golden import played_lines
from lab.simulator.simulation import Outcome

NODE = re.compile(r"(\w+)(?:\.\w+)?: ")
CHANGES, CLUSTER = "change", "cluster"
OF_A_CHANGE = ("step", "run", "create", "drop", "alter", "read ", "put ", "cancel", "pause", "resume", "start worker")


def picture_of_answer(answer: Answer, *, alone: bool = True) -> str:
    nodes = [f"n{number + 1}" for number in range(answer.model.nodes)]
    stores = NAMES if answer.model.foreign_key else (STORE,)
    events = [
        _event(step, sentence, _store(stores, answer.steps[: at + 1]))
        for at, (step, sentence) in enumerate(zip(answer.steps, answer.sentences, strict=True))
    ]
    used = {lane for event in events for lane in (event.actor, event.to)}
    lanes = [lane for lane in (*nodes, EXECUTOR, FILL, CATALOG, *stores) if lane in used or lane in nodes]
    wrong = [f"{fault.clause} under v{fault.version}: {fault.why}" for fault in answer.faults]
    title = f"{answer.verdict.value}: {answer.model.title}"
    return draw(title, lanes, events, wrong, alone=alone)


def _store(stores: Sequence[str], steps: Sequence[Step]) -> str:
    if len(stores) == 1:
        return stores[0]
    *before, last = steps
    if last[1:] == ("commit",):
        last = next(step for step in reversed(before) if step[:2] == (last[0], "write"))
    return stores[PARENT if "parent" in step_id(last) else CHILD]


def _event(step: Step, sentence: str, store: str) -> Event:
    actor, to = ends(step, store)
    return Event(actor, step_id(step), sentence, to)


def picture_of_run(outcome: Outcome, commands: Sequence[str] = (), *, alone: bool = True) -> str:
    lab, events = Lab(), []
    for number, line in enumerate([*commands, *(event.line for event in outcome.happened)], 1):
        output, refused = played_lines(lab, line)
        sentence = "; ".join([line, *output])
        lane, to = _lane(line)
        events.append(Event(lane, f"{number}", sentence, "" if refused else to, is_refused=refused))
    used = {lane for event in events for lane in (event.actor, event.to) if lane}
    nodes = sorted(used - {CLUSTER, CHANGES, STORE})
    lanes = [*nodes, *(lane for lane in (CHANGES, CLUSTER, STORE) if lane in used)]
    wrong = [str(outcome.finding)] if outcome.finding is not None else []
    seed = "a run" if outcome.seed is None else f"seed {outcome.seed}"
    return draw(f"{seed}: {outcome.finding or 'nothing was found'}", lanes, events, wrong, alone=alone)


TO_THE_STORE = re.compile(r"\S+: (insert|update|delete|commit|late commit)\b")


def _lane(line: str) -> tuple[str, str]:
    node = NODE.match(line)
    if node is not None:
        return node.group(1), STORE if TO_THE_STORE.match(line) else ""
    if line.startswith("put "):
        return CHANGES, STORE
    return CHANGES if line.startswith(OF_A_CHANGE) else CLUSTER, ""
