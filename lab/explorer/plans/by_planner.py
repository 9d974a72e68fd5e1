"""The planner's own plan of a statement on the small table, for safe variants."""

from collections.abc import Sequence
from dataclasses import replace

from catalog.elements import State
from changes.ddl.actions import CreateIndex, CreateTable, DropIndex
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import parse
from changes.plan.element_states import definition_of, state_of
from changes.plan.model import Element, Move, MoveKind, Plan
from changes.planning.planner import make_plan
from changes.planning.stages import Draft, Swap, compose
from changes.planning.tables import KnownTables
from changes.review.check import FaultyPlan, review
from lab.explorer.model import MOVES, TWINS, BadModel, Model, Stage, stage_name
from lab.explorer.plans.small_tables import CHILD, TABLE, TWIN, elements_of, tables_of
from storage.buckets import StorageCount


def plan_by_planner(model: Model) -> Plan:
    """Raises `BadModel` without a statement, or if its versions are not the stages."""
    if model.has_placements and model.statement == MOVES:
        raise BadModel("the placements of a table move by a statement, ALTER TABLE t SET (storages = 3), or by hand")
    try:
        plan = _composed(model) if model.statement == MOVES else _of_statement(model)
    except (DdlError, NothingToDo, FaultyPlan) as error:
        raise BadModel(f"the planner has no plan of {model.statement!r:.80}: {error}") from error
    elements = elements_of(model)
    stages = [tuple(state_of(step.published, element) for element in elements) for step in plan.publishes]
    wanted = [stage[: len(elements)] for stage in model.stages[1:]]
    if stages != wanted:
        raise BadModel(f"the planner publishes {_listed(stages)} where the model says {_listed(wanted)}")
    return plan


def _listed(stages: Sequence[Stage]) -> str:
    return ", ".join(map(stage_name, stages))


def _of_statement(model: Model) -> Plan:
    tables = tables_of(model, model.stages[0], (1, 1))
    statement = parse(model.statement)
    match statement.action:
        case CreateTable() as action:
            return make_plan(action, None, table_id=TABLE)
        case CreateIndex() | DropIndex() as action:
            return make_plan(action, tables[CHILD])
    there = StorageCount(existing=model.storages_there)
    view, known = CatalogView(tables, storages=there), KnownTables(tables, storages=there)
    return make_plan(resolve(statement, view), tables[CHILD], tables=known)


def _composed(model: Model) -> Plan:
    """All moves at once, without a statement: an index covers the column beside it, unless they are apart."""
    elements = elements_of(model)
    (base,) = tables_of(model, model.stages[0], (1,))
    moves = tuple(
        Move(element, MoveKind.ADD if state is State.ABSENT else MoveKind.DROP)
        for element, state in zip(elements, model.stages[0], strict=True)
    )
    (full,) = tables_of(model, tuple(State.WRITE_ONLY for _ in elements), (1,))
    added = [move.element for move in moves if move.kind is MoveKind.ADD]
    found = {element: definition_of(element, [full]) for element in added}
    new = {element: replace(one, state=State.ABSENT) for element, one in found.items() if one is not None}
    covered = frozenset(one for one in added if one.kind.is_user_column and len(added) > 1 and not model.apart)
    draft = Draft(TABLE, base.name, base, moves, new=new, covered=covered, swaps=_swaps(model, elements))
    return review(compose(draft))


def _swaps(model: Model, elements: tuple[Element, ...]) -> tuple[Swap, ...]:
    if model.kinds != TWINS:
        return ()
    old, twin = elements
    return (Swap(twin, old, "a (old)", f'"#{TWIN}"'),)
