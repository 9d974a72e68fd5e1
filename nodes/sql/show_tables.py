"""A table in one row, for SHOW TABLES: what the newest version has, and the state of what is not public yet."""

from collections.abc import Iterator, Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, FOREIGN_KEY, REFERENCED, Column, ColumnId, Constraint, Index, State
from catalog.text.descriptors import NOBODY, Others, named, there_of

HEADINGS = ("table", "version", "columns", "indexes", "constraints")


def rows_of(tables: Sequence[Descriptor]) -> list[tuple[str | None, ...]]:
    by_id = {table.table_id: table for table in tables}
    return [row_of(table, by_id) for table in tables]


def row_of(table: Descriptor, others: Others = NOBODY) -> tuple[str | None, ...]:
    """One cell under each heading; None where there is nothing to name."""
    return (
        table.name,
        str(table.version),
        ", ".join(_column(table, column) for column in table.columns if not column.is_hidden),
        ", ".join(index.name + _state(index) for index in table.indexes) or None,
        ", ".join(_constraints(table, others)) or None,
    )


def _column(table: Descriptor, column: Column) -> str:
    """A key column is NOT NULL anyhow."""
    is_noted = column.not_null and column.id not in table.primary_key
    return f"{column.name} {column.type_name}{' NOT NULL' if is_noted else ''}{_state(column)}"


def _constraints(table: Descriptor, others: Others) -> Iterator[str]:
    """In the order in which a row is held against them, the key first. What refers to the table is another's."""
    names = {column.id: column.shown for column in table.columns}
    if not table.has_hidden_key:
        yield f"PRIMARY KEY ({', '.join(names[column] for column in table.primary_key)})"
    for constraint in table.constraints:
        if constraint.rule != REFERENCED:
            yield f"{constraint.name} {_rule(constraint, names, others)}{_state(constraint)}"
    for index in table.indexes:
        if index.unique:
            where = f" WHERE {named(index.where, names)}" if index.where else ""
            key = ", ".join(names[column] for column in index.column_ids)
            rule = "PRIMARY KEY" if index.primary else "UNIQUE"
            yield f"{index.name} {rule} ({key}){where}{_state(index)}"


def _rule(constraint: Constraint, names: Mapping[ColumnId, str], others: Others) -> str:
    of = ", ".join(names[column] for column in constraint.columns)
    if constraint.rule == FOREIGN_KEY:
        return f"FOREIGN KEY ({of}) REFERENCES {there_of(constraint, others)}"
    shown = named(constraint.expression, names) if constraint.expression else of
    return f"CHECK ({shown})" if constraint.rule == CHECK else f"{constraint.rule.upper()} {shown}"


def _state(element: Column | Index | Constraint) -> str:
    return "" if element.state is State.PUBLIC else f" ({element.state.value})"
