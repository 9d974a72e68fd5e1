"""The deploys of a rollout in the words of Alembic and Django; where they have none, as SQL."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rollouts.file import BackfillDeploy, GoneDeploy, ReleaseDeploy, SchemaDeploy, TriggerDeploy
from rollouts.locks import postgres_names
from rollouts.statements.expressions import type_of
from rollouts.statements.reading import numbered, tree_of
from rollouts.statements.tables import Schema
from rollouts.statements.values import Type
from rollouts.worlds.model import Model


@dataclass(frozen=True, slots=True)
class DeployWords:
    deploy: int
    texts: tuple[str, ...]
    alembic: tuple[str, ...]
    django: tuple[str, ...]


def words_of(model: Model) -> Iterator[DeployWords]:
    for number, deploy in enumerate(model.rollout.deploys, 1):
        match deploy:
            case ReleaseDeploy() | GoneDeploy():
                continue
            case SchemaDeploy():
                schemas = {stage.text: stage.schema for stage in model.stages if stage.done == number - 1}
                pairs = [_schema_words(text, schemas.get(text, {})) for text in deploy.texts]
                yield DeployWords(number, deploy.texts, tuple(a for a, _ in pairs), tuple(d for _, d in pairs))
            case BackfillDeploy():
                texts = tuple(one.text for one in deploy.statements)
                yield DeployWords(number, texts, *_backfill_words(texts, deploy.by_key, model.rollout.key))
            case TriggerDeploy():
                text = f"CREATE TRIGGER {deploy.trigger.name} BEFORE INSERT OR UPDATE ON {deploy.table} .."
                yield DeployWords(number, (text,), (_execute(text),), (_run_sql(text),))


def _quoted(text: object) -> str:
    return json.dumps(str(text).strip().replace("\n", " "), ensure_ascii=False)


def _execute(text: str) -> str:
    return f"op.execute({_quoted(text)})"


def _run_sql(text: str) -> str:
    return f"migrations.RunSQL({_quoted(text)})"


def _backfill_words(texts: tuple[str, ...], by_key: bool, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """One transaction for each key, so neither tool may put a transaction around all."""
    if not by_key:
        return tuple(map(_execute, texts)), tuple(map(_run_sql, texts))
    alembic = [f"for {key} in keys:  # each a transaction of its own: op.get_context().autocommit_block()"]
    alembic += [f"    bind.execute(sa.text({_quoted(text)}), values)" for text in texts]
    django = [
        f"for {key} in keys:  # in RunPython, with atomic = False on the migration",
        "    with transaction.atomic():",
    ]
    django += [f"        cursor.execute({_quoted(_named(text))}, values)" for text in texts]
    return tuple(alembic), tuple(django)


def _named(text: str) -> str:
    sql, names = numbered(text.replace("%", "%%"))
    for place in range(len(names), 0, -1):
        sql = sql.replace(f"${place}", f"%({names[place - 1]})s")
    return sql


def _schema_words(text: str, schema: Schema) -> tuple[str, str]:
    node = tree_of(text)
    kind = str(node.WhichOneof("node"))
    found: tuple[str | None, str | None] = (None, None)
    if kind == "rename_stmt":
        found = _rename(node.rename_stmt)
    elif kind == "index_stmt":
        found = _index(node.index_stmt, text)
    elif kind == "alter_table_stmt" and len(node.alter_table_stmt.cmds) == 1:
        table = node.alter_table_stmt.relation.relname
        command = node.alter_table_stmt.cmds[0].alter_table_cmd
        found = _alter(table, command, schema)
    return found[0] or _execute(text), found[1] or _run_sql(text)


def _rename(node: Any) -> tuple[str, str]:
    table, new = _quoted(node.relation.relname), _quoted(node.newname)
    if not node.subname:
        return f"op.rename_table({table}, {new})", f"migrations.AlterModelTable({table}, {new})"
    old = _quoted(node.subname)
    return f"op.alter_column({table}, {old}, new_column_name={new})", f"migrations.RenameField({table}, {old}, {new})"


def _index(node: Any, text: str) -> tuple[str | None, str | None]:
    columns = [part.index_elem.name for part in node.index_params]
    if not node.idxname or not all(columns) or node.HasField("where_clause"):
        return (
            f"with op.get_context().autocommit_block(): {_execute(text)}" if node.concurrent else _execute(text)
        ), _run_sql(text)
    more = ", unique=True" if node.unique else ""
    names = ", ".join(map(_quoted, columns))
    table = _quoted(node.relation.relname)
    if not node.concurrent:
        return f"op.create_index({_quoted(node.idxname)}, {table}, [{names}]{more})", None
    word = f"op.create_index({_quoted(node.idxname)}, {table}, [{names}]{more}, postgresql_concurrently=True)"
    return f"with op.get_context().autocommit_block(): {word}", _run_sql(text)


_TYPES = {
    "int2": ("sa.SmallInteger()", "models.SmallIntegerField({})"),
    "int4": ("sa.Integer()", "models.IntegerField({})"),
    "int8": ("sa.BigInteger()", "models.BigIntegerField({})"),
    "text": ("sa.Text()", "models.TextField({})"),
    "bool": ("sa.Boolean()", "models.BooleanField({})"),
    "uuid": ("sa.Uuid()", "models.UUIDField({})"),
    "float8": ("sa.Double()", "models.FloatField({})"),
    "timestamptz": ("sa.DateTime(timezone=True)", "models.DateTimeField({})"),
    "date": ("sa.Date()", "models.DateField({})"),
}


def _types(kind: Type, options: str = "") -> tuple[str, str] | None:
    if kind.name == "varchar" and kind.size:
        more = f"max_length={kind.size}" + (f", {options}" if options else "")
        return f"sa.String({kind.size})", f"models.CharField({more})"
    if kind.name == "numeric" and kind.size:
        more = f"max_digits={kind.size}, decimal_places={kind.scale or 0}" + (f", {options}" if options else "")
        return f"sa.Numeric({kind.size}, {kind.scale or 0})", f"models.DecimalField({more})"
    if kind.name not in _TYPES or kind.size is not None:
        return None
    alembic, django = _TYPES[kind.name]
    return alembic, django.format(options)


def _alter(table: str, command: Any, schema: Schema) -> tuple[str | None, str | None]:
    kind = postgres_names()["commands"][command.subtype]
    definition = getattr(command, "def")
    name, owner, column = _quoted(command.name), _quoted(table), None
    if table in schema and command.name in schema[table].names:
        column = schema[table].column(command.name)
    match kind:
        case "AT_AddColumn" if not definition.column_def.constraints:
            types = _types(type_of(definition.column_def.type_name), "null=True")
            added = _quoted(definition.column_def.colname)
            if types is not None:
                alembic = f"op.add_column({owner}, sa.Column({added}, {types[0]}))"
                return alembic, f"migrations.AddField({owner}, {added}, {types[1]})"
        case "AT_DropColumn":
            return f"op.drop_column({owner}, {name})", f"migrations.RemoveField({owner}, {name})"
        case "AT_SetNotNull" | "AT_DropNotNull" if column is not None:
            is_optional = kind == "AT_DropNotNull"
            types = _types(column.type, "null=True" if is_optional else "")
            field = f"migrations.AlterField({owner}, {name}, {types[1]})" if types else None
            return f"op.alter_column({owner}, {name}, nullable={is_optional})", field
        case "AT_ValidateConstraint":
            return None, f"ValidateConstraint({owner}, {name})  # django.contrib.postgres.operations"
        case "AT_DropConstraint":
            return f"op.drop_constraint({name}, {owner})", None
    return None, None
