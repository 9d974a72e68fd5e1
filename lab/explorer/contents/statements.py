"""The statements of a model's clients, and the rows that they put."""

from collections.abc import Iterator, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Kind, State
from catalog.states import Write, rule
from catalog.text.message import Text
from lab.explorer.model import Model
from lab.explorer.plans.small_tables import DEFAULT, FILL_VALUE, A, encoded, has_room, numbers_of, value_column
from storage import encoding

NO_VALUE = -1
"""In an insert by a version that cannot name the column a."""

INSERT, UPDATE, DELETE, MOVE = "insert", "update", "delete", "move"
INSERT_PARENT, DELETE_PARENT, MOVE_PARENT = "insert-parent", "delete-parent", "move-parent"
OF_PARENTS = frozenset({INSERT_PARENT, DELETE_PARENT, MOVE_PARENT})
"""Statements on the table that a foreign key refers to: its rows are their keys alone."""

Statement = tuple[str, int, int]
"""(insert, row, value), (update, row, value), (delete, row, 0) or (move, row, other row)."""

Row = tuple[object, ...]
"""The row that a statement reads first: (2,), or ("parent", 2)."""


def row_of(statement: Statement) -> Row:
    what, row, _ = statement
    return ("parent", row) if what in OF_PARENTS else (row,)


def row_text(row: Sequence[object]) -> Text:
    return Text("parent {parent}", {"parent": str(row[1])}) if len(row) > 1 else Text("row {row}", {"row": str(row[0])})


def value_text(value: object) -> Text:
    if value == NO_VALUE:
        return Text("no value")
    return assigned_text("a", "NULL" if value == 0 else str(value))


def assigned_text(column: str, value: str) -> Text:
    return Text("{column} = {value}", {"column": column, "value": value})


def rows_of_range(model: Model, number: int) -> range:
    """The rows of a backfill range (counted from 0): every `ranges`-th row."""
    return range(number + 1, model.rows + 1, model.ranges)


def statements_of(model: Model) -> Iterator[Statement]:
    nulls = model.nulls or Kind.CONSTRAINT in model.kinds
    values = (0, *numbers_of(model)) if nulls else numbers_of(model)
    for row in range(1, model.rows + 1):
        yield INSERT, row, NO_VALUE
        yield from ((INSERT, row, value) for value in values)
        yield from ((UPDATE, row, value) for value in values)
        yield DELETE, row, 0
        if model.moves:
            yield from ((MOVE, row, other) for other in range(1, model.rows + 1) if other != row)


def inserted(schema: Descriptor, value: int) -> dict[ColumnId, bytes] | None:
    """The columns of an inserted row; None if this version has no room for the value, or lacks one."""
    column = value_column(schema)
    if column is None or column.state is not State.PUBLIC:
        if value != NO_VALUE:
            return None
        puts_default = column is not None and rule(column.kind, column.state).insert is Write.PUT_DEFAULT
        default = encoding.NULL
        if column is not None and column.required:
            default = FILL_VALUE if any(c.rule == "check" for c in schema.constraints) else DEFAULT
        return {A: default} if puts_default else {}
    return None if value == NO_VALUE or not has_room(column, value) else {column.id: encoded(value)}
