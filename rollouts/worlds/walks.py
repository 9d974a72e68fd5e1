"""A schema statement on Schema Lab: the versions of its planner, of which two are in use at once. A version is a view
of the table, where a column that is not public has a name that no statement can give. So of ADD COLUMN only one server
may name the column for a moment, and SET NOT NULL refuses writes before the rows are verified."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from catalog.descriptor import Descriptor
from catalog.elements import NOT_NULL, Kind, State
from changes.ddl import actions
from changes.ddl.errors import DdlError, check_has_key
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import parse
from changes.plan.model import MoveKind, Plan, Step, StepKind
from changes.planning.planner import make_plan
from changes.planning.tables import KnownTables
from changes.review.check import FaultyPlan
from rollouts.statements.definitions import definition_of, is_data
from rollouts.statements.errors import NotModelled
from rollouts.statements.tables import Column, Schema, Table, hidden
from rollouts.worlds.world import Stage

Catalog = Mapping[int, Descriptor]
ACTIVE = (State.WRITE_ONLY, State.PUBLIC)
KINDS = {StepKind.PUBLISH: "publish", StepKind.DRAIN: "drain", StepKind.VERIFY: "verify"}


@dataclass(frozen=True, slots=True)
class Part:
    """A step of a walk: publish, drain or verify. `views` are in use before it, the older first."""

    kind: str
    text: str
    views: tuple[Schema, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """`adds`: existing rows get their new columns with the first version, else with the last."""

    statement: str
    before: Schema
    parts: tuple[Part, ...]
    after: Schema
    catalog: Catalog
    adds: bool


class Walker:
    def __init__(self, tables: tuple[str, ...]) -> None:
        self._catalog = catalog_of(tables)

    def walk(self, statement: str, schema: Schema, first: Stage) -> tuple[list[Stage], Schema]:
        """The stages of a statement, and the schema after it. Raises `NotModelled`, `Refused`."""
        if is_data(statement):
            after, _ = definition_of(statement)(schema, {})
            return [replace(first, kind="schema", text=statement)], after
        walk = walk_of(statement, schema, self._catalog)
        self._catalog = walk.catalog
        return list(_stages(walk, first)), walk.after


def _stages(walk: Walk, first: Stage) -> Iterator[Stage]:
    meets = 0 if walk.adds else len(walk.parts) - 1
    for place, part in enumerate(walk.parts):
        older, newer = part.views[0], part.views[-1]
        yield replace(
            first,
            number=first.number + place,
            schema=newer,
            kind=part.kind,
            text=part.text,
            older=None if older == newer else older,
            definition=definition_of(walk.statement)
            if place == meets or (part.kind == "verify" and not walk.adds)
            else None,
            base=walk.before,
        )


def walk_of(statement: str, schema: Schema, catalog: Catalog) -> Walk:
    """Raises `NotModelled`; `Refused` where it fails whatever rows there are."""
    after, _ = definition_of(statement)(schema, {})
    plan = _plan(statement, catalog)
    known = dict(catalog)
    known.update((one.table_id, one) for one in plan.results)
    adds = set(after) > set(schema) or any(
        len(after[name].columns) > len(table.columns) for name, table in schema.items() if name in after
    )
    return Walk(statement, schema, tuple(_parts(statement, plan, schema, after)), after, known, adds)


def catalog_of(tables: tuple[str, ...]) -> Catalog:
    """The tables of a file as descriptors. Raises `NotModelled`."""
    catalog: dict[int, Descriptor] = {}
    for text in (one for one in tables if not is_data(one)):
        catalog |= {one.table_id: one for one in _plan(text, catalog).results}
    return catalog


def _plan(statement: str, catalog: Catalog) -> Plan:
    known = tuple(catalog.values())
    view = CatalogView(known)
    try:
        action = resolve(parse(statement), view)
        match action:
            case actions.CreateTable():
                check_has_key(action)
                return make_plan(action, None, table_id=len(known) + 1, tables=KnownTables(known))
            case actions.DropIndex():
                return make_plan(action, view.owner_of(action.index.text), tables=KnownTables(known))
            case actions.CreateIndex() | actions.AlterTable() | actions.RenameColumn():
                return make_plan(action, view.table(action.table.text), tables=KnownTables(known))
    except (DdlError, NothingToDo, FaultyPlan) as error:
        raise NotModelled(f"Schema Lab refuses {statement!r}: {error}") from None
    raise NotModelled(
        f"on Schema Lab tables and indexes are created, columns and constraints altered, not: {statement}"
    )


def _parts(statement: str, plan: Plan, before: Schema, after: Schema) -> Iterator[Part]:
    views: tuple[Schema, ...] = (before,)
    for step in plan.forward:
        kind = KINDS.get(step.kind)
        if kind is None:
            continue
        yield Part(kind, ", ".join(map(str, step.transitions)) or statement, views)
        if step.kind is StepKind.PUBLISH:
            views = (_padded(views[-1], after), _view(plan, step, before, after))
        elif step.kind is StepKind.DRAIN:
            views = views[-1:]


def _padded(view: Schema, after: Schema) -> Schema:
    """The view with the new columns, hidden: existing rows have them from the first version on."""
    padded = dict(view)
    for name, table in view.items():
        more = [
            one for one in after[name].columns if one.name not in table.names and hidden(one.name) not in table.names
        ]
        if len(after[name].columns) > len(table.columns):
            columns = (replace(one, name=hidden(one.name), is_required=False) for one in more)
            padded[name] = replace(table, columns=(*table.columns, *columns))
    return padded


def _view(plan: Plan, step: Step, before: Schema, after: Schema) -> Schema:
    name = plan.table
    if name not in before:
        is_public = step.published.state is State.PUBLIC
        return after if is_public else before
    if any(move.element.kind is Kind.DERIVED_COLUMN for move in plan.moves):
        raise NotModelled(
            "on Schema Lab a change of type keeps two columns: add a column, write both, drop the old one"
        )
    if any(move.element.kind.is_column and move.kind in (MoveKind.ADD, MoveKind.DROP) for move in plan.moves):
        if not all(move.element.kind.is_column or move.element.column is not None for move in plan.moves):
            raise NotModelled("on Schema Lab a column and its constraint are two statements")
        return {**after, **before, name: _columns_view(step.published, before[name], after[name])}
    adds = any(move.kind is not MoveKind.DROP for move in plan.moves)
    is_active = all(one.after in ACTIVE for one in step.transitions)
    return after if is_active == adds or not step.transitions else before


def _columns_view(version: Descriptor, before: Table, after: Table) -> Table:
    """The table with columns in the places of the rows, those hidden that are not public."""
    public = {column.name: column for column in version.public_columns}
    required = {
        version.column(one.columns[0]).name
        for one in version.constraints
        if one.rule == NOT_NULL and one.state in ACTIVE
    }
    placed = {one.name: one for one in (*before.columns, *after.columns)}

    def shown(column: Column) -> Column:
        if column.name not in public:
            return replace(column, name=hidden(column.name), is_required=False)
        return replace(column, is_required=public[column.name].not_null or column.name in required)

    kept = after if len(after.columns) < len(before.columns) else before
    return replace(kept, columns=tuple(map(shown, placed.values())))
