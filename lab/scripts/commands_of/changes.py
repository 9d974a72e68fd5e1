"""Sentences about changes: plan them, submit them, step them, let their workers die."""

from catalog.text.sentence import Sentence
from changes.ddl.actions import UNNAMED, CreateIndex, CreateTable, DropIndex, RenameIndex
from changes.ddl.errors import check_has_key
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.executor.events import CancelRequested, Event, LeaseLost, PauseRequested, ResumeRequested, RunFailed
from changes.pages import writers
from changes.plan.model import RUNS, Plan, describe
from changes.planning.planner import make_plan
from changes.planning.tables import KnownTables
from lab.cluster.control_plane import LabError
from lab.cluster.driver import drive
from lab.scripts.commands import Lab, Match, command
from storage.buckets import StorageCount

RUN_ERROR = "the disk is full"
"""The error of a reorganisation, or another step, that is made to fail."""


@command("plan DDL", r"plan (.+)", "show the plan of a change, and do nothing")
def _plan(lab: Lab, match: Match) -> None:
    plan = planned(lab, match[1])
    for number, step in enumerate(plan.forward):
        mark = "  (no return from here)" if number == plan.point_of_no_return else ""
        lab.world.say(f"{number + 1}. {describe(plan, step)}{mark}")
    for cost in plan.costs:
        lab.world.say(f"cost: {cost}")
    for danger in plan.dangers:
        lab.world.say(f"warning: {danger}")
    for refusal in writers.refusals(plan):
        lab.world.say(f"refused {writers.in_words(refusal)}")


@command(
    "create .. | alter .. | drop .. | comment on ..",
    r"(?:create|alter|drop|comment on) .+",
    "submit a change; a worker starts it",
)
def _change(lab: Lab, match: Match) -> None:
    lab.changes.append(drive(lab.world, len(lab.changes) + 1, planned(lab, match[0])))


def planned(lab: Lab, ddl: str) -> Plan:
    control = lab.world.control
    known = tuple(control.newest(table) for table in control.published)
    there = StorageCount(lab.world.store.storages, len(lab.world.store.pairs))
    tables = KnownTables(known, storages=there)
    statement = parse(ddl)
    action = statement.action
    match action:
        case CreateTable():
            check_has_key(action)
            return make_plan(action, None, table_id=len(control.published) + 1, tables=tables)
        case DropIndex() | RenameIndex():
            return make_plan(action, control.newest(lab.element(action.index.text)[0]), tables=tables)
        case CreateIndex() if action.index == UNNAMED:
            raise LabError("an index in a script needs a name")
        case CreateIndex():
            return make_plan(action, control.newest(control.find(action.table.text)), tables=tables)
        case _:
            table = control.newest(control.find(action.table.text))
            return make_plan(resolve(statement, CatalogView(known, storages=there)), table, tables=tables)


@command("step [N]", r"step(?: (\d+))?", "the change does the next thing, or N things")
def _step(lab: Lab, match: Match) -> None:
    for _ in range(int(match[1] or 1)):
        if lab.change.asked is None:
            idle, mode = "change {change} has nothing to do: it is {mode}", lab.change.state.mode.value
            raise LabError(Sentence(idle, change=len(lab.changes), mode=mode))
        if not lab.change.do(lab.world):
            return


@command("run", r"run", "the change goes on until it ends, rests or waits")
def _run(lab: Lab, match: Match) -> None:
    lab.change.go(lab.world)


@command("cancel | pause | resume", r"cancel|pause|resume", "what a person may ask of the change")
def _ask(lab: Lab, match: Match) -> None:
    requests: dict[str, Event] = {
        "cancel": CancelRequested("ann"),
        "pause": PauseRequested("ann"),
        "resume": ResumeRequested("ann"),
    }
    lab.change.hears(lab.world, requests[match[0]])


@command("crash worker [late]", r"crash worker( late)?", "the worker dies; late: after doing what was asked")
def _crash_worker(lab: Lab, match: Match) -> None:
    lab.change.crash(lab.world, after_doing=bool(match[1]))


@command("lose worker", r"lose worker", "the worker loses its schema-change lease")
def _lose_worker(lab: Lab, match: Match) -> None:
    lab.change.hears(lab.world, LeaseLost())


@command("fail run", r"fail run", "the reorganisation reports an error")
def _fail_run(lab: Lab, match: Match) -> None:
    step = lab.change.step
    if step is None or step.kind not in RUNS:
        raise LabError("no reorganisation runs")
    lab.change.hears(lab.world, RunFailed(step.kind, RUN_ERROR))


@command("fail step", r"fail step", "what the change asked for cannot be done")
def _fail_step(lab: Lab, match: Match) -> None:
    lab.change.fails(lab.world, RUN_ERROR)


@command("lose answer", r"lose answer", "what the change asked for is done, and it does not hear of it")
def _lose_answer(lab: Lab, match: Match) -> None:
    lab.change.loses_answer(lab.world)


@command("zombie acts", r"zombie acts", "a worker that was replaced does what it was about to do (X2)")
def _zombie_acts(lab: Lab, match: Match) -> None:
    lab.change.act_as_zombie(lab.world)


@command("start worker", r"start worker", "another worker takes the change over")
def _start_worker(lab: Lab, match: Match) -> None:
    lab.change.start(lab.world)
