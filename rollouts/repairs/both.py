"""The missing releases: one that writes both forms, then one that reads the new, between two that know one form
each."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import postgast

from catalog.text.message import Text
from expressions.grammar import parse
from rollouts.file import ReleaseDeploy
from rollouts.repairs.order import distinct_of
from rollouts.statements.effects import Insert, Query, Statement, Update
from rollouts.statements.reading import numbered, tree_of
from rollouts.statements.tables import Schema
from rollouts.worlds.model import Model

Body = Mapping[str, Any]
Pairs = dict[str, str]


class NoMerge(ValueError):
    """Two operations that cannot become one."""


def writing_both(body: Body, model: Model) -> Iterator[tuple[Text, Body]]:
    """For each release that follows another: the plan with the two releases between them."""
    before = model.rollout.before
    for place, deploy in enumerate(model.rollout.deploys):
        if not isinstance(deploy, ReleaseDeploy):
            continue
        old, new = before, deploy.release
        before = new
        operations = [(one, new.operations[name]) for name, one in old.operations.items() if name in new.operations]
        try:
            merged = [MergedOperation(one.name, one.statements, other.statements) for one, other in operations]
        except NoMerge:
            continue
        starts = [stage for stage in model.stages if stage.done == place and stage.kind == "starts"]
        if not starts:
            return  # a deploy before it fails whatever rows there are
        schema = starts[0].schema
        plan = _plan(list(body["deploy"]), place, merged, schema, old.name, new.name, model.rollout.key)
        yield (
            Text("write both between release {old} and {new}", {"old": old.name, "new": new.name}),
            {**body, "deploy": plan},
        )


class MergedOperation:
    """One operation that does those of two releases, as text; empty `text`: it only reads."""

    def __init__(self, name: str, old: tuple[Statement, ...], new: tuple[Statement, ...]) -> None:
        self.name, self.table = name, old[0].table
        self.new_text: Any = [one.text for one in new] if len(new) > 1 else new[0].text
        self.text, self.old_only, self.copies = "", dict[str, str](), dict[str, str]()
        if all(isinstance(one, Query) for one in (*old, *new)):
            return
        if len(old) != 1 or len(new) != 1:
            raise NoMerge
        self._merge(old[0], new[0])

    def _merge(self, old: Statement, new: Statement) -> None:
        if old.text == new.text:
            self.text = old.text
            return
        if type(old) is not type(new) or not isinstance(old, Insert | Update) or old.table != new.table:
            raise NoMerge
        (first, where), (second, other) = _parts(old), _parts(new)
        if where != other or any(second.get(column, value) != value for column, value in first.items()):
            raise NoMerge
        both = first | second
        if isinstance(old, Insert):
            self.text = f"INSERT INTO {old.table} ({', '.join(both)}) VALUES ({', '.join(both.values())})"
        else:
            sets = ", ".join(f"{column} = {value}" for column, value in both.items())
            self.text = f"UPDATE {old.table} SET {sets}{where}"
        self.old_only = {column: value for column, value in first.items() if column not in second}
        sources = {value: column for column, value in self.old_only.items()}
        self.copies = {column: sources[value] for column, value in second.items() if value in sources}


def _parts(statement: Statement) -> tuple[Pairs, str]:
    sql, names = numbered(statement.text)
    node = tree_of(sql)
    if isinstance(statement, Insert):
        body = node.insert_stmt
        rows = body.select_stmt.select_stmt.values_lists
        if len(rows) != 1 or not body.cols or body.HasField("on_conflict_clause"):
            raise NoMerge
        values = [_text(one, names) for one in rows[0].list.items]
        return dict(zip((one.res_target.name for one in body.cols), values, strict=True)), ""
    body = node.update_stmt
    targets = [one.res_target for one in body.target_list]
    where = f" WHERE {_text(body.where_clause, names)}" if body.HasField("where_clause") else ""
    return {one.name: _text(one.val, names) for one in targets}, where


def _text(node: Any, names: tuple[str, ...]) -> str:
    tree = parse("SELECT 1")
    tree.stmts[0].stmt.select_stmt.target_list[0].res_target.val.CopyFrom(node)
    try:
        text = postgast.deparse(tree).removeprefix("SELECT ")
    except postgast.PgQueryError as error:
        raise NoMerge from error
    return re.sub(r"\$(\d+)", lambda found: f":{names[int(found[1]) - 1]}", text)


def _plan(
    deploys: list[Any], place: int, merged: list[MergedOperation], schema: Schema, old: str, new: str, key: str
) -> list[Any]:
    renames = {number: found for number, one in enumerate(deploys) if (found := _rename(one))}
    back = [next((changed for _, changed in distinct_of(one)), one) for one in deploys if "backfill" in one]
    rest = [(number, one) for number, one in enumerate(deploys) if "backfill" not in one and number not in renames]
    writes = {one.name: one.text for one in merged if one.text}
    reads = {one.name: one.new_text for one in merged if not one.text}
    dropped = []
    added = []
    for table, column, other in renames.values():
        kind = next((c.type for t in schema.values() if t.name == table for c in t.columns if c.name == other), "text")
        added.append({"schema": f"ALTER TABLE {table} ADD COLUMN {other} {kind}"})
        dropped.append({"schema": f"ALTER TABLE {table} DROP COLUMN {column}"})
    back = back or list(_copies(merged, key))
    both, reader = f"{new}, writes both", f"{new}, reads new"
    between = [{"release": both, "like": old, "does": writes}, *back, {"release": reader, "like": both, "does": reads}]
    between += list(_released(merged, schema, renames.values()))
    ahead = [one for number, one in rest if number < place]
    behind = [one for number, one in rest if number >= place]
    return [*ahead, *added, *between, *behind, *dropped]


def _rename(deploy: Mapping[str, Any]) -> tuple[str, str, str] | None:
    text = deploy.get("schema")
    text = text[0] if isinstance(text, list) and len(text) == 1 else text
    node = tree_of(text) if isinstance(text, str) else None
    if node is None or node.WhichOneof("node") != "rename_stmt" or not node.rename_stmt.subname:
        return None
    return node.rename_stmt.relation.relname, node.rename_stmt.subname, node.rename_stmt.newname


def _copies(merged: list[MergedOperation], key: str) -> Iterator[dict[str, str]]:
    copies = {(one.table, column): source for one in merged for column, source in one.copies.items()}
    for (table, column), source in copies.items():
        where = f"{key} = :{key} AND {column} IS DISTINCT FROM {source}"
        yield {"backfill": f"UPDATE {table} SET {column} = {source} WHERE {where}"}


def _released(merged: list[MergedOperation], schema: Schema, renames: Any) -> Iterator[dict[str, str]]:
    olds = {(table, other): column for table, column, other in renames}
    for table, column in {(one.table, column): None for one in merged for column in one.old_only}:
        now = next((new for (owner, new), old in olds.items() if (owner, old) == (table, column)), column)
        found = [one for one in schema[table].columns if one.name == now] if table in schema else []
        if found and found[0].is_required:
            yield {"schema": f"ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL"}
