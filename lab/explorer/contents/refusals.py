"""Why a version refuses a statement, in words: the first reason that holds. The explorer only asks whether it does."""

from collections.abc import Mapping

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.text.message import NOTHING, Text
from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Occurrence
from lab.explorer.contents.self_references import reference
from lab.explorer.contents.statements import (
    INSERT,
    INSERT_PARENT,
    MOVE,
    MOVE_PARENT,
    NO_VALUE,
    OF_PARENTS,
    UPDATE,
    Statement,
    inserted,
    row_of,
    row_text,
)
from lab.explorer.plans.program import Schema
from lab.explorer.plans.small_tables import CHILD, PARENT, A, encoded, row_key_of, value_column
from storage.integrity.constraints import constraint_violations
from storage.mutations import readable_columns
from storage.pairs import StoredRow

_TABLE: Mapping[State, Text] = {
    State.ABSENT: Text("the table is absent: no statement can use it"),
    State.DELETE_ONLY: Text("the table is delete-only: no statement of a client can use it"),
}
_COLUMN: Mapping[State, Text] = {
    State.ABSENT: Text("column {column} is absent: no statement can name it", {"column": "a"}),
    State.DELETE_ONLY: Text("column {column} is delete-only: no statement can name it", {"column": "a"}),
    State.WRITE_ONLY: Text("column {column} is write-only: no statement can name it", {"column": "a"}),
}
OTHERWISE = Text("this version refuses it, or another row has its key")


def why_refused(effects: Effects, contents: int, schema: Schema, statement: Statement) -> Text:
    what, row, other = statement
    is_of_parent = what in OF_PARENTS
    table = effects.program.descriptors[schema[PARENT if is_of_parent else CHILD]]
    if table.state is not State.PUBLIC:
        return _TABLE.get(table.state, OTHERWISE)
    there = effects.rows_under(table, contents)
    key_of = encoded if is_of_parent else row_key_of
    old = there.get(key_of(row))
    is_new = what in (INSERT, INSERT_PARENT)
    if is_new and old is not None:
        return Text("{row} exists already", {"row": row_text(row_of(statement))})
    if not is_new and old is None:
        return Text("there is no {row}", {"row": row_text(row_of(statement))})
    if what in (MOVE, MOVE_PARENT) and key_of(other) in there:
        return Text("the key {key} is taken", {"key": other})
    if what in (INSERT, UPDATE):
        why = _why_not_assigned(effects, table, old, statement)
        if why:
            return why
    return _why_forbidden(effects, contents, schema, statement) or OTHERWISE


def _why_not_assigned(effects: Effects, table: Descriptor, old: StoredRow | None, statement: Statement) -> Text:
    what, row, value = statement
    column = value_column(table)
    state = State.ABSENT if column is None else column.state
    if value == NO_VALUE and state is State.PUBLIC:
        return Text("it gives no value for column {column}, which this version has", {"column": "a"})
    if value != NO_VALUE and (column is None or state is not State.PUBLIC):
        return _COLUMN[state]
    data = reference(value) if effects.model.refers_to_itself else encoded(value)
    if what == UPDATE and old is not None and column is not None and readable_columns(table, old)[column.id] == data:
        return Text("the row has that value already")
    new = StoredRow(row_key_of(row), {A: data} if what == UPDATE else inserted(table, value) or {})
    broken = constraint_violations(table, new)
    if not broken:
        return NOTHING
    constraint = broken[0].constraint
    name = "NOT NULL" if constraint is None else constraint.name
    return Text("{constraint} does not accept that value", {"constraint": name})


def _why_forbidden(effects: Effects, contents: int, schema: Schema, statement: Statement) -> Text:
    refusal = effects.refusal(contents, schema, statement)
    if refusal & Occurrence.CHILD_REFUSED:
        return Text("the row that it refers to is not there")
    if refusal & Occurrence.PARENT_REFUSED:
        return Text("another row refers to it")
    table = effects.program.descriptors[schema[CHILD]]
    unique = next((index for index in table.indexes if index.unique), None)
    return NOTHING if unique is None else Text("another row has that value in {index}", {"index": unique.name})
