"""ALTER TABLE on the type of a column: a twin of the new type, which takes the column's place in one version.

Dependents of the column would have to change its type with it, so a column that is indexed or constrained stays.
"""

from __future__ import annotations

from dataclasses import replace

from catalog.elements import REFERENCED, Column, Constraint, Derivation, Kind, State
from catalog.types import LENGTHS
from changes.ddl.actions import SetType
from changes.ddl.alter import impossible
from changes.ddl.errors import unsupported
from changes.plan.model import Element
from changes.planning.alter_columns import column_there
from changes.planning.castable_types import INVERTIBLE, cast_text, holds_every, retyped_default
from changes.planning.dependents import referring_words
from changes.planning.draft import Sketch
from changes.planning.stages import Swap
from storage.reads import reads


def set_type(sketch: Sketch, action: SetType) -> None:
    """ALTER COLUMN .. TYPE."""
    column = column_there(sketch, action.column)
    if column.type is action.type and column.length == action.length and action.using is None:
        sketch.notices.append(f"column {column.name} is of type {column.type_name} already, skipping")
        return
    if LENGTHS.keys() & {column.type, action.type}:
        _refuse_length(column, action)
    _refuse_type_change(sketch, column, action)
    forth = cast_text(sketch.base, column, action.type)
    _check_using(sketch, action, column, forth)
    twin = Column(
        id=sketch.planned.next_column_id,
        name=f"{column.name} (as {action.type.value})",
        type=action.type,
        state=State.DELETE_ONLY,
    )
    back = cast_text(sketch.base, replace(twin, name=column.name), column.type, instead_of=column)
    element = sketch.add_column(replace(twin, derived=Derivation(column.id, forth, inverse=back)))
    old = Element(Kind.DERIVED_COLUMN, column.id, column.name)
    sketch.drop(old)
    sketch.retyped.add(column.id)
    default = retyped_default(column, action.type, action.position)
    hidden = f"{column.name} (was {column.type.value})"
    sketch.swaps.append(Swap(element, old, hidden, back, default))
    was, becomes = column.type.value, action.type.value
    one = f"{'an' if becomes == 'integer' else 'a'} {becomes}"
    misfit = f"A value of {column.name} that is no {becomes} makes the change roll back, and names the row."
    sketch.dangers += [
        f"Every row of {sketch.base.name} is rewritten: {one} stands beside the {was}, then takes its place.",
        *([] if holds_every(action.type, column.type) else [misfit]),
    ]


def _refuse_length(column: Column, action: SetType) -> None:
    """Until a length can be made longer in one step and shorter by a verification."""
    hint = "Add a column of the new type, fill it with UPDATE, drop this one, and rename it."
    what = f"a type change of {column.name} to or from varchar or char"
    raise unsupported(what, position=action.position, hint=hint)


def _refuse_type_change(sketch: Sketch, column: Column, action: SetType) -> None:
    name, position = column.name, action.column.position
    if column.id in sketch.base.primary_key or column.id in sketch.base.sharding_key:
        raise impossible(f"a type change of {name}, a column of the key,", position, "Create another table.")
    dependents = [index.name for index in sketch.base.indexes if column.id in reads(index)]
    dependents += [_called(one, sketch) for one in sketch.base.constraints if column.id in reads(one)]
    if dependents:
        hint = f"Drop {', '.join(dependents)}, change the type, and create it again."
        what = f"a type change of {name}, which is indexed or constrained by {', '.join(dependents)},"
        raise unsupported(what, position=position, hint=hint)
    if column.identity:
        raise unsupported(f"a type change of {name}, an identity column,", position=position)
    if (column.type, action.type) not in INVERTIBLE:
        known = ", ".join(to.value for of, to in sorted(INVERTIBLE, key=str) if of is column.type)
        what = f"a cast without an inverse, from {column.type.value} to {action.type.value},"
        hint = f"Older nodes must still be served while it moves. {column.type.value} can become {known}."
        raise unsupported(what, position=action.position, hint=hint)


def _called(constraint: Constraint, sketch: Sketch) -> str:
    if constraint.rule != REFERENCED:
        return constraint.name
    return referring_words(constraint, sketch.base, sketch.tables)


def _check_using(sketch: Sketch, action: SetType, column: Column, forth: str) -> None:
    if action.using is None:
        return
    kept = sketch.expression(action.using, action.type, "USING", action.position)
    if kept != forth:
        hint = f"Write USING {column.name}::{action.type.value}, or add a column, fill it with UPDATE, drop this one."
        what = f"a cast without an inverse, USING {action.using.text},"
        raise unsupported(what, position=action.position, hint=hint)
