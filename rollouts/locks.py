"""Locks of schema statements on PostgreSQL, whether they read or rewrite the table, and what to use instead. Not
explored: a test holds each row against a real PostgreSQL (`pg_locks`, the relation's file)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from catalog.text.message import NOTHING, Text
from rollouts.file import SCHEMA_LAB, SchemaDeploy, TriggerDeploy
from rollouts.statements.reading import tree_of
from rollouts.statements.tables import Schema
from rollouts.statements.values import Type
from rollouts.worlds.model import Model

TRIED_ON = "PostgreSQL 18"

EXCLUSIVE, SHARE_ROW, SHARE, UPDATE = (
    "AccessExclusiveLock",
    "ShareRowExclusiveLock",
    "ShareLock",
    "ShareUpdateExclusiveLock",
)
BLOCKS = {EXCLUSIVE: Text("reads and writes wait"), SHARE_ROW: Text("writes wait"), SHARE: Text("writes wait")}

MOMENT = Text("Short by itself, but it queues behind open transactions: set lock_timeout and try again.")


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    example: str
    lock: str
    reads: bool = False
    rewrites: bool = False
    instead: Text = NOTHING


@dataclass(frozen=True, slots=True)
class HoldUp:
    deploy: int
    text: str
    rule: Rule

    def to_json(self) -> dict[str, Any]:
        rule = self.rule
        return {
            "deploy": self.deploy,
            "statement": self.text,
            "rule": rule.name,
            "lock": rule.lock,
            "reads_the_table": rule.reads,
            "rewrites_the_table": rule.rewrites,
            "instead": str(rule.instead),
        }


_REWRITE = Text("It writes the whole table anew: add a column of the new type, write both, backfill, then switch.")
_VALID = Text("It reads the whole table under the lock: add the constraint NOT VALID, then VALIDATE it.")
_NOT_NULL = Text("It reads the whole table: add CHECK (c IS NOT NULL) NOT VALID, VALIDATE it, then SET NOT NULL.")
_CONCURRENTLY = Text("Use CREATE INDEX CONCURRENTLY: writes go on.")
_USING = Text(
    "It builds an index under the lock: CREATE UNIQUE INDEX CONCURRENTLY, then ADD CONSTRAINT .. USING INDEX."
)

RULES = (
    Rule("add column", "ALTER TABLE t ADD c2 text", EXCLUSIVE, instead=MOMENT),
    Rule("add column with constant default", "ALTER TABLE t ADD c2 int DEFAULT 7", EXCLUSIVE, instead=MOMENT),
    Rule(
        "add column with volatile default",
        "ALTER TABLE t ADD c2 float8 DEFAULT random()",
        EXCLUSIVE,
        True,
        True,
        _REWRITE,
    ),
    Rule(
        "add generated column",
        "ALTER TABLE t ADD c2 int GENERATED ALWAYS AS (a + 1) STORED",
        EXCLUSIVE,
        True,
        True,
        _REWRITE,
    ),
    Rule("drop column", "ALTER TABLE t DROP COLUMN b", EXCLUSIVE, instead=MOMENT),
    Rule("rename column", "ALTER TABLE t RENAME COLUMN b TO c", EXCLUSIVE, instead=MOMENT),
    Rule("rename table", "ALTER TABLE t RENAME TO t2", EXCLUSIVE, instead=MOMENT),
    Rule("set default", "ALTER TABLE t ALTER a SET DEFAULT 1", EXCLUSIVE, instead=MOMENT),
    Rule("set not null", "ALTER TABLE t ALTER a SET NOT NULL", EXCLUSIVE, True, instead=_NOT_NULL),
    Rule("set not null after check", "ALTER TABLE t ALTER n SET NOT NULL", EXCLUSIVE, instead=MOMENT),
    Rule("drop not null", "ALTER TABLE t ALTER id2 DROP NOT NULL", EXCLUSIVE, instead=MOMENT),
    Rule("longer varchar", "ALTER TABLE t ALTER v TYPE varchar(40)", EXCLUSIVE, instead=MOMENT),
    Rule("varchar to text", "ALTER TABLE t ALTER v TYPE text", EXCLUSIVE, instead=MOMENT),
    Rule("change type", "ALTER TABLE t ALTER a TYPE bigint", EXCLUSIVE, True, True, _REWRITE),
    Rule("add check", "ALTER TABLE t ADD CHECK (a > -9)", EXCLUSIVE, True, instead=_VALID),
    Rule("add check not valid", "ALTER TABLE t ADD CHECK (a > -9) NOT VALID", EXCLUSIVE, instead=MOMENT),
    Rule("validate constraint", "ALTER TABLE t VALIDATE CONSTRAINT later", UPDATE, True),
    Rule("add foreign key", "ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES p (id)", SHARE_ROW, True, instead=_VALID),
    Rule(
        "add foreign key not valid",
        "ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES p (id) NOT VALID",
        SHARE_ROW,
        instead=MOMENT,
    ),
    Rule("add unique", "ALTER TABLE t ADD UNIQUE (id2)", EXCLUSIVE, True, instead=_USING),
    Rule("add primary key", "ALTER TABLE t ADD PRIMARY KEY (id2)", EXCLUSIVE, True, instead=_USING),
    Rule("add unique using index", "ALTER TABLE t ADD CONSTRAINT u UNIQUE USING INDEX made", EXCLUSIVE, instead=MOMENT),
    Rule("drop constraint", "ALTER TABLE t DROP CONSTRAINT later", EXCLUSIVE, instead=MOMENT),
    Rule("create index", "CREATE INDEX ON t (a)", SHARE, True, instead=_CONCURRENTLY),
    Rule("create index concurrently", "CREATE INDEX CONCURRENTLY i2 ON t (a)", UPDATE, True),
    Rule(
        "drop index", "DROP INDEX made", EXCLUSIVE, instead=Text("Use DROP INDEX CONCURRENTLY: reads and writes go on.")
    ),
    Rule(
        "create trigger",
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
        SHARE_ROW,
        instead=MOMENT,
    ),
    Rule("drop trigger", "DROP TRIGGER g0 ON t", EXCLUSIVE, instead=MOMENT),
    Rule("drop table", "DROP TABLE t", EXCLUSIVE, instead=MOMENT),
)
BY_NAME = {rule.name: rule for rule in RULES}


def hold_ups(model: Model) -> Iterator[HoldUp]:
    if model.rollout.is_on_lab:
        return
    schemas = {(stage.done, stage.text): stage.schema for stage in model.stages}
    for number, deploy in enumerate(model.rollout.deploys):
        if isinstance(deploy, TriggerDeploy):
            text = f"trigger {deploy.trigger.name} on {deploy.table}"
            yield HoldUp(number + 1, text, BY_NAME["create trigger"])
        elif isinstance(deploy, SchemaDeploy):
            for text in deploy.texts:
                schema = schemas.get((number, text), {})
                for name in rules_of(text, schema):
                    is_known = name == "set not null" and _is_checked(text, schema)
                    yield HoldUp(number + 1, text, BY_NAME["set not null after check" if is_known else name])


def _is_checked(text: str, schema: Schema) -> bool:
    """True if a valid CHECK says that the column is not NULL: then SET NOT NULL does not read the table."""
    node = tree_of(text).alter_table_stmt
    column = node.cmds[0].alter_table_cmd.name
    checks = schema[node.relation.relname].checks if node.relation.relname in schema else ()
    return any(
        one.is_valid and one.condition.columns == {column} and one.condition({column: None}, {}) is False
        for one in checks
    )


def tried(database: str) -> Text:
    if database == SCHEMA_LAB:
        return Text("on Schema Lab no statement waits for a schema change")
    if database in ("postgresql", TRIED_ON.lower()):
        return Text("tried on {version}", {"version": TRIED_ON})
    return Text("not tried on {database}; tried on {version}", {"database": database, "version": TRIED_ON})


def rules_of(text: str, schema: Schema) -> tuple[str, ...]:
    """The names of a statement's rules; none for CREATE TABLE and for rows."""
    node = tree_of(text)
    kind = str(node.WhichOneof("node"))
    body = getattr(node, kind)
    match kind:
        case "alter_table_stmt":
            table = schema.get(body.relation.relname)
            types = {column.name: column.type for column in table.columns} if table is not None else {}
            return tuple(_rule(one.alter_table_cmd, types) for one in body.cmds)
        case "rename_stmt":
            return ("rename column" if body.subname else "rename table",)
        case "index_stmt":
            return ("create index concurrently" if body.concurrent else "create index",)
        case "drop_stmt":
            what = postgres_names()["objects"][body.remove_type].removeprefix("OBJECT_").lower()
            return () if what == "index" and body.concurrent else (f"drop {what}",)
    return ()


@lru_cache(maxsize=1)
def postgres_names() -> dict[str, dict[int, str]]:
    from postgast import pg_query_pb2 as pb

    return {
        "commands": {number: name for name, number in pb.AlterTableType.items()},
        "objects": {number: name for name, number in pb.ObjectType.items()},
    }


_PLAIN = {
    "AT_DropColumn": "drop column",
    "AT_SetNotNull": "set not null",
    "AT_DropNotNull": "drop not null",
    "AT_ColumnDefault": "set default",
    "AT_ValidateConstraint": "validate constraint",
    "AT_DropConstraint": "drop constraint",
}


STABLE = frozenset(
    {"now", "transaction_timestamp", "statement_timestamp", "lower", "upper", "length", "abs", "coalesce"}
)
"""Functions that a default computes once for all rows; any other is taken for volatile, which is the safe side."""


def _calls(node: Any) -> Iterator[str]:
    for field, value in node.ListFields():
        if field.name == "func_call":
            yield value.funcname[-1].string.sval
        for part in value if field.is_repeated else (value,):
            if field.message_type is not None:
                yield from _calls(part)


def _rule(command: Any, types: Mapping[str, Type]) -> str:
    kind = postgres_names()["commands"][command.subtype]
    if kind in _PLAIN:
        return _PLAIN[kind]
    definition = getattr(command, "def")
    if kind == "AT_AddColumn":
        constraints = {one.constraint.contype: one.constraint for one in definition.column_def.constraints}
        if 5 in constraints:
            return "add generated column"
        if 3 in constraints:
            is_constant = STABLE.issuperset(_calls(constraints[3].raw_expr))
            return f"add column with {'constant' if is_constant else 'volatile'} default"
        return "add column"
    if kind == "AT_AlterColumnType":
        if definition.column_def.HasField("raw_default"):
            return "change type"
        wanted = definition.column_def.type_name
        sizes = [one.a_const.ival.ival for one in wanted.typmods]
        new = wanted.names[-1].string.sval
        size = sizes[0] if sizes else None
        match types.get(command.name):
            case Type("varchar" | "text") if new == "text" or (new == "varchar" and size is None):
                return "varchar to text"
            case Type("varchar", before) if (
                new == "varchar" and before is not None and size is not None and before <= size
            ):
                return "longer varchar"
        return "change type"
    constraint = definition.constraint
    names = {6: "add check", 7: "add primary key", 8: "add unique", 10: "add foreign key"}
    if constraint.contype == 2:
        return "set not null"
    if constraint.indexname:
        return "add unique using index"
    suffix = " not valid" if constraint.skip_validation else ""
    return names[constraint.contype] + suffix
