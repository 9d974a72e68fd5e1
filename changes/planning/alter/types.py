"""ALTER TABLE on the type of a column: a twin of the new type takes the column's place in one version. An indexed or
constrained column keeps its type, since its dependents would have to change with it.

A type that takes every stored value, such as a longer varchar, needs one version and no twin: nodes of the version
before read longer values than they may write, since lengths are checked on assignment. It comes last, since no rollback
could shorten the column. A wider whole number needs two: nodes of the narrower type cannot read larger values, so the
first takes what the old type takes, the second all.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from catalog.descriptor import Descriptor
from catalog.elements import REFERENCED, Column, Constraint, Derivation, Kind, State
from catalog.text.sentence import Sentence
from catalog.text.sql_names import quoted
from catalog.values.times import SECOND_DIGITS_MAX
from catalog.values.types import ARRAYS, MOMENTS, TEXTS, WHOLE, SqlType, holds_as_stored, type_name
from changes.ddl.actions import SetType
from changes.ddl.alter import impossible
from changes.ddl.errors import unsupported
from changes.plan.element_states import with_changed
from changes.plan.model import Element, Move, MoveKind
from changes.planning.alter.castable_types import INVERTIBLE, cast_text, holds_every, retyped_default
from changes.planning.alter.columns import column_there
from changes.planning.dependents import referring_words
from changes.planning.draft import Sketch
from changes.planning.stages import Swap
from expressions.rows import canonical, columns_of, compiled, is_local
from expressions.typed import Call, walk
from storage.reads import reads

_CHAR = re.compile(r"\b(bp)?char(acter)?\b")
SHOWN = {SqlType.CHAR: "char"}
"""Types under the name that a statement gives them."""


def is_stored_alike(action: SetType, table: Descriptor) -> bool:
    """True when the column's stored values need not change."""
    found = (column for column in table.columns if column.name == action.column.text)
    return any(holds_as_stored(action.type, action.length, column.type, column.length) for column in found)


def set_type(sketch: Sketch, action: SetType) -> None:
    column = column_there(sketch, action.column)
    if column.type is action.type and column.length == action.length and action.using is None:
        sketch.notices.append(f"column {column.name} is of type {column.type_name} already, skipping")
        return
    if is_stored_alike(action, sketch.base):
        _widen(sketch, column, action)
        return
    _refuse_type_change(sketch, column, action)
    twin = Column(
        id=sketch.planned.next_column_id, name="", type=action.type, state=State.DELETE_ONLY, length=action.length
    )
    twin = replace(twin, name=f"{column.name} (as {twin.type_name})")
    forth = cast_text(sketch.base, column, action.type)
    cut = canonical(sketch.base, f"{quoted(column.name)}::{twin.type_name}", returns=twin.type, what="a type change")
    is_cut = _check_using(sketch, action, column, forth, cut) == cut != forth and twin.type in TEXTS
    forth = cut if is_cut else forth
    back = cast_text(sketch.base, replace(twin, name=column.name), column.type, instead_of=column)
    element = sketch.add_column(replace(twin, derived=Derivation(column.id, forth, inverse=back)))
    hidden = f"{column.name} (was {column.type_name})"
    old = Element(Kind.DERIVED_COLUMN, column.id, hidden)
    sketch.drop(old)
    sketch.retyped.add(column.id)
    default = retyped_default(column, twin, action.position)
    sketch.swaps.append(Swap(element, old, hidden, back, default))
    was, becomes = column.type_name, twin.type_name
    vowel, other = (
        "Every row of {name} is rewritten: an {new} stands beside the {old}, then takes its place.",
        "Every row of {name} is rewritten: a {new} stands beside the {old}, then takes its place.",
    )
    misfit = Sentence(
        "A value of {column} that is no {type} makes the change roll back, and names the row.",
        column=column.name,
        type=becomes,
    )
    sketch.costs.append(Sentence(vowel if becomes == "integer" else other, name=sketch.base.name, new=becomes, old=was))
    sketch.dangers += [
        *([] if is_cut or holds_every(twin, column) else [misfit]),
        *(
            [
                Sentence(
                    "Values of {column} longer than {n} characters are cut, as the cast says.",
                    column=column.name,
                    n=twin.length,
                )
            ]
            if is_cut
            else []
        ),
        *_rounding(column, twin),
    ]


def _rounding(column: Column, twin: Column) -> list[str]:
    if twin.type not in MOMENTS or twin.length is None or column.type is SqlType.DATE:
        return []
    if column.type in MOMENTS and column.length is not None and column.length <= twin.length:
        return []
    rounded = Sentence(
        "Values of {column} are rounded to what {type} keeps of a second.", column=column.name, type=twin.type_name
    )
    if twin.type is SqlType.TIME or twin.length == SECOND_DIGITS_MAX:
        return [rounded]
    past = "A value of {column} that is rounded into the year 10000 makes the change roll back, and names the row."
    return [rounded, Sentence(past, column=column.name)]


def _widen(sketch: Sketch, column: Column, action: SetType) -> None:
    is_wider_number = action.type in WHOLE and action.type.typlen > column.type.typlen
    if column.type is not action.type:
        # both sides of a foreign key have one type, of any length
        keys = (*sketch.base.foreign_keys, *sketch.base.referenced_by)
        names = ", ".join(_called(one, sketch) for one in keys if column.id in one.columns)
        if names:
            what = f"a change of {column.name} from {column.type.value} to {action.type.value}, used by {names},"
            hint = f"Drop {names}, change the type on both sides, and create it again."
            raise unsupported(what, position=action.column.position, hint=hint)
        _refuse_beside_char(sketch, column, action)
    if is_wider_number:
        _refuse_beside_arithmetic(sketch, column, action)
    wider = replace(column, type=action.type, length=action.length)
    if action.using is not None:
        whole = f"{quoted(column.name)}::{wider.type_name}"
        same = canonical(sketch.base, whole, returns=action.type, what="a type change")
        bare = canonical(sketch.base, quoted(column.name), returns=column.type, what="a type change")
        _check_using(sketch, action, column, same, cast_text(sketch.base, column, action.type), bare)

    def edit(table: Descriptor, length: int | None = wider.length) -> Descriptor:
        return with_changed(table, replace(table.column(column.id), type=wider.type, length=length))

    sketch.moves.append(Move(Element(column.kind, column.id, column.name), MoveKind.ALTER))
    sketch.costs.append(
        Sentence(
            "No row is read or written: {new} takes all that {old} does.", new=wider.type_name, old=column.type_name
        )
    )
    if not is_wider_number:
        sketch.last_edits.append(edit)
        return
    sketch.last_edits.append(partial(edit, length=column.type.typlen))
    sketch.lifted.append(edit)
    sketch.dangers.append(
        Sentence(
            "Values of {column} that are no {type} are accepted from the second version on, because nodes that use the"
            " version before the first cannot read them.",
            column=column.name,
            type=column.type_name,
        )
    )


def _refuse_beside_char(sketch: Sketch, column: Column, action: SetType) -> None:
    """A char compares with a varchar without trailing blanks, with a text as it is: a rule would take other rows."""
    rules = [*((one.name, one.where) for one in sketch.base.indexes)]
    rules += [(one.name, one.expression) for one in sketch.base.constraints]
    for name, rule in rules:
        read = frozenset() if rule is None else columns_of(rule)
        if rule is None or column.id not in read:
            continue
        if _CHAR.search(rule) or any(sketch.base.column(one).type is SqlType.CHAR for one in read):
            what = f"a change of {column.name} from {column.type.value} to {action.type.value} beside a char in {name}"
            hint = f"Drop {name}, change the type, and create it again."
            raise unsupported(what, position=action.column.position, hint=hint)


def _refuse_beside_arithmetic(sketch: Sketch, column: Column, action: SetType) -> None:
    """A result that overflows in the narrower type is a value in the wider: nodes of two versions would disagree."""
    rules = [*((one.name, one.where) for one in sketch.base.indexes)]
    rules += [(one.name, one.expression) for one in sketch.base.constraints]
    for name, rule in rules:
        if rule is None or column.id not in columns_of(rule):
            continue
        if not is_local(sketch.base, rule) or any(
            isinstance(part, Call) and part.name not in COMPARING for part in walk(compiled(sketch.base, rule))
        ):
            what = (
                f"a change of {column.name} from {column.type.value} to {action.type.value} beside what {name} computes"
            )
            hint = f"Drop {name}, change the type, and create it again."
            raise unsupported(what, position=action.column.position, hint=hint)


COMPARING = frozenset(
    {"=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "DISTINCT", "NOT DISTINCT", "IS NULL", "IS NOT NULL"}
    | {"AND", "OR", "NOT", "case", "coalesce", "cast"}
)
"""Calls that give the same value of whole numbers of all widths."""


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
    if {column.type, action.type} & ARRAYS:
        what = f"a change of {name} from {column.type_name} to {type_name(action.type, action.length)}"
        raise unsupported(what, position=action.position, hint="Add a column, fill it with UPDATE, and drop this one.")
    if (column.type, action.type) not in INVERTIBLE:
        known = ", ".join(sorted(SHOWN.get(to, to.value) for of, to in INVERTIBLE if of is column.type))
        what = f"a cast without an inverse, from {column.type.value} to {action.type.value},"
        hint = f"Older nodes must still be served while it moves. {column.type.value} can become {known}."
        raise unsupported(what, position=action.position, hint=hint)


def _called(constraint: Constraint, sketch: Sketch) -> str:
    if constraint.rule != REFERENCED:
        return constraint.name
    return referring_words(constraint, sketch.base, sketch.tables)


def _check_using(sketch: Sketch, action: SetType, column: Column, *casts: str) -> str | None:
    """The cast that is written out, which must be one of these. Raises `DdlError`."""
    if action.using is None:
        return None
    kept = sketch.expression(action.using, action.type, "USING", action.position)
    base, cast = sketch.base, kept if kept in casts else None
    if cast is None and is_local(base, kept):  # another spelling: int4 is integer
        cast = next((one for one in casts if compiled(base, kept) == compiled(base, one)), None)
    if cast is None:
        hint = f"Write USING {column.name}::{action.type.value}, or add a column, fill it with UPDATE, drop this one."
        what = f"a cast without an inverse, USING {action.using.text},"
        raise unsupported(what, position=action.position, hint=hint)
    return cast
