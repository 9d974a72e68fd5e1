"""Effects of schema statements on tables and existing rows, which may refuse them. Each is atomic, as in PostgreSQL."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rollouts.statements.effects import execute
from rollouts.statements.errors import NotModelled, Refused
from rollouts.statements.expressions import Compiler, Expression, type_of
from rollouts.statements.kinds import check_assigned, is_assigned, kind
from rollouts.statements.reading import statement_of, tree_of
from rollouts.statements.tables import (
    Check,
    Column,
    Contents,
    Index,
    Reference,
    Rows,
    Schema,
    Table,
    Unique,
    applied,
    check_reference,
    check_unique,
    table_of,
)
from rollouts.statements.values import SERIAL, Type, Value, cast

CASCADE = 2
OBJECT_INDEX, OBJECT_TABCONSTRAINT, OBJECT_TABLE = 21, 41, 42
DATA = ("insert_stmt", "update_stmt", "delete_stmt")
Definition = Callable[[Schema, Contents], tuple[Schema, Contents]]


@lru_cache(maxsize=1024)
def definition_of(text: str) -> Definition:
    """The effect of a schema statement, or of an INSERT, UPDATE or DELETE without parameters. Raises `BadStatement`,
    `NotModelled`; its result raises `Refused`."""
    node = tree_of(text)
    kind = str(node.WhichOneof("node"))
    if kind in DATA:
        return _data(text)
    if kind not in _MAKERS:
        raise NotModelled(f"{kind.removesuffix('_stmt').replace('_', ' ').upper()} is not modelled: {text}")
    body = getattr(node, kind)

    def define(schema: Schema, contents: Contents) -> tuple[Schema, Contents]:
        try:
            return _MAKERS[kind](body, schema, contents)
        except NotModelled as error:
            raise NotModelled(f"{error}: {text}") from None

    return define


def is_data(text: str) -> bool:
    return str(tree_of(text).WhichOneof("node")) in DATA


@lru_cache(maxsize=1024)
def tables_named(text: str) -> frozenset[str]:
    """The tables that the statement locks: it waits for their transactions."""
    node = tree_of(text)
    kind = str(node.WhichOneof("node"))
    body = getattr(node, kind)
    if kind == "drop_stmt":
        return frozenset((one.list.items if one.HasField("list") else [one])[-1].string.sval for one in body.objects)
    named = {body.relation.relname}
    if kind == "alter_table_stmt":
        constraints = [getattr(one.alter_table_cmd, "def") for one in body.cmds]
        named |= {one.constraint.pktable.relname for one in constraints if one.HasField("constraint")}
    return frozenset(named - {""})


@lru_cache(maxsize=1024)
def computed_by(text: str) -> frozenset[str]:
    """The columns whose values a schema statement computes with: a change of type, USING."""
    node = tree_of(text)
    if node.WhichOneof("node") in DATA:
        statement = statement_of(text)
        parts = [statement.where, *(part for _, part in getattr(statement, "sets", ()))]
        return frozenset().union(*(part.columns for part in parts if part), getattr(statement, "columns", ()))
    found: set[str] = set()
    for command in (one.alter_table_cmd for one in node.alter_table_stmt.cmds):
        if _kinds()[command.subtype] == "AT_AlterColumnType":
            definition = getattr(command, "def").column_def
            found.add(command.name)
            if definition.HasField("raw_default"):
                found |= Compiler().compile(definition.raw_default).columns
    return frozenset(found)


def _data(text: str) -> Definition:
    statement = statement_of(text)
    if statement.parameters:
        raise NotModelled(f"a schema statement takes no parameters (a backfill does): {text}")

    def define(schema: Schema, contents: Contents) -> tuple[Schema, Contents]:
        return schema, applied(contents, execute(statement, schema, contents, {}).writes)

    return define


def _put(schema: Schema, table: Table) -> dict[str, Table]:
    return {**schema, table.name: table}


def _create(node: Any, schema: Schema, contents: Contents) -> tuple[Schema, Contents]:
    name = node.relation.relname
    if name in relations(schema):
        if node.if_not_exists:
            return schema, contents
        raise Refused("42P07", f'relation "{name}" already exists')
    table = Table(name, ())
    later = []
    for element in node.table_elts:
        if element.WhichOneof("node") == "constraint":
            later.append(element.constraint)
            continue
        column, constraints = _column(element.column_def)
        if column.name in table.names:
            raise Refused("42701", f'column "{column.name}" specified more than once')
        table = replace(table, columns=(*table.columns, column))
        later += [(column.name, one) for one in constraints]
    for one in later:
        columns, constraint = ((one[0],), one[1]) if isinstance(one, tuple) else ((), one)
        table = _constrained(table, constraint, columns, schema)
    return _put(schema, table), {**contents, name: {}}


def relations(schema: Schema) -> frozenset[str]:
    """The names of tables and indexes: they share one space."""
    return frozenset(schema).union(*(table.relations for table in schema.values()))


def _of_sequence(row: object, given: object) -> Value:
    raise NotModelled("a number of a sequence is not modelled: the parameter that is the key gives it")


def _default_of(node: Any, name: str, type_: Type) -> Expression:
    default = Compiler().compile(node)
    check_assigned(name, default.kind({}), type_)
    cast(default({}, {}), type_)
    return default


def _column(node: Any) -> tuple[Column, list[Any]]:
    type_ = type_of(node.type_name)
    column, constraints = Column(node.colname, type_), []
    if node.type_name.names[-1].string.sval in SERIAL:
        default = Expression("nextval", _of_sequence, frozenset(), frozenset())
        column = replace(column, is_required=True, default=default)
    for one in (part.constraint for part in node.constraints):
        match one.contype:
            case 2:
                column = replace(column, is_required=True, not_null=one.conname)
            case 3:
                column = replace(column, default=_default_of(one.raw_expr, column.name, type_))
            case 5:
                column = replace(column, generated=Compiler().compile(one.raw_expr))
            case 4:
                raise NotModelled("identity is not modelled: the parameter that is the key gives the number")
            case 1:
                pass
            case _:
                constraints.append(one)
    return column, constraints


def _constrained(table: Table, node: Any, columns: tuple[str, ...], schema: Schema) -> Table:
    _check_modelled(node)
    if node.conname in table.constraints and not node.indexname:
        raise Refused("42710", f'constraint "{node.conname}" for relation "{table.name}" already exists')
    columns = columns or tuple(key.string.sval for key in node.keys)
    match node.contype:
        case 6:
            condition = Compiler().compile(node.raw_expr)
            only = next(iter(condition.columns)) + "_" if len(condition.columns) == 1 else ""
            name = node.conname or _free(table, f"{table.name}_{only}check")
            return replace(table, checks=(*table.checks, Check(name, condition, not node.skip_validation)))
        case 7 | 8:
            is_key = node.contype == 7
            own = f"{table.name}_{'pkey' if is_key else '_'.join((*columns, 'key'))}"
            name = node.conname or (node.indexname or _free(table, own, schema))
            if node.indexname:
                found = next((one for one in table.uniques if one.name == node.indexname), None)
                if found is None:
                    raise Refused("42704", f'index "{node.indexname}" does not exist')
                if not found.is_plain or found.is_constraint:
                    code = "55000" if found.is_constraint else "42809"
                    raise Refused(code, f'index "{found.name}" cannot become a constraint')
                rest = replace(table, uniques=tuple(one for one in table.uniques if one is not found))
                return _with_unique(rest, replace(found, name=name, is_constraint=True), is_key, schema)
            one = Unique(name, _parts(table, columns), columns, is_constraint=True)
            return _with_unique(table, one, is_key, schema)
        case 10:
            columns = columns or tuple(key.string.sval for key in node.fk_attrs)
            for column in columns:
                table.column(column)
            parent = table if node.pktable.relname == table.name else table_of(schema, node.pktable.relname)
            key = parent.primary
            others = tuple(one.string.sval for one in node.pk_attrs) or (key.columns if key else ())
            if len(columns) != len(others):
                raise Refused("42830", "number of referencing and referenced columns for foreign key disagree")
            if not any(one.is_plain and set(one.columns) == set(others) for one in parent.uniques):
                raise Refused("42830", f'there is no unique constraint matching given keys for "{parent.name}"')
            for own, other in zip(columns, others, strict=True):
                if kind(table.types[own]) != kind(parent.types[other]):
                    text = f"key columns {own} and {other} are of incompatible types"
                    raise Refused("42804", f"foreign key cannot be implemented: {text}")
            name = node.conname or _free(table, f"{table.name}_{'_'.join(columns)}_fkey")
            action = node.fk_del_action or "a"
            reference = Reference(name, columns, parent.name, others, action, not node.skip_validation)
            return replace(table, references=(*table.references, reference))
    raise NotModelled("this constraint is not modelled")


def _check_modelled(node: Any) -> None:
    """Refuses what would change the meaning of a constraint."""
    advice = {
        "DEFERRABLE": node.deferrable,
        "NULLS NOT DISTINCT": node.nulls_not_distinct,
        "NOT ENFORCED": node.contype in (6, 10) and not node.is_enforced,
        "MATCH FULL": node.fk_matchtype not in ("", "s"),
        "ON UPDATE CASCADE, SET NULL or SET DEFAULT": node.fk_upd_action not in ("", "a", "r"),
        "ON DELETE SET DEFAULT": node.fk_del_action == "d",
        "ON DELETE SET NULL of some columns": bool(node.fk_del_set_cols),
    }
    for name, is_there in advice.items():
        if is_there:
            raise NotModelled(f"{name} is not modelled")


def _parts(table: Table, columns: tuple[str, ...]) -> tuple[Expression, ...]:
    for name in columns:
        table.column(name)
    return tuple(_named(name) for name in columns)


@lru_cache(maxsize=1024)
def _named(name: str) -> Expression:
    return Expression(name, lambda row, given: row[name], frozenset([name]), frozenset())


def _with_unique(table: Table, unique: Unique, is_key: bool, schema: Schema) -> Table:
    if unique.name in relations(_put(schema, table)):
        raise Refused("42P07", f'relation "{unique.name}" already exists')
    table = replace(table, uniques=(*table.uniques, unique))
    if not is_key:
        return table
    if table.key:
        raise Refused("42P16", f'multiple primary keys for table "{table.name}" are not allowed')
    for name in unique.columns:
        table = table.with_column(name, lambda column: replace(column, is_required=True))
    return replace(table, key=unique.name)


def _free(table: Table, name: str, schema: Schema | None = None) -> str:
    names = {one.name for group in (table.uniques, table.checks, table.references) for one in group}
    names |= relations(_put(schema, table)) if schema is not None else set()
    return next(one for one in (name, *(f"{name}{n}" for n in range(1, 99))) if one not in names)


def _alter(node: Any, schema: Schema, contents: Contents) -> tuple[Schema, Contents]:
    name = node.relation.relname
    if name not in schema and node.missing_ok:
        return schema, contents
    for command in (one.alter_table_cmd for one in node.cmds):
        table = table_of(schema, name)
        make = _COMMANDS.get(_kinds()[command.subtype])
        if make is None:
            raise NotModelled(f"ALTER TABLE .. {_kinds()[command.subtype].removeprefix('AT_')} is not modelled")
        schema, rows = make(command, table, schema, contents)
        contents = {**contents, name: rows}
    return schema, contents


@lru_cache(maxsize=1)
def _kinds() -> dict[int, str]:
    from postgast import pg_query_pb2 as pb

    return {number: name for name, number in pb.AlterTableType.items()}


Altered = tuple[Schema, Rows]


def _checked(table: Table, rows: Rows, schema: Schema, contents: Contents) -> Altered:
    for values in rows.values():
        row = table.row(values)
        for column in table.columns:
            if column.is_required and row[column.name] is None:
                text = f'column "{column.name}" of relation "{table.name}" contains null values'
                raise Refused("23502", text)
        for check in table.checks:
            if check.is_valid and check.condition(row, {}) is False:
                text = f'check constraint "{check.name}" of relation "{table.name}" is violated by some row'
                raise Refused("23514", text)
    for unique in table.uniques:
        check_unique(table, unique, rows)
    schema = _put(schema, table)
    for reference in table.references:
        if reference.is_valid:
            check_reference(schema, reference, table, rows.values(), {**contents, table.name: rows})
    return schema, rows


def _rows(table: Table, contents: Contents) -> Rows:
    return contents.get(table.name, {})


def _add_column(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    definition = getattr(node, "def").column_def
    rows = _rows(table, contents)
    if definition.colname in table.names:
        if node.missing_ok:
            return schema, rows
        raise Refused("42701", f'column "{definition.colname}" of relation "{table.name}" already exists')
    column, constraints = _column(definition)
    wider = replace(table, columns=(*table.columns, column))
    for one in constraints:
        wider = _constrained(wider, one, (column.name,), schema)

    def value(values: tuple[Value, ...]) -> Value:
        source = column.generated or column.default
        return cast(source(table.row(values), {}) if source else None, column.type)

    return _checked(wider, {key: (*values, value(values)) for key, values in rows.items()}, schema, contents)


def _drop_column(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    name, rows = node.name, _rows(table, contents)
    if name not in table.names and node.missing_ok:
        return schema, rows
    table.column(name)
    for one in table.columns:
        if one.generated is not None and name in one.generated.columns and one.name != name:
            if node.behavior != CASCADE:
                raise Refused("2BP01", f"cannot drop column {name}: column {one.name} is computed from it")
            inner = type(node)(name=one.name, behavior=CASCADE)
            schema, rows = _drop_column(inner, table, schema, contents)
            return _drop_column(node, schema[table.name], schema, {**contents, table.name: rows})
    schema = _unreferred(schema, table, f"column {name}", node, lambda one: name in one.parent_columns)
    table = schema[table.name]
    place = table.names.index(name)
    narrower = replace(
        table,
        columns=tuple(one for one in table.columns if one.name != name),
        uniques=tuple(one for one in table.uniques if name not in one.uses),
        indexes=tuple(one for one in table.indexes if name not in one.uses),
        checks=tuple(one for one in table.checks if name not in one.condition.columns),
        references=tuple(one for one in table.references if name not in one.columns),
    )
    narrower = replace(narrower, key=table.key if any(u.name == table.key for u in narrower.uniques) else "")
    return _put(schema, narrower), {key: (*v[:place], *v[place + 1 :]) for key, v in rows.items()}


def _unreferred(
    schema: Schema, table: Table, what: str, node: Any, depends: Callable[[Reference], bool]
) -> dict[str, Table]:
    """Without the foreign keys that depend on what is dropped. Raises 2BP01 unless it says CASCADE."""
    result = dict(schema)
    for name, other in schema.items():
        gone = [one for one in other.references if one.parent == table.name and depends(one)]
        if gone and node.behavior != CASCADE:
            text = f"cannot drop {what}: constraint {gone[0].name} on table {name} depends on it"
            raise Refused("2BP01", text)
        if gone:
            result[name] = replace(other, references=tuple(one for one in other.references if one not in gone))
    return result


def _set_not_null(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    stricter = table.with_column(node.name, lambda column: replace(column, is_required=True))
    return _checked(stricter, _rows(table, contents), schema, contents)


def _drop_not_null(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    table.column(node.name)
    if table.primary is not None and node.name in table.primary.columns:
        raise Refused("42P16", f'column "{node.name}" is in a primary key')
    looser = table.with_column(node.name, lambda column: replace(column, is_required=False, not_null=""))
    return _put(schema, looser), _rows(table, contents)


def _default(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    column = table.column(node.name)
    if column.generated is not None:
        raise Refused("42601", f'column "{node.name}" of relation "{table.name}" is a generated column')
    default = _default_of(getattr(node, "def"), node.name, column.type) if node.HasField("def") else None
    return _put(schema, table.with_column(node.name, lambda c: replace(c, default=default))), _rows(table, contents)


def _type(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    definition = getattr(node, "def").column_def
    wanted, name = type_of(definition.type_name), node.name
    using = Compiler().compile(definition.raw_default) if definition.HasField("raw_default") else None
    place = table.names.index(table.column(name).name)

    column = table.columns[place]
    found = using.kind(table.types) if using else kind(column.type)
    if not is_assigned(found, wanted):
        raise Refused("42804", f'column "{name}" cannot be cast automatically to type {wanted}')
    if column.default is not None and not is_assigned(kind(column.type), wanted):
        raise Refused("42804", f'default for column "{name}" cannot be cast automatically to type {wanted}')
    if any(one.generated is not None and name in one.generated.columns for one in table.columns):
        raise Refused("0A000", "cannot alter type of a column used by a generated column")

    def value(values: tuple[Value, ...]) -> Value:
        return cast(using(table.row(values), {}) if using else values[place], wanted)

    altered = table.with_column(name, lambda column: replace(column, type=wanted))
    _check_kinds(altered, _put(schema, altered))
    rows = {key: (*v[:place], value(v), *v[place + 1 :]) for key, v in _rows(table, contents).items()}
    return _checked(altered, rows, schema, contents)


def _check_kinds(table: Table, schema: Schema) -> None:
    """Raises 42883 or 42804 where a constraint, an index or a foreign key has no meaning for the columns' new types."""
    for one in table.checks:
        one.condition.kind(table.types)
    for unique in table.uniques:
        for part in (*unique.parts, *((unique.condition,) if unique.condition else ())):
            part.kind(table.types)
    for child in schema.values():
        for reference in child.references:
            parent = schema[reference.parent]
            pairs = zip(reference.columns, reference.parent_columns, strict=True)
            if any(kind(child.types[own]) != kind(parent.types[other]) for own, other in pairs):
                raise Refused("42804", f'foreign key constraint "{reference.name}" cannot be implemented')


def _add_constraint(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    constraint = getattr(node, "def").constraint
    if constraint.contype == 2:
        name = constraint.keys[0].string.sval
        if constraint.skip_validation:
            raise NotModelled("NOT NULL .. NOT VALID is not modelled")
        named = constraint.conname
        stricter = table.with_column(
            name, lambda one: one if one.is_required else replace(one, is_required=True, not_null=named)
        )
    else:
        stricter = _constrained(table, constraint, (), schema)
    return _checked(stricter, _rows(table, contents), schema, contents)


def _validate(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    if node.name not in {*(one.name for one in table.checks), *(one.name for one in table.references)}:
        raise Refused("42704", f'constraint "{node.name}" of relation "{table.name}" does not exist')
    valid = replace(
        table,
        checks=tuple(replace(one, is_valid=True) if one.name == node.name else one for one in table.checks),
        references=tuple(replace(one, is_valid=True) if one.name == node.name else one for one in table.references),
    )
    return _checked(valid, _rows(table, contents), schema, contents)


def _drop_constraint(node: Any, table: Table, schema: Schema, contents: Contents) -> Altered:
    for column in table.columns:
        if column.is_required and node.name == (column.not_null or f"{table.name}_{column.name}_not_null"):
            return _drop_not_null(type(node)(name=column.name), table, schema, contents)
    key = next((one for one in table.uniques if one.name == node.name and one.is_constraint), None)
    if key is not None:
        owner = table
        schema = _unreferred(schema, owner, f"constraint {key.name}", node, lambda one: owner.referred(one) is key)
        table = schema[table.name]
    left = replace(
        table,
        uniques=tuple(one for one in table.uniques if one.name != node.name or not one.is_constraint),
        checks=tuple(one for one in table.checks if one.name != node.name),
        references=tuple(one for one in table.references if one.name != node.name),
        key="" if table.key == node.name else table.key,
    )
    if left == table and not node.missing_ok:
        raise Refused("42704", f'constraint "{node.name}" of relation "{table.name}" does not exist')
    return _put(schema, left), _rows(table, contents)


def _rename(node: Any, schema: Schema, contents: Contents) -> tuple[Schema, Contents]:
    name = node.relation.relname
    if node.missing_ok and name not in relations(schema):
        return schema, contents
    for owner in schema.values():
        if not node.subname and name in owner.relations:
            if node.newname in relations(schema):
                raise Refused("42P07", f'relation "{node.newname}" already exists')
            return _put(schema, _renamed_constraint(owner, name, node.newname)), contents
    table = table_of(schema, name)
    rows = _rows(table, contents)
    if node.subname and node.rename_type == OBJECT_TABCONSTRAINT:
        return _put(schema, _renamed_constraint(table, node.subname, node.newname)), contents
    if node.subname:
        renamed = _put(schema, _renamed_column(table, node.subname, node.newname))
        for other in renamed.values():
            references = tuple(
                replace(r, parent_columns=tuple(node.newname if c == node.subname else c for c in r.parent_columns))
                if r.parent == table.name
                else r
                for r in other.references
            )
            renamed = _put(renamed, replace(other, references=references))
        return renamed, contents
    if node.newname in relations(schema):
        raise Refused("42P07", f'relation "{node.newname}" already exists')
    rest = {name if name != table.name else node.newname: one for name, one in schema.items()}
    rest = {
        name: replace(
            one,
            references=tuple(replace(r, parent=node.newname) if r.parent == table.name else r for r in one.references),
        )
        for name, one in rest.items()
    }
    others = {name: one for name, one in contents.items() if name != table.name}
    rest[node.newname] = replace(rest[node.newname], name=node.newname)
    return rest, {**others, node.newname: rows}


def _renamed_constraint(table: Table, old: str, new: str) -> Table:
    """A constraint, or an index, by a new name. Raises 42704."""
    if old not in table.relations | table.constraints:
        raise Refused("42704", f'constraint "{old}" for table "{table.name}" does not exist')
    return replace(
        table,
        key=new if table.key == old else table.key,
        uniques=tuple(replace(one, name=new) if one.name == old else one for one in table.uniques),
        checks=tuple(replace(one, name=new) if one.name == old else one for one in table.checks),
        references=tuple(replace(one, name=new) if one.name == old else one for one in table.references),
        indexes=tuple(replace(one, name=new) if one.name == old else one for one in table.indexes),
    )


def _renamed_column(table: Table, old: str, new: str) -> Table:
    table.column(old)
    if new in table.names:
        raise Refused("42701", f'column "{new}" of relation "{table.name}" already exists')

    def name(one: str) -> str:
        return new if one == old else one

    def expression(one: Expression) -> Expression:
        if old not in one.columns:
            return one
        evaluate, kind_in = one.evaluate, one.kind
        return replace(
            one,
            columns=frozenset(map(name, one.columns)),
            evaluate=lambda row, given: evaluate({**row, old: row[new]}, given),
            kind=lambda types: kind_in({**types, old: types[new]}),
        )

    return replace(
        table,
        columns=tuple(
            replace(c, name=name(c.name), generated=c.generated and expression(c.generated)) for c in table.columns
        ),
        uniques=tuple(
            replace(
                u,
                parts=tuple(map(expression, u.parts)),
                columns=tuple(map(name, u.columns)),
                condition=u.condition and expression(u.condition),
            )
            for u in table.uniques
        ),
        checks=tuple(replace(c, condition=expression(c.condition)) for c in table.checks),
        indexes=tuple(replace(i, uses=frozenset(map(name, i.uses))) for i in table.indexes),
        references=tuple(replace(r, columns=tuple(map(name, r.columns))) for r in table.references),
    )


def _index(node: Any, schema: Schema, contents: Contents) -> tuple[Schema, Contents]:
    table = table_of(schema, node.relation.relname)
    if node.nulls_not_distinct:
        raise NotModelled("NULLS NOT DISTINCT is not modelled")
    columns = tuple(part.index_elem.name for part in node.index_params)
    parts = tuple(
        _named(part.index_elem.name) if part.index_elem.name else Compiler().compile(part.index_elem.expr)
        for part in node.index_params
    )
    for one in parts:
        for name in one.columns:
            table.column(name)
    condition = Compiler().compile(node.where_clause) if node.HasField("where_clause") else None
    if node.idxname and node.idxname in relations(schema):
        if node.if_not_exists:
            return schema, contents
        raise Refused("42P07", f'relation "{node.idxname}" already exists')
    name = node.idxname or _free(table, f"{table.name}_{'_'.join(one or 'expr' for one in columns)}_idx", schema)
    unique = Unique(name, parts, columns, condition)
    if not node.unique:
        table = replace(table, indexes=(*table.indexes, Index(name, unique.uses)))
        return _put(schema, table), contents
    table = _with_unique(table, unique, False, schema)
    schema, _ = _checked(table, _rows(table, contents), schema, contents)
    return schema, contents


def _drop(node: Any, schema: Schema, contents: Contents) -> tuple[Schema, Contents]:
    for one in node.objects:
        items = one.list.items if one.HasField("list") else [one]
        name = items[-1].string.sval
        if node.remove_type == OBJECT_INDEX:
            schema = _drop_index(node, name, schema)
            continue
        if node.remove_type == OBJECT_TABLE:
            if name not in schema:
                if node.missing_ok:
                    continue
                raise Refused("42P01", f'table "{name}" does not exist')
            for other in schema.values():
                if other.name != name and any(r.parent == name for r in other.references) and node.behavior != CASCADE:
                    raise Refused("2BP01", f"cannot drop table {name} because other objects depend on it")
            schema = {
                key: replace(t, references=tuple(r for r in t.references if r.parent != name))
                for key, t in schema.items()
                if key != name
            }
            contents = {key: rows for key, rows in contents.items() if key != name}
            continue
        for table in schema.values():
            schema = _put(schema, replace(table, triggers=tuple(t for t in table.triggers if t.name != name)))
    return schema, contents


def _drop_index(node: Any, name: str, schema: Schema) -> Schema:
    owner = next((table for table in schema.values() if name in table.relations), None)
    if owner is None:
        if node.missing_ok:
            return schema
        raise Refused("42704", f'index "{name}" does not exist')
    unique = next((one for one in owner.uniques if one.name == name), None)
    if unique is not None:
        if unique.is_constraint:
            raise Refused("2BP01", f"cannot drop index {name} because constraint {name} requires it")
        table = owner
        schema = _unreferred(schema, table, f"index {name}", node, lambda one: table.referred(one) is unique)
        owner = schema[owner.name]
    left = replace(
        owner,
        uniques=tuple(one for one in owner.uniques if one.name != name),
        indexes=tuple(one for one in owner.indexes if one.name != name),
    )
    return _put(schema, left)


_MAKERS: dict[str, Callable[[Any, Schema, Contents], tuple[Schema, Contents]]] = {
    "create_stmt": _create,
    "alter_table_stmt": _alter,
    "rename_stmt": _rename,
    "index_stmt": _index,
    "drop_stmt": _drop,
}
_COMMANDS: dict[str, Callable[[Any, Table, Schema, Contents], Altered]] = {
    "AT_AddColumn": _add_column,
    "AT_DropColumn": _drop_column,
    "AT_SetNotNull": _set_not_null,
    "AT_DropNotNull": _drop_not_null,
    "AT_ColumnDefault": _default,
    "AT_AlterColumnType": _type,
    "AT_AddConstraint": _add_constraint,
    "AT_ValidateConstraint": _validate,
    "AT_DropConstraint": _drop_constraint,
}
