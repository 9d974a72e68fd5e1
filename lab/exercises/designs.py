"""Sequences that learners write, judged by the rules of plans, then by the explorer, then with more nodes. Every safe
sequence counts. One that cannot be explored in time is neither right nor wrong."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from catalog.descriptor import Descriptor
from catalog.text.message import Text, Values
from changes.ddl.actions import AlterTable, CreateIndex, CreateTable, DropIndex
from changes.ddl.errors import DdlError, check_has_key
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import parse
from changes.plan.model import Plan
from changes.planning.custom_plan import STEPS_MAX, MalformedPlan, rewritten
from changes.planning.planner import make_plan
from changes.planning.tables import KnownTables
from changes.review.check import FaultyPlan, find_faults
from lab.exercises.chapter import Design, Outcome
from lab.exercises.grammars import grammar
from lab.exercises.judgement import Judgement
from lab.explorer.model import BadModel, Model, kinds_described, stage_named
from lab.explorer.planned import prove
from lab.explorer.spaces.config import step_id
from lab.explorer.spaces.search import Budget, Watch
from lab.explorer.verdict import Answer, Verdict, explore
from lab.ladders import verdict
from lab.ladders.elements import anomaly_text
from lab.ladders.order import BadOrder, Order, order_from_json
from lab.ladders.played import of_lines, of_order
from lab.ladders.verdict import Answered
from lab.sessions.handbooks import MAIL_ONLY, MESSENGER_ONLY, BadHandbook, handbook, judge, ordinary, shown_of
from lab.sessions.model.setups import model_parameter
from lab.sessions.replay import show
from lab.sessions.session import BadSession, Session

BUDGET = Budget(states=60_000, seconds=math.inf)
"""The chapters' own need 3,200 at most. No seconds: a chapter passes its checks on a slow machine too."""

LINE_CHARS_MAX = 200


class Malformed(ValueError):
    """No sequence in the grammar: says which line, and what would be right."""

    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def judgement_of_order(task: Design, lines: Sequence[str], found: Answered) -> Judgement:
    """Safe is not enough: it has to reach the end."""
    played = of_order(order_in(task, lines).model, found)
    if found.verdict is Verdict.UNKNOWN:
        return Judgement(Outcome.UNKNOWN, bounds=found.bounds, why=found.why)
    if found.verdict is Verdict.PROVED and found.arrives:
        return Judgement(Outcome.RIGHT, bounds=found.bounds, played=played)
    if found.verdict is Verdict.PROVED:
        stopped = Text("nothing breaks, but verification stops the change on every table that already has a row")
        unfinished = Text("nothing breaks, but the element has not reached its last state")
        return Judgement(
            Outcome.WRONG, (stopped if found.is_finished else unfinished,), bounds=found.bounds, played=played
        )
    run = found.runs[0]
    name = anomaly_text(run.anomaly, order_in(task, lines).model.kind)
    why = Text("broken at step {n}: {what} ({clause})", {"n": len(run.frames) - 1, "what": name, "clause": run.clause})
    return Judgement(Outcome.WRONG, (why, run.why), (run.clause,), run.steps, bounds=found.bounds, played=played)


def order_in(task: Design, lines: Sequence[str]) -> Order:
    try:
        body = {"element": task.elements, "ground": task.ground, "tiles": list(written_lines(task, lines))}
        return order_from_json(body)
    except BadOrder as error:
        raise Malformed(error.why) from error


@dataclass(frozen=True, slots=True)
class Submission:
    task: Design
    lines: tuple[str, ...]


def needs_search(task: Design) -> bool:
    """True if it is explored, which takes seconds. Handbooks are judged at once."""
    return task.grammar != "handbooks"


def judge_design(
    task: Design, lines: Sequence[str], *, budget: Budget = BUDGET, watch: Watch | None = None
) -> Judgement:
    """Raises `Malformed`."""
    written = written_lines(task, lines)
    if added := grammar(task.grammar):
        return added.judge(task, written, budget, watch)
    if task.grammar == "handbooks":
        return _judge_handbooks(task, written)
    if task.grammar == "ladder":
        found = verdict.answer(order_in(task, written), budget=budget, watch=watch)
        return judgement_of_order(task, written, found)
    if task.grammar == "states":
        model = model_of_states(task, written)
        explored = lambda nodes: explore(replace(model, nodes=nodes), budget=budget, watch=watch)  # noqa: E731
        return _judged(task, written[1:], (), explored)
    plan = written_plan(task, written)
    faults = tuple({str(fault): fault.text for fault in find_faults(plan)}.values())
    return _judged(task, written, faults, lambda nodes: prove(plan, nodes=nodes, budget=budget, watch=watch))


def written_in(task: Design, lines: Sequence[str]) -> Submission:
    written = Submission(task, written_lines(task, lines))
    if added := grammar(task.grammar):
        added.check(task, written.lines)
        return written
    if task.grammar == "ladder":
        _ = order_in(task, lines)
        return written
    _ = model_of_states(task, written.lines) if task.grammar == "states" else written_plan(task, written.lines)
    return written


def written_lines(task: Design, lines: Sequence[str]) -> tuple[str, ...]:
    """The lines that are not empty. Raises `Malformed` for too many, or too few."""
    written = tuple(line.strip() for line in lines if line.strip())
    if any(len(line) > LINE_CHARS_MAX for line in written) or not 1 <= len(written) <= STEPS_MAX:
        most: Values = {"most": STEPS_MAX, "chars": LINE_CHARS_MAX}
        raise Malformed(Text("write 1 to {most} lines of at most {chars} characters", most))
    if task.lines and len(written) != task.lines:
        counts: Values = {"n": task.lines, "written": len(written)}
        if task.lines == 1:
            raise Malformed(Text("this task asks for one line, and yours has {written}. Take the others off", counts))
        raise Malformed(Text("this task asks for {n} lines, and yours has {written}", counts))
    return written


def _judge_handbooks(task: Design, lines: Sequence[str]) -> Judgement:
    try:
        editions = tuple(map(handbook, lines))
    except BadHandbook as error:
        raise Malformed(error.why) from error
    if task.one_channel and any(len(one.sends) > 1 for one in editions):
        raise Malformed(Text("each edition in between sends by one channel"))
    found = judge((MAIL_ONLY, *editions, MESSENGER_ONLY))
    if found.is_safe:
        return Judgement(Outcome.RIGHT, steps=ordinary(found.company))
    shown = shown_of(found.company, found.steps)
    clauses = tuple(sorted({verdict.clause for verdict in shown.verdicts}))
    return Judgement(Outcome.WRONG, clauses=clauses, steps=found.steps, story=tuple(line.text for line in shown.trace))


def model_of_states(task: Design, lines: Sequence[str]) -> Model:
    try:
        stages = tuple(map(stage_named, lines))
        model = Model(stages=stages, **kinds_described(task.elements), nodes=task.nodes)
    except BadModel as error:
        raise Malformed(error.why) from error
    if (stages[0], stages[-1]) != (stage_named(task.solution[0]), stage_named(task.solution[-1])):
        ends: Values = {"first": task.solution[0], "last": task.solution[-1]}
        raise Malformed(Text("the first version is {first}, the last one {last}", ends))
    return model


def _judged(
    task: Design, lines: Sequence[str], faults: tuple[Text, ...], explored: Callable[[int], Answer]
) -> Judgement:
    try:
        answer = explored(task.nodes)
        if answer.verdict is Verdict.PROVED and task.hidden_nodes:
            hidden = explored(task.hidden_nodes)
            if hidden.verdict is not Verdict.PROVED:
                return _of_answer(hidden, lines, faults, is_hidden=True)
    except BadModel as error:
        outcome = Outcome.WRONG if faults else Outcome.UNKNOWN
        return Judgement(outcome, faults, why=error.why)
    return _of_answer(answer, lines, faults, is_hidden=False)


def _of_answer(answer: Answer, lines: Sequence[str], faults: tuple[Text, ...], *, is_hidden: bool) -> Judgement:
    played = of_lines(lines, answer)
    if answer.verdict is Verdict.VIOLATED:
        taken = tuple(map(step_id, answer.steps))
        return Judgement(
            Outcome.WRONG,
            faults,
            clauses=answer.clauses,
            steps=taken,
            story=tuple(answer.texts),
            bounds=answer.model.bounds,
            is_hidden=is_hidden,
            model=_played_in(answer.model, taken),
            played=played,
        )
    if faults:
        return Judgement(Outcome.WRONG, faults, bounds=answer.model.bounds, played=played)
    if answer.verdict is Verdict.UNKNOWN:
        return Judgement(Outcome.UNKNOWN, bounds=answer.model.bounds, is_hidden=is_hidden, why=answer.why)
    return Judgement(Outcome.RIGHT, bounds=answer.model.bounds, played=played)


def _played_in(model: Model, taken: tuple[str, ...]) -> str:
    """The model for the stage; "" if its plan for these states has other steps than the judged one."""
    parameter = model_parameter(model)
    try:
        shown = show(Session("model", {"model": parameter}, steps=taken))
    except BadSession:
        return ""
    return parameter if shown.refused is None and shown.verdicts else ""


def written_plan(task: Design, lines: Sequence[str]) -> Plan:
    """The plan of the task's statement with these steps. Raises `Malformed`."""
    try:
        return rewritten(planned(task.given, task.statement), lines)
    except MalformedPlan as error:
        raise Malformed(error.why) from error


@lru_cache(maxsize=64)
def planned(given: tuple[str, ...], statement: str) -> Plan:
    """The planner's plan of a statement on the tables of `given`. Raises `Malformed`."""
    tables: dict[int, Descriptor] = {}
    plan = None
    for ddl in (*given, statement):
        try:
            plan = _plan(ddl, tuple(tables.values()))
        except (DdlError, NothingToDo, FaultyPlan) as error:
            raise Malformed(Text("{ddl}: {why}", {"ddl": ddl, "why": str(error)})) from error
        tables[plan.table_id] = plan.result
        tables |= {partner.table_id: partner for step in plan.publishes for partner in step.partners}
    assert plan is not None
    return plan


def _plan(ddl: str, known: tuple[Descriptor, ...]) -> Plan:
    view = CatalogView(known)
    action = resolve(parse(ddl), view)
    match action:
        case CreateTable():
            check_has_key(action)
            return make_plan(action, None, table_id=len(known) + 1, tables=KnownTables(known))
        case DropIndex():
            return make_plan(action, view.owner_of(action.index.text), tables=KnownTables(known))
        case CreateIndex() | AlterTable():
            return make_plan(action, view.table(action.table.text), tables=KnownTables(known))
    why = "an exercise creates tables and indexes, alters tables, and drops indexes"
    raise Malformed(Text("{ddl}: {why}", {"ddl": ddl, "why": why}))
