"""The statements of a text, each planned on the tables that those before it leave. Nothing is stored. Plans and
refusals are the planner's own; places count in the whole text."""

from dataclasses import dataclass, replace

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.text.sentence import Sentence
from catalog.values.types import SqlType
from changes.ddl.actions import Action, AlterTable, CreateTable
from changes.ddl.errors import TOO_LONG, DdlError, check_has_key
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import Part, parse, split
from changes.plan.model import Plan
from changes.planning.planner import make_plan
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError

STATEMENTS_MAX, MOVES_MAX, COLUMNS_MAX = 20, 12, 100
"""Every version of a plan is written out in full, and a page waits for all of them."""

NO_TABLES = CatalogView(())
COMPUTED_HERE = Sentence(
    "The lab computes comparisons, AND, OR, NOT, IS NULL, IN, BETWEEN, LIKE, CASE, COALESCE, arithmetic, ||, lower,"
    " upper, length, abs and casts. In the cluster any immutable expression may stand here."
)
LEAVE_OUT = "Leave out what does not matter here."


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement and its plan; None if it changes nothing, and `why_nothing` says so."""

    text: str
    plan: Plan | None
    why_nothing: str = ""


def planned(text: str, there: CatalogView = NO_TABLES) -> tuple[PlannedStatement, ...]:
    """Raises `DdlError`."""
    parts = split(text)
    if len(parts) > STATEMENTS_MAX:
        message = f"{len(parts)} statements; at most {STATEMENTS_MAX} are read"
        raise DdlError(TOO_LONG, message, position=parts[STATEMENTS_MAX].position)
    found: list[PlannedStatement] = []
    there = replace(there, judge=unexplored)
    for part in parts:
        try:
            plan = _plan(part, there)
        except NothingToDo as nothing:
            found.append(PlannedStatement(part.text, None, nothing.message))
            continue
        left: dict[int, Descriptor] = {table.table_id: table for table in (*there.tables, *plan.results)}
        there = replace(there, tables=tuple(table for table in left.values() if table.state is not State.ABSENT))
        found.append(PlannedStatement(part.text, plan))
    return tuple(found)


def unexplored(table: Descriptor, text: str, returns: SqlType) -> str:
    """The lab's `expressions.rows.Judge`: there is no PostgreSQL that it could ask."""
    message = Sentence("{text} cannot be explored: PostgreSQL alone computes it", text=text)
    raise SqlError(FEATURE_NOT_SUPPORTED, message, 0, hint=COMPUTED_HERE)


def _plan(part: Part, there: CatalogView) -> Plan:
    try:
        action = resolve(parse(part.text), there)
        base = None
        if isinstance(action, CreateTable):
            check_has_key(action)
        else:
            base = there.named(action.table.text)
        asked = len(action.alterations) if isinstance(action, AlterTable) else 0
        columns = len(action.columns) if isinstance(action, CreateTable) else len(base.columns) if base else 0
        for count, most, what in ((asked, MOVES_MAX, "changes in a statement"), (columns, COLUMNS_MAX, "columns")):
            if count > most:
                message = f"{count} {what}; the lab takes at most {most}"
                raise DdlError(TOO_LONG, message, position=action.table.position, hint=LEAVE_OUT)
        plan = _plan_of(action, base, there)
        check_moves(plan)
    except DdlError as error:
        place = None if error.position is None else error.position + part.position - 1
        raise DdlError(error.sqlstate, error.message, position=place, hint=error.hint) from error
    return plan


def check_moves(plan: Plan) -> None:
    if len(plan.moves) > MOVES_MAX:
        message = f"this statement moves {len(plan.moves)} things; the lab takes at most {MOVES_MAX}"
        raise DdlError(TOO_LONG, message, position=1, hint=LEAVE_OUT)


def _plan_of(action: Action, base: Descriptor | None, there: CatalogView) -> Plan:
    if isinstance(action, CreateTable):
        taken = max((table.table_id for table in there.tables), default=0)
        return make_plan(action, None, table_id=taken + 1, tables=there)
    return make_plan(action, base, tables=there)
