"""The statement that takes back a finished change, as a new change (X7). Dropped data comes back empty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import (
    CHECK,
    NO_ACTION,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Coordination,
    Index,
    IndexId,
    Kind,
    State,
)
from catalog.object_names import object_name
from catalog.text.sentence import Sentence, listed
from catalog.text.sql_names import literal, quoted
from changes.ddl.actions import STRCRC32
from changes.ddl.resolve import GUARD
from changes.plan.element_states import definition_of
from changes.plan.model import Element, Move, MoveKind, Plan, name_in
from changes.planning.alter.defaults import is_for_inserts_only
from changes.planning.dependents import undone_without
from changes.planning.tables import NO_TABLES, Tables
from expressions.rows import is_operation, shown


@dataclass(frozen=True, slots=True)
class Undo:
    """A statement, and what it will not bring back."""

    statement: str
    warning: str = ""
    afterwards: tuple[str, ...] = ()
    """Statements of their own, which the warning names."""


def undo_of(plan: Plan, tables: Tables = NO_TABLES) -> Undo:
    """The statement that takes back a change that is done; `tables` give today's names."""
    first = plan.moves[0]
    if first.kind is MoveKind.COMMENT:
        return Undo(_comment_back(plan, first.element))
    if first.element.kind is Kind.TABLE:
        return _of_table(plan, first, tables)
    if len(plan.moves) == 1 and first.element.kind.is_index and first.kind is not MoveKind.ALTER:
        return Undo(_of_index(plan, first))
    if first.kind is MoveKind.RENAME:
        old, new = quoted(first.element.name), quoted(name_in(plan.result, first.element))
        what = "CONSTRAINT" if first.element.kind is Kind.CONSTRAINT else "COLUMN"
        return Undo(f"ALTER TABLE {quoted(plan.table)} RENAME {what} {new} TO {old}")
    return _of_alterations(plan, tables)


# --- one element


def _of_table(plan: Plan, move: Move, tables: Tables) -> Undo:
    name = quoted(move.element.name)
    if move.kind is MoveKind.ALTER:
        assert plan.base is not None, "what is altered was there"
        return Undo(f"ALTER TABLE {name} SET ({_options([('coordination', plan.base.coordination.value)])})")
    if move.kind is MoveKind.RENAME:
        return Undo(f"ALTER TABLE {quoted(plan.result.name)} RENAME TO {name}")
    if move.kind is MoveKind.ADD:
        return Undo(
            f"DROP TABLE {name}", Sentence("All rows written to {name} since are deleted.", name=move.element.name)
        )
    assert plan.base is not None, "what is dropped was there"
    lost = Sentence("Only the structure comes back: the rows of {name} are deleted.", name=plan.table)
    guard = _guard(plan.base)  # is made with the table
    indexes = [index for index in plan.base.public_indexes if index != guard]
    apart = {"indexes": [create_index(plan.base, index) for index in indexes]}
    apart["foreign keys"] = [
        f"ALTER TABLE {name} {add_foreign_key(plan.base, one, _referenced(plan, one, tables))}"
        for one in plan.base.foreign_keys
    ]
    what = " and ".join(what for what, statements in apart.items() if statements)
    afterwards = tuple(statement for statements in apart.values() for statement in statements)
    warning = f"{lost} Its {what} are statements of their own: {'; '.join(afterwards)}" if afterwards else lost
    return Undo(create_table(plan.base), warning, afterwards)


def _referenced(plan: Plan, foreign_key: Constraint, tables: Tables) -> Descriptor:
    assert plan.base is not None, "a table that refers to others was there"
    assert foreign_key.references is not None, foreign_key
    if foreign_key.references == plan.table_id:
        return plan.base
    left = {table.table_id: table for table in (*plan.results, plan.base)}
    today = tables.numbered(foreign_key.references)
    return left[foreign_key.references] if today is None or today.state is not State.PUBLIC else today


def _of_index(plan: Plan, move: Move) -> str:
    if move.kind is MoveKind.ADD:
        added = plan.result.index(IndexId(move.element.id))
        if added.primary or added.is_constraint:
            return f"ALTER TABLE {quoted(plan.table)} DROP CONSTRAINT {quoted(move.element.name)}"
        return f"DROP INDEX {quoted(move.element.name)}"
    assert plan.base is not None, "what is dropped or renamed was there"
    if move.kind is MoveKind.RENAME:
        return f"ALTER INDEX {quoted(name_in(plan.result, move.element))} RENAME TO {quoted(move.element.name)}"
    return create_index(plan.base, plan.base.index(IndexId(move.element.id)))


def _comment_back(plan: Plan, element: Element) -> str:
    old, new, table = plan.base, plan.result, quoted(plan.table)
    assert old is not None, "what has a comment was there"
    if element.kind is Kind.TABLE and old.comment != new.comment:
        what, text = f"TABLE {table}", old.comment
    elif element.kind is Kind.TABLE:
        what, text = f"CONSTRAINT {quoted(old.key_name)} ON {table}", old.key_comment
    elif element.kind.is_column:
        what, text = f"COLUMN {table}.{quoted(element.name)}", old.column(ColumnId(element.id)).comment
    elif element.kind.is_index:
        before, after = old.index(IndexId(element.id)), new.index(IndexId(element.id))
        what, text = f"INDEX {quoted(element.name)}", before.comment
        if before.constraint_comment != after.constraint_comment:
            what, text = f"CONSTRAINT {quoted(element.name)} ON {table}", before.constraint_comment
    else:
        what = f"CONSTRAINT {quoted(element.name)} ON {table}"
        text = old.constraint(ConstraintId(element.id)).comment
    return f"COMMENT ON {what} IS {literal(text)}"


# --- ALTER TABLE, taken back


def _of_alterations(plan: Plan, tables: Tables) -> Undo:
    assert plan.base is not None, "an altered table was there"
    clauses = list(_alterations(plan, plan.base, tables))
    lost = [
        Sentence("the values of {name} are deleted", name=move.element.name)
        for move in plan.moves
        if move.kind is MoveKind.DROP and move.element.kind.is_user_column
    ]
    warning = Sentence("Only the structure comes back: {lost}.", lost=listed(lost)) if lost else ""
    used = [plan.base.index(IndexId(e.id)) for e in plan.moving(MoveKind.ALTER) if e.kind.is_index]
    apart = [create_index(plan.base, index) for index in (*_dropped_indexes(plan, plan.base), *used)]
    apart += [
        f"ALTER TABLE {quoted(plan.table)} {add_foreign_key(plan.base, one, _referenced(plan, one, tables))}"
        for one in _dependents(plan, plan.base)
    ]
    dropped = [plan.base.column(ColumnId(e.id)) for e in plan.moving(MoveKind.DROP) if e.kind.is_user_column]
    apart += [
        f"ALTER TABLE {quoted(plan.table)} ALTER COLUMN {quoted(column.name)} SET DEFAULT {column.default}"
        for column in dropped
        if is_for_inserts_only(column)
    ]
    statement = f"ALTER TABLE {quoted(plan.table)} {', '.join(clauses)}" if clauses else apart.pop(0)
    today = tables.numbered(plan.result.table_id) or plan.result
    for index in used:
        in_the_way = undone_without(plan.result.index(index.id), today, tables)
        warning = " ".join([warning, *in_the_way]).strip()
    if apart:
        warning = f"{warning} Statements of their own, afterwards: {'; '.join(apart)}".strip()
    return Undo(statement, warning, tuple(apart))


def _alterations(plan: Plan, base: Descriptor, tables: Tables) -> Iterator[str]:
    """A clause for each move; what is dropped with a column needs none."""
    fresh = {element.id for element in plan.moving(MoveKind.ADD) if element.kind.is_column}
    back = {e.id for e in plan.moving(MoveKind.DROP) if e.kind.is_user_column}
    for move in plan.moves:
        element = move.element
        if element.kind is Kind.DERIVED_COLUMN:
            if move.kind is MoveKind.DROP:
                old = base.column(ColumnId(move.element.id))
                yield f"ALTER COLUMN {quoted(old.name)} TYPE {old.type_name}"
        elif element.kind is Kind.PLACEMENT:
            yield from _spread_back(plan, base, move, tables)
        elif any(one.element.kind is Kind.PLACEMENT for one in plan.moves):
            continue  # what guards the primary key may stay
        elif move.kind is MoveKind.ALTER and element.kind.is_index:
            yield f"DROP CONSTRAINT {quoted(name_in(plan.result, element))}"  # and its index, which is made again
        elif move.kind is MoveKind.ALTER:
            yield _altered_back(base.column(ColumnId(element.id)), plan.result.column(ColumnId(element.id)))
        elif element.column is not None:
            yield from _not_null_back(plan, move, back)
        elif move.kind is MoveKind.ADD:
            yield from _without(plan, element, fresh)
        elif element.kind.is_column:
            yield f"ADD COLUMN {column_text(base.column(ColumnId(element.id)), base)}"
        elif element.partner is not None:
            foreign_key = base.constraint(ConstraintId(element.id))
            if foreign_key not in _dependents(plan, base):
                yield add_foreign_key(base, foreign_key, _referenced(plan, foreign_key, tables))
        elif element.kind is Kind.CONSTRAINT:
            yield check_clause(base, base.constraint(ConstraintId(element.id)))


def _spread_back(plan: Plan, base: Descriptor, move: Move, tables: Tables) -> Iterator[str]:
    if move.kind is MoveKind.DROP:
        first = tables.storages.first
        key = ", ".join(quoted(base.column(column).name) for column in base.placement.sharding_key)
        listed = {"sharding_key": key, "sharding_func": base.placement.function}
        if base.placement.storage_count(first) != plan.result.placement.storage_count(first):
            listed["storages"] = str(base.placement.storage_count(first))
        yield f"SET ({_options(listed.items())})"


def _altered_back(column: Column, now: Column) -> str:
    if column.type_name != now.type_name:
        return f"ALTER COLUMN {quoted(column.name)} TYPE {column.type_name}"
    if column.identity != now.identity:
        action = f"ADD {identity_clause(column)}" if column.identity else "DROP IDENTITY"
        return f"ALTER COLUMN {quoted(column.name)} {action}"
    action = "DROP DEFAULT" if column.default is None else f"SET DEFAULT {column.default}"
    return f"ALTER COLUMN {quoted(column.name)} {action}"


def _not_null_back(plan: Plan, move: Move, back: set[int]) -> Iterator[str]:
    if move.element.column in back:
        return
    assert move.element.column is not None, "a NOT NULL is a column's"
    name = quoted(plan.result.column(ColumnId(move.element.column)).name)
    yield f"ALTER COLUMN {name} {'DROP' if move.kind is MoveKind.ADD else 'SET'} NOT NULL"


def _without(plan: Plan, element: Element, fresh: set[int]) -> Iterator[str]:
    if element.kind.is_column:
        yield f"DROP COLUMN {quoted(element.name)}"
        return
    added = definition_of(element, [plan.result])
    columns = set(added.column_ids) if isinstance(added, Index) else set(getattr(added, "columns", ()))
    if not columns & fresh:
        yield f"DROP CONSTRAINT {quoted(element.name)}"


def _dropped_indexes(plan: Plan, base: Descriptor) -> list[Index]:
    return [base.index(IndexId(element.id)) for element in plan.moving(MoveKind.DROP) if element.kind.is_index]


def _dependents(plan: Plan, base: Descriptor) -> list[Constraint]:
    indexes = {index.id for index in _dropped_indexes(plan, base)}
    dropped = {element.id for element in plan.moving(MoveKind.DROP) if element.partner is not None}
    own = (one for one in base.foreign_keys if one.id in dropped and one.references == base.table_id)
    return [one for one in own if one.index in indexes]


# --- a table in words


def create_table(table: Descriptor) -> str:
    key = ", ".join(quoted(column.name) for column in table.key_columns)
    lines = [column_text(column, table, in_table=True) for column in table.public_columns]
    lines += [] if table.has_hidden_key else [f"PRIMARY KEY ({key})"]
    lines += [
        check_clause(table, constraint).removeprefix("ADD ")
        for constraint in table.constraints
        if constraint.rule == CHECK
    ]
    guard = _guard(table)
    if guard is not None and guard.name != object_name(table.name, "", GUARD):  # else it is made unasked
        columns = ", ".join(quoted(table.column(column).name) for column in guard.column_ids)
        lines += [f"CONSTRAINT {quoted(guard.name)} UNIQUE ({columns})"]
    return f"CREATE TABLE {quoted(table.name)} ({', '.join(lines)}){_spread(table)}"


def _guard(table: Descriptor) -> Index | None:
    """The index that the table cannot be made without, since its rows are spread by columns outside its key."""
    return None if table.is_home_in_key else table.key_guard


def _spread(table: Descriptor) -> str:
    placement, options = table.placement, []
    if placement.sharding_key:
        key = ", ".join(quoted(table.column(column).name) for column in placement.sharding_key)
        options.append(("sharding_key", key))
    if placement.function != STRCRC32.text:
        options.append(("sharding_func", placement.function))
    if placement.storages:
        options.append(("storages", str(placement.storages)))
    if table.coordination is not Coordination.LEASE:
        options.append(("coordination", table.coordination.value))
    return f" WITH ({_options(options)})" if options else ""


def _options(options: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = '{value.replace(chr(39), 2 * chr(39))}'" for name, value in options)


def column_text(column: Column, table: Descriptor, *, in_table: bool = False) -> str:
    """A column's definition. An added one cannot be NOT NULL without a default."""
    words = [quoted(column.name), column.type_name]
    if column.identity:
        words.append(identity_clause(column))
    has_default = column.default is not None and (in_table or not is_for_inserts_only(column))
    if column.not_null and not column.identity and column.id not in table.primary_key and (in_table or has_default):
        words.append("NOT NULL")
    if has_default:
        words.append(default_clause(column))
    return " ".join(words)


def identity_clause(column: Column) -> str:
    options = [] if column.sequence is None else [f"SEQUENCE NAME {quoted(column.sequence)}"]
    options += [] if column.identity_start == 1 else [f"START WITH {column.identity_start}"]
    listed = f" ({' '.join(options)})" if options else ""
    return f"GENERATED {'ALWAYS' if column.identity_always else 'BY DEFAULT'} AS IDENTITY{listed}"


def default_clause(column: Column) -> str:
    """DEFAULT with its expression, an operation in brackets, as the grammar needs it."""
    assert column.default is not None, column
    return f"DEFAULT ({column.default})" if is_operation(column.default) else f"DEFAULT {column.default}"


def check_clause(table: Descriptor, constraint: Constraint) -> str:
    assert constraint.expression is not None, "only a CHECK has words of its own"
    return f"ADD CONSTRAINT {quoted(constraint.name)} CHECK ({shown(table, constraint.expression)})"


def add_foreign_key(table: Descriptor, foreign_key: Constraint, references: Descriptor) -> str:
    own = ", ".join(quoted(table.column(column).name) for column in foreign_key.columns)
    there = ", ".join(quoted(references.column(column).name) for column in foreign_key.reference_columns)
    actions = {"ON DELETE": foreign_key.on_delete, "ON UPDATE": foreign_key.on_update}
    suffix = "".join(f" {when} {action.upper()}" for when, action in actions.items() if action != NO_ACTION)
    named = f"ADD CONSTRAINT {quoted(foreign_key.name)} FOREIGN KEY ({own})"
    return f"{named} REFERENCES {quoted(references.name)} ({there}){suffix}"


def create_index(table: Descriptor, index: Index) -> str:
    """CREATE INDEX, or ADD CONSTRAINT for an index that keeps a key."""
    parts = [quoted(table.column(part.column).name) + (" DESC" if part.descending else "") for part in index.columns]
    if index.primary or index.is_constraint:
        kind = "PRIMARY KEY" if index.primary else "UNIQUE"
        return f"ALTER TABLE {quoted(table.name)} ADD CONSTRAINT {quoted(index.name)} {kind} ({', '.join(parts)})"
    unique = "UNIQUE " if index.unique else ""
    where = f" WHERE {shown(table, index.where)}" if index.where else ""
    return f"CREATE {unique}INDEX {quoted(index.name)} ON {quoted(table.name)} ({', '.join(parts)}){where}"
