"""ALTER TABLE as one draft: each thing it does, settled on the table as it is, with what it takes along.

    ADD COLUMN     with its CHECKs and UNIQUEs: a column, constraints, unique indexes
    DROP COLUMN    its NOT NULL, the CHECKs that read it and the indexes that cover it go with it
    TYPE           a twin of the new type, which takes the column's place in one version
    SET NOT NULL   a constraint until it is public; then the column bears it

What a change may not do at once is refused here by name: use what it drops, or touch one column twice.
"""

from __future__ import annotations

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, Derivation, Kind, State
from changes.actions import (
    AddColumn,
    Alteration,
    AlterTable,
    DropColumn,
    DropConstraint,
    IndexPart,
    Name,
    NewCheck,
    NewUnique,
    SetDefault,
    SetNotNull,
    SetType,
)
from changes.composer import Draft, Swap
from changes.ddl_alter import OF_THE_KEY, impossible
from changes.ddl_check import NothingToDo
from changes.ddl_columns import constant, read_default
from changes.ddl_errors import (
    DUPLICATE_COLUMN,
    INVALID_TABLE_DEFINITION,
    NOT_READY,
    NOT_SUPPORTED,
    UNDEFINED_COLUMN,
    UNDEFINED_OBJECT,
    DdlError,
    unsupported,
)
from changes.ddl_source import Source
from changes.defaults import fill_value
from changes.placing import placed
from changes.plan import Direction, Element, Move
from changes.sketch import Sketch, read_by
from changes.types import INVERTIBLE, cast_text, holds_every, retyped_default
from expressions.errors import CHECK_VIOLATION, NOT_NULL_VIOLATION
from expressions.rows import value_of
from expressions.typed import Context, PyValue
from storage import encoding

Row = dict[ColumnId, PyValue]


def altered(action: AlterTable, table: Descriptor, context: Context) -> Draft:
    """The draft of everything that an ALTER TABLE does; raises `DdlError`, or `NothingToDo`."""
    alter = _Altering(table, context)
    _refuse_twice(action)
    for alteration in sorted(action.alterations, key=_turn_of):
        alter.take(alteration)
    if not alter.sketch.moves:
        raise NothingToDo("; ".join(alter.sketch.notices) or f"table {table.name} is so already, skipping")
    return alter.sketch.draft()


def _turn_of(alteration: Alteration) -> int:
    """Drops first, then new columns and types, so that what rests on columns finds them as they will be."""
    order = (DropColumn, SetType, AddColumn)
    return order.index(type(alteration)) if type(alteration) in order else len(order)


def _refuse_twice(action: AlterTable) -> None:
    """One column, one thing: more could only be done one after the other."""
    seen: dict[str, str] = {}
    for alteration in action.alterations:
        if isinstance(alteration, AddColumn):
            name, what = alteration.column.name, "added"
        elif isinstance(alteration, DropColumn | SetType | SetNotNull | SetDefault):
            name, what = alteration.column, type(alteration).__name__
        else:
            continue
        together = {seen.get(name.text), what}
        if None not in together and together != {"SetNotNull", "SetDefault"}:
            message = f"column {name} is changed twice in one statement"
            hint = "Send two statements; a new column can be given its constraints and default in ADD COLUMN."
            raise DdlError(NOT_SUPPORTED, message, position=name.position, hint=hint)
        seen[name.text] = what


class _Altering:
    """A table being altered, one alteration after the other."""

    def __init__(self, table: Descriptor, context: Context) -> None:
        self.table, self.context = table, context
        self.sketch = Sketch(table)
        self.fresh: Row = {}
        """What the rows that are there have in the columns that are added."""

    def take(self, alteration: Alteration) -> None:
        match alteration:
            case AddColumn():
                self._add_column(alteration)
            case DropColumn():
                self._drop_column(alteration)
            case SetNotNull():
                self._set_not_null(alteration)
            case SetDefault():
                self._set_default(alteration)
            case SetType():
                self._set_type(alteration)
            case NewCheck():
                self._add_check(alteration)
            case NewUnique():
                self._add_unique(alteration)
            case DropConstraint():
                self._drop_constraint(alteration)

    # --- columns

    def _add_column(self, action: AddColumn) -> None:
        new, sketch = action.column, self.sketch
        if any(column.name == new.name.text for column in self.table.columns):
            message = f'column "{new.name}" of relation "{self.table.name}" already exists'
            if action.forgiving:
                sketch.notices.append(f"{message}, skipping")
                return
            raise DdlError(DUPLICATE_COLUMN, message, position=new.name.position)
        value = self._fill_value(action)
        column = Column(
            id=sketch.planned.next_column_id,
            name=new.name.text,
            type=new.type,
            state=State.DELETE_ONLY,
            not_null=new.not_null,
            default=new.default,
            fill_value=None if new.default is None else encoding.encode(new.type, value),
            added_with_default=new.default is not None,
        )
        sketch.add_column(column)
        self.fresh[column.id] = value
        if column.required:
            shown = "NULL" if value is None else constant(new.type, value)
            sketch.dangers.append(f"Every row of {self.table.name} is written once: its {column.name} becomes {shown}.")
        for check in action.checks:
            self._add_check(check)
        for unique in action.uniques:
            self._add_unique(unique)

    def _fill_value(self, action: AddColumn) -> PyValue:
        new = action.column
        if new.identity:
            hint = "Create another table with an identity column, and copy the rows."
            raise unsupported(
                "an identity or serial column on a table that is there", position=new.name.position, hint=hint
            )
        value = None
        if new.default is not None:
            value = fill_value(new.type, new.default, new.name.text, new.default_position, self.context)
        if new.not_null and new.default is None:
            hint = "Give it a DEFAULT; or add it without NOT NULL, fill it with UPDATE, then SET NOT NULL."
            what = "NOT NULL without a default on an added column: the rows that are there have no value. It"
            raise unsupported(what, position=new.name.position, hint=hint)
        if new.not_null and value is None:
            message = f"the default of column {new.name} is NULL, and the column is NOT NULL"
            raise DdlError(NOT_NULL_VIOLATION, message, position=new.default_position or new.name.position)
        return value

    def _drop_column(self, action: DropColumn) -> None:
        column = self._column(action.column, forgiving=action.forgiving)
        if column is None:
            return
        sketch, name = self.sketch, action.column
        if column.id in self.table.primary_key:
            raise impossible(f"{OF_THE_KEY}, {column.name} among them,", name.position, "Create another table.")
        if column.id in self.table.sharding_key:
            raise impossible(f"dropping {column.name}, by which rows are spread,", name.position, "Keep it.")
        sketch.dropped.add(column.id)
        kind = Kind.REQUIRED_COLUMN if column.added_with_default else Kind.OPTIONAL_COLUMN
        sketch.drop(Element(kind, column.id, column.name))
        taken = [index for index in self.table.indexes if column.id in read_by(index)]
        for index in taken:
            sketch.drop_index(index)
        for constraint in (one for one in self.table.constraints if column.id in read_by(one)):
            sketch.drop_constraint(constraint)
            sketch.dangers.append(f"Constraint {constraint.name} reads {column.name} and is dropped with it.")
        if column.not_null:
            sketch.drop(self._not_null(column))
        sketch.dangers.append(
            f"All values of {column.name} are lost; undoing the change later restores the column, not its values."
        )
        for index in taken:
            sketch.dangers.append(
                f"{str(index.kind.value).capitalize()} {index.name} covers it and is dropped with it."
            )

    def _not_null(self, column: Column) -> Element:
        """The NOT NULL of a column as an element of its own, which it is while it moves."""
        name = f"{self.table.name}_{column.name}_not_null"
        return Element(Kind.CONSTRAINT, self.sketch.next_constraint(), name, column.id)

    def _column(self, name: Name, *, forgiving: bool = False) -> Column | None:
        """A public column of the table as it is."""
        column = next((c for c in self.table.columns if c.name == name.text), None)
        if column is None:
            message = f'column "{name}" of relation "{self.table.name}" does not exist'
            if forgiving:
                self.sketch.notices.append(f"{message}, skipping")
                return None
            raise DdlError(UNDEFINED_COLUMN, message, position=name.position)
        if column.state is not State.PUBLIC:
            message = f"column {name} is {column.state.value}: only a public column can be changed"
            raise DdlError(NOT_READY, message, position=name.position, hint="Another change of it has not ended.")
        return column

    def _there(self, name: Name) -> Column:
        column = self._column(name)
        assert column is not None, "a column that is not there is refused"
        return column

    # --- NOT NULL and defaults

    def _set_not_null(self, action: SetNotNull) -> None:
        column, name = self._there(action.column), action.column
        if column.not_null == action.not_null:
            said = "is NOT NULL already" if column.not_null else "is not NOT NULL"
            self.sketch.notices.append(f"column {name} of {self.table.name} {said}, skipping")
            return
        if action.not_null:
            self.sketch.moves.append(Move(self._not_null(column), Direction.ADD))
            self.sketch.dangers += [
                f"Every row of {self.table.name} is read once; one without {column.name} makes the change walk back.",
                f"From the first version on a write of NULL into {column.name} is refused.",
            ]
            return
        if column.id in self.table.primary_key:
            message = f'column "{name}" is in a primary key'
            raise DdlError(INVALID_TABLE_DEFINITION, message, position=name.position)
        if column.identity:
            message = f'column "{name}" of relation "{self.table.name}" is an identity column'
            raise DdlError("42601", message, position=name.position)
        self.sketch.drop(self._not_null(column))

    def _set_default(self, action: SetDefault) -> None:
        column, name, sql = self._there(action.column), action.column, action.default
        if column.identity:
            message = f'column "{name}" of relation "{self.table.name}" is an identity column'
            raise DdlError("42601", message, position=name.position)
        text = None if sql is None else read_default(column.type, sql.node, Source(sql.source), column.name)
        if text == column.default:
            self.sketch.notices.append(f"column {name} of {self.table.name} has that default already, skipping")
            return

        def edit(table: Descriptor) -> Descriptor:
            new = replace(table.column(column.id), default=text)
            return replace(table, columns=tuple(new if c.id == new.id else c for c in table.columns))

        self.sketch.edits.append(edit)
        self.sketch.moves.append(Move(Element(column.kind, column.id, column.name), Direction.ALTER))
        self.sketch.dangers.append(f"Rows that are there keep their {column.name}; only later inserts see the default.")

    # --- types

    def _set_type(self, action: SetType) -> None:
        column = self._there(action.column)
        if column.type is action.type and action.using is None:
            self.sketch.notices.append(f"column {column.name} is of type {action.type.value} already, skipping")
            return
        self._refuse_type_change(column, action)
        forth = cast_text(self.table, column, action.type)
        self._check_using(action, column, forth)
        twin = Column(
            id=self.sketch.planned.next_column_id,
            name=f"{column.name} (as {action.type.value})",
            type=action.type,
            state=State.DELETE_ONLY,
        )
        back = cast_text(self.table, replace(twin, name=column.name), column.type, instead_of=column)
        element = self.sketch.add_column(replace(twin, derived=Derivation(column.id, forth, inverse=back)))
        old = Element(Kind.DERIVED_COLUMN, column.id, column.name)
        self.sketch.drop(old)
        self.sketch.retyped.add(column.id)
        default = retyped_default(column, action.type, action.position)
        hidden = f"{column.name} (was {column.type.value})"
        self.sketch.swaps.append(Swap(element, old, hidden, back, default))
        was, becomes = column.type.value, action.type.value
        misfit = f"A value of {column.name} that is no {becomes} makes the change walk back, and names the row."
        self.sketch.dangers += [
            f"Every row of {self.table.name} is rewritten: a {becomes} stands beside the {was}, then takes its place.",
            *([] if holds_every(action.type, column.type) else [misfit]),
            f"For one version after the swap a value that {was} can't hold is refused: older nodes still read it.",
        ]

    def _refuse_type_change(self, column: Column, action: SetType) -> None:
        name, position = column.name, action.column.position
        if column.id in self.table.primary_key or column.id in self.table.sharding_key:
            raise impossible(f"a type change of {name}, a column of the key,", position, "Create another table.")
        resting = [index.name for index in self.table.indexes if column.id in read_by(index)]
        resting += [one.name for one in self.table.constraints if column.id in read_by(one)]
        if resting:
            hint = f"Drop {', '.join(resting)}, change the type, and create it again."
            what = f"a type change of {name}, which is indexed or constrained by {', '.join(resting)},"
            raise unsupported(what, position=position, hint=hint)
        if column.identity:
            raise unsupported(f"a type change of {name}, an identity column,", position=position)
        if (column.type, action.type) not in INVERTIBLE:
            known = ", ".join(to.value for of, to in sorted(INVERTIBLE, key=str) if of is column.type)
            what = f"a cast without an inverse, from {column.type.value} to {action.type.value},"
            hint = f"Older nodes must still be served while it moves. {column.type.value} can become {known}."
            raise unsupported(what, position=action.position, hint=hint)

    def _check_using(self, action: SetType, column: Column, forth: str) -> None:
        if action.using is None:
            return
        kept = self.sketch.expression(action.using, action.type, "USING", action.position)
        if kept != forth:
            hint = (
                f"Write USING {column.name}::{action.type.value}, or add a column, fill it with UPDATE, drop this one."
            )
            what = f"a cast without an inverse, USING {action.using.text},"
            raise unsupported(what, position=action.position, hint=hint)

    # --- constraints

    def _add_check(self, check: NewCheck) -> None:
        constraint = self.sketch.add_check(check)
        self._check_fill_values(constraint, check)
        self.sketch.dangers += [
            f"Every row of {self.table.name} is read once; one that breaks {constraint.name} turns the change back.",
            f"A write that breaks {constraint.name} is refused from write-only on, before anybody relies on it.",
        ]

    def _check_fill_values(self, constraint: Constraint, check: NewCheck) -> None:
        """A CHECK that reads nothing but added columns has one answer for all rows that are there."""
        assert constraint.expression is not None, "a check has an expression"
        if not self.fresh.keys() >= set(constraint.columns) or not constraint.columns:
            return
        with placed(check.expression.source, otherwise=check.position):
            holds = value_of(self.sketch.planned, constraint.expression, self.fresh)
        if holds is False:
            names = ", ".join(self.sketch.planned.column(column).name for column in constraint.columns)
            message = f"the fill value of {names} violates check constraint {constraint.name}"
            raise DdlError(CHECK_VIOLATION, message, position=check.position, hint="Choose another default.")

    def _add_unique(self, unique: NewUnique) -> None:
        parts = tuple(IndexPart(column) for column in unique.columns)
        _, index = self.sketch.add_index(unique.name, parts, unique=True)
        same = [c for c in index.column_ids if self.fresh.get(c) is not None]
        self.sketch.dangers.append(
            f"If two rows have the same {_names(unique.columns)} the check fails, and all walks back."
        )
        if len(same) == len(index.column_ids):
            self.sketch.dangers.append(f"All rows get the same {_names(unique.columns)}: two rows are one too many.")

    def _drop_constraint(self, action: DropConstraint) -> None:
        name = action.name
        constraint = next((one for one in self.table.constraints if one.name == name.text), None)
        index = next((one for one in self.table.indexes if one.unique and one.name == name.text), None)
        if constraint is not None:
            self.sketch.drop_constraint(constraint)
            self.sketch.dangers.append(
                f"From the first version past the check on, rows that break {name} are accepted."
            )
        elif index is not None:
            self.sketch.drop_index(index)
            self.sketch.dangers.append(
                f"Equal values are accepted once {name} is delete-only; its entries are deleted."
            )
        else:
            self._no_such_constraint(action)

    def _no_such_constraint(self, action: DropConstraint) -> None:
        name, hint = action.name, None
        message = f'constraint "{name}" of relation "{self.table.name}" does not exist'
        if name.text == f"{self.table.name}_pkey":
            raise impossible(OF_THE_KEY, name.position, "Create another table.")
        for column in self.table.columns:
            if column.not_null and name.text == f"{self.table.name}_{column.name}_not_null":
                hint = f"Write ALTER COLUMN {column.name} DROP NOT NULL."
        if action.forgiving and hint is None:
            self.sketch.notices.append(f"{message}, skipping")
            return
        raise DdlError(UNDEFINED_OBJECT, message, position=name.position, hint=hint)


def _names(columns: tuple[Name, ...]) -> str:
    return ", ".join(column.text for column in columns)
