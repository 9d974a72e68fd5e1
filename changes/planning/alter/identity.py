"""A column becomes an identity, or no longer is one: one version, as for a default. Versions differ only in what an
insert without a value puts. Both require one, so under the older version such an insert is refused (23502)."""

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import IDENTITY, Column
from catalog.text.sentence import Sentence
from catalog.values.types import WHOLE
from changes.ddl.actions import SetIdentity
from changes.ddl.errors import DdlError, unsupported
from changes.ddl.identity import Numbers, check_numbers, plain_name
from changes.plan.model import Element, Move, MoveKind
from changes.planning.alter.columns import column_there
from changes.planning.draft import Sketch

NOT_IN_STATE = "55000"


def set_identity(sketch: Sketch, action: SetIdentity) -> None:
    """ADD GENERATED .. AS IDENTITY, DROP IDENTITY, and SET DEFAULT nextval(..) of the column's own sequence."""
    column, name, table = column_there(sketch, action.column), action.column, sketch.base
    position, of = name.position, f'column "{name}" of relation "{table.name}"'
    if action.sequence is not None and plain_name(action.sequence) != table.sequence_name(column):
        hint = f'A column takes the numbers of its own sequence, "{table.sequence_name(column)}".'
        raise unsupported(f"the sequence {action.sequence} as a default", position=position, hint=hint)
    if action.is_dropped:
        if column.identity:
            without = replace(column, identity=False, identity_always=False, identity_start=1, identity_generation=1)
            _edit(sketch, replace(without, sequence=None))
        elif action.forgiving:
            sketch.notices.append(f"{of} is not an identity column, skipping")
        else:
            raise DdlError(NOT_IN_STATE, f"{of} is not an identity column", position=position)
        return
    if column.type not in WHOLE:
        raise DdlError("22023", "identity column type must be smallint, integer, or bigint", position=position)
    if column.identity and action.sequence is None:
        raise DdlError(NOT_IN_STATE, f"{of} is already an identity column", position=position)
    if column.default is not None:
        raise DdlError(NOT_IN_STATE, f"{of} already has a default value", position=position)
    if not column.not_null:
        message = f"{of} must be declared NOT NULL before identity can be added"
        raise DdlError(NOT_IN_STATE, message, position=position)
    if column.identity:
        sketch.notices.append(f"{of} has these numbers, skipping")
        return
    check_numbers(Numbers(action.start, action.maximum), column.type, position)
    new = replace(column, identity=True, identity_always=action.is_always, identity_start=action.start)
    _edit(sketch, replace(new, sequence=action.sequence_name))
    begin = Sentence(
        "Numbers of {column} begin at {n} unless setval says otherwise, whatever rows have.",
        column=column.name,
        n=action.start,
    )
    sketch.dangers.append(begin)


def _edit(sketch: Sketch, column: Column) -> None:
    def edit(table: Descriptor) -> Descriptor:
        given = {name: getattr(column, name) for name in IDENTITY}
        if column.identity:
            given["identity_generation"] = table.version + 1
        return replace(table, columns=tuple(replace(c, **given) if c.id == column.id else c for c in table.columns))

    sketch.edits.append(edit)
    sketch.moves.append(Move(Element(column.kind, column.id, column.name), MoveKind.ALTER))
