"""Sequences that learners write, and what becomes of them: the rules of plans first, then the explorer.

publish delete-only         review     the rules of plans, at once: which step, which clause
drain                       explorer   every schedule within bounds, some seconds at most
publish public              hidden     once more with more nodes, so that a lucky one is found out
drain

public+delete-only          explorer   states of several elements, version by version
both/mail                   judge      handbooks: every session of two people

Every safe sequence counts, not only the one that the chapter shows. What could not be explored in time is neither right
nor wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from catalog.descriptor import Descriptor
from changes.ddl.actions import AlterTable, CreateIndex, CreateTable, DropIndex
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import parse
from changes.plan.model import Plan
from changes.planning.custom_plan import STEPS_MAX, MalformedPlan, rewritten
from changes.planning.planner import make_plan
from changes.planning.tables import KnownTables
from changes.review.check import FaultyPlan, find_faults
from lab.exercises.chapter import Design
from lab.explorer.model import BadModel, Model, kinds_described, stage_named
from lab.explorer.planned import parts_of, prove_parts
from lab.explorer.spaces.full_space import step_id
from lab.explorer.spaces.search import Budget
from lab.explorer.verdict import Answer, Verdict, explore
from lab.sessions import session
from lab.sessions.handbooks import MAIL_ONLY, MESSENGER_ONLY, BadHandbook, handbook, judge, shown_of
from lab.sessions.shown import Text

BUDGET = Budget(states=400_000, seconds=5.0)
LINE_CHARS_MAX = 200
STEPS_ALLOWED = session.STEPS_MAX


class Outcome(Enum):
    """The three answers to a design."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"


class Malformed(ValueError):
    """The lines are no sequence in the grammar: says which, and what would be right."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a sequence.

    `faults` are sentences of the rules of plans; `steps` and `story` a shortest session that goes wrong, `clauses` what
    it breaks; `is_hidden`: it goes wrong only in the hidden bounds, which are named then.
    """

    outcome: Outcome
    faults: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    story: tuple[Text, ...] = ()
    bounds: str = ""
    is_hidden: bool = False
    why: str = ""


def judge_design(task: Design, lines: Sequence[str], *, budget: Budget = BUDGET) -> Judgement:
    """The judgement of the lines that a learner wrote. Raises `Malformed`."""
    written = tuple(line.strip() for line in lines if line.strip())
    if any(len(line) > LINE_CHARS_MAX for line in written) or not 1 <= len(written) <= STEPS_MAX:
        raise Malformed(f"a sequence has 1 to {STEPS_MAX} lines of at most {LINE_CHARS_MAX} characters")
    if task.lines and len(written) != task.lines:
        raise Malformed(f"{task.lines} lines are asked for, not {len(written)}")
    if task.grammar == "handbooks":
        return _judge_handbooks(task, written)
    if task.grammar == "states":
        return _judge_states(task, written, budget)
    return _judge_plan(task, written, budget)


def _judge_handbooks(task: Design, lines: Sequence[str]) -> Judgement:
    try:
        editions = tuple(map(handbook, lines))
    except BadHandbook as error:
        raise Malformed(str(error)) from error
    if task.one_channel and any(len(one.sends) > 1 for one in editions):
        raise Malformed("each edition in between sends by one channel")
    found = judge((MAIL_ONLY, *editions, MESSENGER_ONLY))
    if found.is_safe:
        return Judgement(Outcome.SAFE)
    shown = shown_of(found.company, found.steps)
    clauses = tuple(sorted({verdict.clause for verdict in shown.verdicts}))
    return Judgement(Outcome.UNSAFE, clauses=clauses, steps=found.steps, story=tuple(line.text for line in shown.trace))


def _judge_states(task: Design, lines: Sequence[str], budget: Budget) -> Judgement:
    """Versions by the states of their elements; what is needed between them is done as a plan by hand does it."""
    try:
        stages = tuple(map(stage_named, lines))
        model = Model(stages=stages, **kinds_described(task.elements), nodes=task.nodes)
    except BadModel as error:
        raise Malformed(str(error)) from error
    if (stages[0], stages[-1]) != (stage_named(task.solution[0]), stage_named(task.solution[-1])):
        raise Malformed(f"the first version is {task.solution[0]}, the last one {task.solution[-1]}")
    answer = explore(model, budget=budget)
    if answer.verdict is Verdict.PROVED and task.hidden_nodes:
        hidden = explore(replace(model, nodes=task.hidden_nodes), budget=budget)
        if hidden.verdict is not Verdict.PROVED:
            return _of_answer(hidden, (), is_hidden=True)
    return _of_answer(answer, (), is_hidden=False)


def _judge_plan(task: Design, lines: Sequence[str], budget: Budget) -> Judgement:
    plan = written_plan(task, lines)
    faults = tuple(dict.fromkeys(str(fault) for fault in find_faults(plan)))
    try:
        answer = _explored(plan, task.nodes, budget)
        if answer.verdict is Verdict.PROVED and task.hidden_nodes:
            hidden = _explored(plan, task.hidden_nodes, budget)
            if hidden.verdict is not Verdict.PROVED:
                return _of_answer(hidden, faults, is_hidden=True)
    except BadModel as error:
        outcome = Outcome.UNSAFE if faults else Outcome.UNKNOWN
        return Judgement(outcome, faults, why=str(error))
    return _of_answer(answer, faults, is_hidden=False)


def _explored(plan: Plan, nodes: int, budget: Budget) -> Answer:
    parts = parts_of(plan, nodes=nodes)
    answer = prove_parts(parts.explored, budget=budget)
    if answer.verdict is Verdict.PROVED and parts.left_out:
        return replace(answer, verdict=Verdict.UNKNOWN, why=parts.why_unknown)
    return answer


def _of_answer(answer: Answer, faults: tuple[str, ...], *, is_hidden: bool) -> Judgement:
    if answer.verdict is Verdict.VIOLATED:
        return Judgement(
            Outcome.UNSAFE,
            faults,
            clauses=answer.clauses,
            steps=tuple(map(step_id, answer.steps)),
            story=tuple(Text("{sentence}", {"sentence": sentence}) for sentence in answer.sentences),
            bounds=answer.model.bounds,
            is_hidden=is_hidden,
        )
    if faults:
        return Judgement(Outcome.UNSAFE, faults, bounds=answer.model.bounds)
    if answer.verdict is Verdict.UNKNOWN:
        return Judgement(Outcome.UNKNOWN, bounds=answer.model.bounds, is_hidden=is_hidden, why=answer.why)
    return Judgement(Outcome.SAFE, bounds=answer.model.bounds)


def written_plan(task: Design, lines: Sequence[str]) -> Plan:
    """The plan of the task's statement with these steps. Raises `Malformed`."""
    try:
        return rewritten(planned(task.given, task.statement), lines)
    except MalformedPlan as error:
        raise Malformed(str(error)) from error


@lru_cache(maxsize=64)
def planned(given: tuple[str, ...], statement: str) -> Plan:
    """The planner's plan of a statement on the tables that `given` makes. Raises `Malformed`."""
    tables: dict[int, Descriptor] = {}
    plan = None
    for ddl in (*given, statement):
        try:
            plan = _plan(ddl, tuple(tables.values()))
        except (DdlError, NothingToDo, FaultyPlan) as error:
            raise Malformed(f"{ddl}: {error}") from error
        tables[plan.table_id] = plan.result
        tables |= {partner.table_id: partner for step in plan.publishes for partner in step.partners}
    assert plan is not None
    return plan


def _plan(ddl: str, known: tuple[Descriptor, ...]) -> Plan:
    view = CatalogView(known)
    action = resolve(parse(ddl), view)
    match action:
        case CreateTable():
            return make_plan(action, None, table_id=len(known) + 1)
        case DropIndex():
            return make_plan(action, view.owner_of(action.index.text), tables=KnownTables(known))
        case CreateIndex() | AlterTable():
            return make_plan(action, view.table(action.table.text), tables=KnownTables(known))
    raise Malformed(f"{ddl}: an exercise creates tables and indexes, alters tables, and drops indexes")
