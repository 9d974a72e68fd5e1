"""Effects of one statement on rows, under one schema, as in PostgreSQL at READ COMMITTED: it finds its rows in a
snapshot, and after a wait for a lock reads the newest version of each; rows inserted after the snapshot are skipped."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from rollouts.statements.errors import NotModelled, Refused
from rollouts.statements.expressions import Expression
from rollouts.statements.kinds import BOOLEAN, Kind, check_assigned, kind
from rollouts.statements.tables import (
    HIDDEN,
    Contents,
    Identity,
    Lock,
    Reference,
    Schema,
    Table,
    Unique,
    Values,
    Write,
    applied,
    check_reference,
    check_row,
    table_of,
)
from rollouts.statements.values import Type, Value, cast

Parameters = Mapping[str, Value]
Answer = tuple[tuple[tuple[str, Value], ...], ...]


@dataclass(frozen=True, slots=True)
class Effect:
    answer: Answer = ()
    writes: tuple[Write, ...] = ()
    locks: frozenset[Lock] = frozenset()
    met: int = 0
    awaited: frozenset[Lock] = frozenset()
    """Locks that it waits for and does not keep: of a row that made ON CONFLICT DO NOTHING do nothing."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a result; without an expression it is `*`."""

    name: str
    expression: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A statement of one table. `parameters` in order of their appearance."""

    text: str
    table: str
    parameters: tuple[str, ...]
    where: Expression | None
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Query(Statement):
    locks: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """ON CONFLICT: DO NOTHING without `sets`. `columns` name the unique key; empty: all keys."""

    columns: tuple[str, ...]
    sets: tuple[tuple[str, Expression | None], ...] = ()
    where: Expression | None = None
    updates: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Insert(Statement):
    """Rows of expressions (None: the default), or the rows of a query."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Expression | None, ...], ...] = ()
    source: Query | None = None
    conflict: Conflict | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Update(Statement):
    """None stands for DEFAULT."""

    sets: tuple[tuple[str, Expression | None], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Delete(Statement):
    """A DELETE."""


def tables_of(statement: Statement, schema: Schema) -> frozenset[str]:
    """The tables that decide what the statement does: its own, and those tied to it by foreign keys."""
    own = {statement.table}
    if isinstance(statement, Insert) and statement.source is not None:
        own.add(statement.source.table)
    tied = set(own)
    while more := {n for n, table in schema.items() if any(one.parent in tied for one in table.references)} - tied:
        tied |= more  # a delete goes down to the rows of their rows
    tied |= {one.parent for name in tied if name in schema for one in schema[name].references}
    return frozenset(tied)


def check_names(statement: Statement, schema: Schema) -> None:
    """Raises what PostgreSQL says whatever rows there are: of an unknown name 42P01 or 42703, of widths 42601,
    of a column given twice 42701 or 42601, of a generated one 428C9, of ON CONFLICT without its key 42P10,
    of kinds of types that do not match 42883 or 42804."""
    table = table_of(schema, statement.table)
    expressions = [statement.where, *(output.expression for output in statement.outputs)]
    match statement:
        case Insert():
            _check_insert(statement, table, schema)
            if statement.conflict is not None:
                _check_sets(statement.conflict.sets, table)
                expressions += [statement.conflict.where, *(one for _, one in statement.conflict.sets)]
                if statement.conflict.columns and not arbiters(statement.conflict, table):
                    text = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
                    raise Refused("42P10", text)
        case Update():
            _check_sets(statement.sets, table)
            expressions += [one for _, one in statement.sets]
    for expression in expressions:
        for name in sorted(expression.columns) if expression else ():
            qualifier, _, column = name.rpartition(".")
            if qualifier not in ("", "excluded"):
                raise Refused("42P01", f'missing FROM-clause entry for table "{qualifier}"')
            if column not in table.names:
                raise Refused("42703", f'column "{name}" does not exist')
    _check_kinds(statement, table, schema)


def _check_literals(statement: Statement, schema: Schema, parameters: Parameters) -> None:
    """Raises 22P02 or 22003, without a row, for a text that no column beside it could have."""
    types = table_of(schema, statement.table).types
    where = [statement.where, *(output.expression for output in statement.outputs)]
    for name, given in (pair for one in where if one is not None for pair in one.beside):
        value = given({}, parameters)
        if isinstance(value, str):
            cast(value, Type(types[name].name))


def _check_insert(insert: Insert, table: Table, schema: Schema) -> None:
    names = insert.columns or table.public_names
    for name in insert.columns:
        table.column(name)
    if len(set(names)) < len(names):
        raise Refused("42701", f'column "{next(n for n in names if names.count(n) > 1)}" specified more than once')
    rows = insert.rows
    if insert.source is not None:
        check_names(insert.source, schema)
        stars = table_of(schema, insert.source.table).public_names
        width = sum(1 if one.expression else len(stars) for one in insert.source.outputs)
        rows = ((Expression("", lambda row, given: None, frozenset(), frozenset()),) * width,)
    for row in rows:
        if len(row) > len(names):
            raise Refused("42601", "INSERT has more expressions than target columns")
        if row and insert.columns and len(row) < len(names):
            raise Refused("42601", "INSERT has more target columns than expressions")
        for name, part in zip(names, row, strict=False):
            _check_generated(table, name, part)


def _check_kinds(statement: Statement, table: Table, schema: Schema) -> None:
    types = table.types
    conditions = [statement.where]
    sets: list[tuple[str, Kind]] = []
    for output in statement.outputs:
        if output.expression is not None:
            output.expression.kind(types)
    match statement:
        case Insert():
            names = statement.columns or table.public_names
            for row in statement.rows if statement.source is None else (_selected(statement.source, schema),):
                kinds = (one.kind(types) if isinstance(one, Expression) else one for one in row)
                sets += zip(names, kinds, strict=False)
            if statement.conflict is not None:
                conditions.append(statement.conflict.where)
                sets += [(name, one.kind(types)) for name, one in statement.conflict.sets if one is not None]
        case Update():
            sets += [(name, one.kind(types)) for name, one in statement.sets if one is not None]
    for name, found in sets:
        check_assigned(name, found, types[name])
    for condition in conditions:
        if condition is not None and condition.kind(types) not in (None, BOOLEAN):
            raise Refused("42804", "argument of WHERE must be type boolean")


def _selected(query: Query, schema: Schema) -> list[Kind]:
    types = table_of(schema, query.table).types
    found: list[Kind] = []
    for output in query.outputs:
        found += [output.expression.kind(types)] if output.expression else map(kind, types.values())
    return found


def _check_sets(sets: tuple[tuple[str, Expression | None], ...], table: Table) -> None:
    names = [name for name, _ in sets]
    for name, part in sets:
        _check_generated(table, name, part)
        if names.count(name) > 1:
            raise Refused("42601", f'multiple assignments to same column "{name}"')


def _check_generated(table: Table, name: str, given: Expression | None) -> None:
    if table.column(name).generated is not None and given is not None:
        raise Refused("428C9", f'column "{name}" is a generated column: it takes DEFAULT only')


def arbiters(conflict: Conflict, table: Table) -> tuple[Unique, ...]:
    """The keys that ON CONFLICT is about: those over exactly its columns, of all rows."""
    if not conflict.columns:
        return table.uniques
    wanted = set(conflict.columns)
    return tuple(one for one in table.uniques if set(one.columns) == wanted and one.is_plain)


def execute(
    statement: Statement, schema: Schema, contents: Contents, parameters: Parameters, snapshot: Contents | None = None
) -> Effect:
    """`snapshot`: what the statement began with, if older than `contents`. Raises `Refused`."""
    check_names(statement, schema)
    _check_literals(statement, schema, parameters)
    return _Execution(statement, schema, contents, parameters, contents if snapshot is None else snapshot).run()


class _Execution:
    def __init__(
        self, statement: Statement, schema: Schema, contents: Contents, parameters: Parameters, snapshot: Contents
    ) -> None:
        self._statement, self._schema, self._parameters = statement, schema, parameters
        self._table = table_of(schema, statement.table)
        self._contents, self._snapshot = contents, snapshot
        self._writes: list[Write] = []
        self._locks: set[Lock] = set()
        self._awaited: set[Lock] = set()
        self._answer: list[tuple[tuple[str, Value], ...]] = []
        self._met = 0
        self._at_end: list[Callable[[], None]] = []
        """Foreign keys are checked when the statement has done all its rows."""

    def run(self) -> Effect:
        try:
            return self._done()
        except Refused as error:
            error.locks = frozenset(self._locks | self._awaited)
            raise

    def _done(self) -> Effect:
        match self._statement:
            case Query():
                self._query(self._statement)
            case Insert():
                self._check_constants(self._statement.conflict.sets if self._statement.conflict else ())
                for given in self._new_rows(self._statement):
                    self._insert(given, self._statement.conflict)
            case Update():
                sets = self._statement.sets
                self._check_constants(sets)
                for identity, row in self._found(sets):
                    self._met += 1
                    self._update(identity, row, self._assigned(sets, row))
            case Delete():
                for identity, row in self._found():
                    self._met += 1
                    self._delete(self._table, identity, row)
                    self._return(row)
        for check in self._at_end:
            check()
        locks, awaited = frozenset(self._locks), frozenset(self._awaited)
        return Effect(tuple(self._answer), tuple(self._writes), locks, self._met, awaited)

    def _check_constants(self, sets: tuple[tuple[str, Expression | None], ...]) -> None:
        """PostgreSQL's planner refuses a constant that is too long, without a row."""
        for name, expression in sets:
            if expression is not None and not expression.columns:
                cast(expression({}, self._parameters), self._table.column(name).type)

    def _now(self, table: str) -> Mapping[Identity, Values]:
        return applied(self._contents, self._writes).get(table, {}) if self._writes else self._contents.get(table, {})

    def _holds(self, where: Expression | None, row: Mapping[str, Value]) -> bool:
        return where is None or bool(where(row, self._parameters))

    def _found(
        self, sets: tuple[tuple[str, Expression | None], ...] = ()
    ) -> Iterator[tuple[Identity, dict[str, Value]]]:
        """The rows of the snapshot that match, in their newest version, if it still matches. Without triggers
        PostgreSQL computes and checks the new row before it waits for the lock of the old one."""
        table, where = self._table, self._statement.where
        newest = self._contents.get(table.name, {})
        for identity, values in self._snapshot.get(table.name, {}).items():
            if not self._holds(where, table.row(values)):
                continue
            if sets and not table.triggers:
                old = table.row(values)
                check_row(table, self._fired(old, self._assigned(sets, old)))
            self._locks.add((table.name, "row", identity, True))
            if identity in newest and self._holds(where, row := table.row(newest[identity])):
                yield identity, row

    def _query(self, query: Query) -> None:
        table = table_of(self._schema, query.table)
        met = self._met
        for identity, values in self._snapshot.get(table.name, {}).items():
            row = table.row(values)
            if self._holds(query.where, row):
                self._met += 1
                self._return(row, query)
                if query.locks:
                    self._locks.add((table.name, "row", identity, True))
                    keys = ((unique.name, unique.of(row)) for unique in table.uniques)
                    self._locks |= {(table.name, f"key {name}", key, True) for name, key in keys if key is not None}
        if query.limit is not None and self._met - met > query.limit:
            raise NotModelled(f"a LIMIT that leaves rows out is not modelled: {query.text}")

    def _return(self, row: Mapping[str, Value], statement: Statement | None = None) -> None:
        statement = statement or self._statement
        if not statement.outputs:
            return
        answer: list[tuple[str, Value]] = []
        for output in statement.outputs:
            if output.expression is None:
                answer += [(name, value) for name, value in row.items() if not name.endswith(HIDDEN)]
            else:
                answer.append((output.name, output.expression(row, self._parameters)))
        self._answer.append(tuple(answer))

    def _new_rows(self, insert: Insert) -> Iterator[dict[str, Value]]:
        table = self._table
        names = insert.columns or table.public_names
        if insert.source is None:
            rows: Iterable[tuple[Value | Expression | None, ...]] = insert.rows
        else:
            self._query(insert.source)
            rows, self._answer = [tuple(v for _, v in row) for row in self._answer], []
            self._met = 0
        for given in rows:
            row: dict[str, Value] = {}
            for name, part in zip(names, given, strict=False):
                if isinstance(part, Expression):
                    row[name] = part({}, self._parameters)
                elif insert.source is not None:
                    row[name] = part
            for column in table.columns:
                if column.name not in row:
                    row[column.name] = column.default({}, self._parameters) if column.default else None
            yield {column.name: cast(row[column.name], column.type) for column in table.columns}

    def _assigned(
        self,
        sets: tuple[tuple[str, Expression | None], ...],
        row: Mapping[str, Value],
        excluded: Mapping[str, Value] | None = None,
    ) -> dict[str, Value]:
        table = self._table
        scope = {**row, **{f"excluded.{name}": value for name, value in (excluded or {}).items()}}
        result = {name: row[name] for name in table.names}
        for name, expression in sets:
            column = table.column(name)
            source = expression or column.default
            result[name] = cast(source(scope, self._parameters) if source else None, column.type)
        return result

    def _fired(self, old: Mapping[str, Value] | None, new: dict[str, Value]) -> dict[str, Value]:
        table = self._table
        for trigger in sorted(table.triggers, key=lambda one: one.name):
            scope = {f"old.{name}": old[name] if old else None for name in table.names}
            scope |= {f"new.{name}": value for name, value in new.items()}
            if trigger.condition is not None and not trigger.condition(scope, {}):
                continue
            for name, expression in trigger.sets:
                new = {**new, name: cast(expression(scope, {}), table.column(name).type)}
                scope[f"new.{name}"] = new[name]
        for column in table.columns:
            if column.generated is not None:
                new = {**new, column.name: cast(column.generated(new, {}), column.type)}
        return new

    def _insert(self, given: dict[str, Value], conflict: Conflict | None) -> None:
        table = self._table
        row = self._fired(None, given)
        check_row(table, row)
        for unique in table.uniques:
            key = unique.of(row)
            if key is None:
                continue
            other = self._holder(unique, key)
            if other is None:
                self._locks |= key_locks(table, unique, key)
                continue
            self._awaited.add((table.name, unique.name, key, True))
            if conflict is None or unique not in arbiters(conflict, table):
                raise Refused("23505", f'duplicate key value violates unique constraint "{unique.name}"')
            identity, existing = other
            if conflict.updates:
                if any((name, written) == (table.name, identity) for name, written, _ in self._writes):
                    raise Refused("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time")
                self._locks.add((table.name, "row", identity, True))
                scope = {**existing, **{f"excluded.{name}": value for name, value in row.items()}}
                if self._holds(conflict.where, scope):
                    self._met += 1
                    self._update(identity, existing, self._assigned(conflict.sets, existing, row))
            return
        self._met += 1
        primary = table.primary
        identity = (primary.of(row) if primary else None) or tuple(table.values(row))
        self._locks.add((table.name, "row", identity, True))
        self._refer(row)
        self._writes.append((table.name, identity, table.values(row)))
        self._return(row)

    def _holder(self, unique: Unique, key: Identity) -> tuple[Identity, dict[str, Value]] | None:
        table = self._table
        for identity, values in self._now(table.name).items():
            row = table.row(values)
            if unique.of(row) == key:
                return identity, row
        return None

    def _update(self, identity: Identity, old: Mapping[str, Value], new: dict[str, Value]) -> None:
        table = self._table
        new = self._fired(old, new)
        check_row(table, new)
        if table.primary is not None and table.primary.of(new) != table.primary.of(old):
            raise NotModelled("an update of the primary key is not modelled: delete the row and insert another one")
        for unique in table.uniques:
            before, after = unique.of(old), unique.of(new)
            if before == after:
                self._locks |= {(table.name, unique.name, key, True) for key in (after,) if key is not None}
                continue
            if before is not None:
                self._locks |= key_locks(table, unique, before)
            if after is None:
                continue
            if self._holder(unique, after) is None:
                self._locks |= key_locks(table, unique, after)
            else:
                self._awaited.add((table.name, unique.name, after, True))
                raise Refused("23505", f'duplicate key value violates unique constraint "{unique.name}"')
        self._refer(new, old)
        for child, reference in self._referring():
            key = tuple(old[name] for name in reference.parent_columns)
            if None not in key and key != tuple(new[name] for name in reference.parent_columns):
                self._keep(child, reference, key)
        self._writes.append((table.name, identity, table.values(new)))
        self._return(new)

    def _refer(self, row: Mapping[str, Value], old: Mapping[str, Value] | None = None) -> None:
        table = self._table
        for reference in table.references:
            if old is not None and all(old[name] == row[name] for name in reference.columns):
                continue
            self._at_end.append(partial(self._check_reference, reference, table.values(row)))
            key = tuple(row[name] for name in reference.columns)
            if None not in key:
                self._locks.add((reference.parent, f"key {_key_of(self._schema, reference)}", key, False))

    def _check_reference(self, reference: Reference, values: Values) -> None:
        contents = applied(self._contents, self._writes)
        if values in contents.get(self._table.name, {}).values():
            check_reference(self._schema, reference, self._table, [values], contents)

    def _referring(self, table: Table | None = None) -> Iterator[tuple[Table, Reference]]:
        name = (table or self._table).name
        for child in self._schema.values():
            for reference in child.references:
                if reference.parent == name:
                    yield child, reference

    def _keep(self, child: Table, reference: Reference, key: Identity) -> None:
        """At the end no row may refer to a key that its parent has no more."""

        def check() -> None:
            parent = table_of(self._schema, reference.parent)
            parents = map(parent.row, self._now(parent.name).values())
            if any(tuple(row[name] for name in reference.parent_columns) == key for row in parents):
                return
            children = map(child.row, self._now(child.name).values())
            if any(tuple(row[name] for name in reference.columns) == key for row in children):
                text = f'update or delete on table "{reference.parent}" violates foreign key constraint'
                raise Refused("23503", f'{text} "{reference.name}" on table "{child.name}"')

        self._at_end.append(check)

    def _delete(self, table: Table, identity: Identity, row: Mapping[str, Value]) -> None:
        self._locks.add((table.name, "row", identity, True))
        for unique in table.uniques:
            key = unique.of(row)
            if key is not None:
                self._locks |= key_locks(table, unique, key)
        self._writes.append((table.name, identity, None))
        for child, reference in self._referring(table):
            self._leave(child, reference, tuple(row[name] for name in reference.parent_columns))

    def _leave(self, child: Table, reference: Reference, key: Identity) -> None:
        if reference.action not in ("c", "n"):
            self._keep(child, reference, key)
            return
        for identity, values in list(self._now(child.name).items()):
            row = child.row(values)
            if tuple(row[name] for name in reference.columns) != key:
                continue
            if reference.action == "c":
                self._delete(child, identity, row)
            else:
                self._locks.add((child.name, "row", identity, True))
                row |= dict.fromkeys(reference.columns)
                check_row(child, row)
                self._writes.append((child.name, identity, child.values(row)))


def key_locks(table: Table, unique: Unique, key: Identity) -> set[Lock]:
    """The locks of a statement that puts or removes a unique key. One that keeps the key takes the first alone: another
    row with that key waits for it, a row that refers to it does not."""
    return {(table.name, unique.name, key, True), (table.name, f"key {unique.name}", key, True)}


def _key_of(schema: Schema, reference: Reference) -> str:
    parent = table_of(schema, reference.parent)
    key = parent.referred(reference)
    return key.name if key else "row"
