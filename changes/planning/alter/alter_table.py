"""ALTER TABLE as one draft: its clauses become elements. A change may not use what it drops, nor touch one column
twice."""

from __future__ import annotations

from catalog.descriptor import Descriptor
from changes.ddl import actions
from changes.ddl.errors import NOT_SUPPORTED, TOO_LONG, DdlError
from changes.ddl.resolve import NothingToDo
from changes.planning.alter.columns import add_column, drop_column, require_values, set_default, set_not_null
from changes.planning.alter.constraints import add_check, add_unique, drop_constraint, use_index
from changes.planning.alter.foreign_keys import add_foreign_key, slow_deletes
from changes.planning.alter.identity import set_identity
from changes.planning.alter.types import is_stored_alike, set_type
from changes.planning.coordination import set_coordination
from changes.planning.draft import Sketch
from changes.planning.sharding import set_sharding
from changes.planning.stages import Draft
from changes.planning.tables import Tables
from expressions.typed import Context

MOVES_MAX = 100
"""Things that one statement may do: a constraint behind a column is one by itself."""


TOGETHER = ({"SetNotNull", "SetDefault"}, {"SetNotNull", "SetType, stored alike"})
"""What one statement may do with one column at once."""


def altered(action: actions.AlterTable, table: Descriptor, context: Context, tables: Tables) -> Draft:
    """Raises `DdlError` or `NothingToDo`."""
    # A plan, its proof and its pages grow with the square of what moves together
    added = [one for one in action.alterations if isinstance(one, actions.AddColumn)]
    behind = sum(len(one.checks) + len(one.uniques) + len(one.foreign_keys) for one in added)
    if len(action.alterations) + behind > MOVES_MAX:
        message = f"one ALTER TABLE may do at most {MOVES_MAX} things at once"
        hint = "do them in several statements, one after the other"
        raise DdlError(TOO_LONG, message, position=action.table.position, hint=hint)
    names = {one.name.text for one in action.alterations if isinstance(one, actions.DropConstraint)}
    dropped = {one.column.text for one in action.alterations if isinstance(one, actions.DropColumn)}
    columns = {column.id for column in table.columns if column.name in dropped}
    leaving = (one for one in table.foreign_keys if one.name in names or not columns.isdisjoint(one.columns))
    sketch = Sketch(table, context, tables, frozenset(one.id for one in leaving))
    _refuse_twice(action, table)
    for alteration in sorted(action.alterations, key=_order_of):
        _apply(alteration, sketch)
    if not sketch.moves:
        raise NothingToDo("; ".join(sketch.notices) or f"table {table.name} is so already, skipping")
    sketch.dangers += slow_deletes(sketch)
    return sketch.draft()


def _order_of(alteration: actions.Alteration) -> int:
    """Drops first, then new columns and types, so that dependents find the columns; a primary key last."""
    order = (actions.DropConstraint, actions.DropColumn, actions.SetType, actions.AddColumn)
    if type(alteration) in order:
        return order.index(type(alteration))
    return len(order) + (isinstance(alteration, actions.NewUnique | actions.UseIndex) and alteration.primary)


def _refuse_twice(action: actions.AlterTable, table: Descriptor) -> None:
    """One alteration a column; sharding and coordination alone. NOT NULL goes together with a default, and with a type
    that takes all stored values."""
    alone = next(
        (one for one in action.alterations if isinstance(one, actions.SetSharding | actions.SetCoordination)), None
    )
    if alone is not None and len(action.alterations) > 1:
        what = "how rows are spread" if isinstance(alone, actions.SetSharding) else "coordination"
        message = f"{what} is changed together with something else in one statement"
        raise DdlError(NOT_SUPPORTED, message, position=alone.position, hint="Send two statements.")
    seen: dict[str, str] = {}
    for alteration in action.alterations:
        if isinstance(alteration, actions.AddColumn):
            name, what = alteration.column.name, "added"
        elif isinstance(
            alteration,
            actions.DropColumn | actions.SetType | actions.SetNotNull | actions.SetDefault | actions.SetIdentity,
        ):
            name, what = alteration.column, type(alteration).__name__
            if isinstance(alteration, actions.SetType) and is_stored_alike(alteration, table):
                what = "SetType, stored alike"
        else:
            continue
        together = {seen.get(name.text), what}
        if None not in together and together not in TOGETHER:
            message = f"column {name} is changed twice in one statement"
            hint = "Send two statements; a new column can be given its constraints and default in ADD COLUMN."
            raise DdlError(NOT_SUPPORTED, message, position=name.position, hint=hint)
        seen[name.text] = what


def _apply(alteration: actions.Alteration, sketch: Sketch) -> None:
    match alteration:
        case actions.AddColumn():
            add_column(sketch, alteration)
        case actions.DropColumn():
            drop_column(sketch, alteration)
        case actions.SetNotNull():
            set_not_null(sketch, alteration)
        case actions.SetDefault():
            set_default(sketch, alteration)
        case actions.SetIdentity():
            set_identity(sketch, alteration)
        case actions.SetType():
            set_type(sketch, alteration)
        case actions.SetSharding():
            set_sharding(sketch, alteration)
        case actions.SetCoordination():
            set_coordination(sketch, alteration)
        case actions.NewCheck():
            add_check(sketch, alteration)
        case actions.NewUnique():
            add_unique(sketch, alteration)
            if alteration.primary:
                require_values(sketch, alteration.columns)
        case actions.UseIndex():
            columns = use_index(sketch, alteration)
            if alteration.primary:
                require_values(sketch, columns)
        case actions.NewForeignKey():
            add_foreign_key(sketch, alteration)
        case actions.DropConstraint():
            drop_constraint(sketch, alteration)
