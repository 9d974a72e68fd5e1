"""From text to a statement: PostgreSQL's grammar, then the part that is modelled; `:name` stands for a parameter.
Everything else is refused by name: no proof may depend on a statement that was only half understood."""

import re
from functools import lru_cache
from typing import Any

import postgast

from expressions.errors import SqlError
from expressions.grammar import parse
from rollouts.statements.effects import Conflict, Delete, Insert, Output, Query, Statement, Update
from rollouts.statements.errors import NotModelled
from rollouts.statements.expressions import Compiler, Expression

_PARAMETER = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$.*?\$\2\$|--[^\n]*|/\*.*?\*/|::)|(?<!\w):([A-Za-z_]\w*)""", re.DOTALL
)


class BadStatement(ValueError):
    """PostgreSQL's grammar does not accept the text."""


def numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with `$1`, `$2` .. in place of `:name`, and the names."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        if found[1]:
            return found[0]
        if found[3] not in names:
            names.append(found[3])
        return f"${names.index(found[3]) + 1}"

    return _PARAMETER.sub(number, text), tuple(names)


def tree_of(text: str) -> Any:
    """Raises `BadStatement`, also for several statements."""
    try:
        statements = parse(text).stmts
    except (SqlError, postgast.PgQueryError) as error:
        raise BadStatement(f"{error}: {text}") from None
    if len(statements) != 1:
        raise BadStatement(f"one statement is expected here, not {len(statements)}: {text}")
    return statements[0].stmt


@lru_cache(maxsize=4096)
def statement_of(text: str) -> Statement:
    sql, names = numbered(text)
    node = tree_of(sql)
    kind = node.WhichOneof("node")
    makers = {"select_stmt": _query, "insert_stmt": _insert, "update_stmt": _update, "delete_stmt": _delete}
    if kind not in makers:
        raise NotModelled(f"{str(kind).removesuffix('_stmt').upper()} is not a statement of a release: {text}")
    try:
        return makers[kind](getattr(node, kind), text, names)
    except NotModelled as error:
        raise NotModelled(f"{error}: {text}") from None


@lru_cache(maxsize=1024)
def expression_of(text: str, qualifiers: frozenset[str] = frozenset()) -> Expression:
    """Without parameters. Raises `BadStatement`, `NotModelled`."""
    target = tree_of(f"SELECT {text}").select_stmt.target_list[0]
    return Compiler((), qualifiers).compile(target.res_target.val, text)


def _table(relation: Any) -> tuple[str, frozenset[str]]:
    name = relation.relname
    if relation.schemaname not in ("", "public"):
        raise NotModelled(f"one schema is modelled: leave {relation.schemaname} out")
    return name, frozenset([relation.alias.aliasname if relation.HasField("alias") else name])


def _refuse(node: Any, what: dict[str, str]) -> None:
    for name, advice in what.items():
        part = getattr(node, name)
        is_there = node.HasField(name) if hasattr(part, "ListFields") else bool(part)
        if is_there:
            raise NotModelled(advice)


FOR_UPDATE, WAITS, LIMIT_COUNT = 5, 1, 2
UPDATES = 3
_WITH = {"with_clause": "WITH is not modelled: write two statements"}


def _outputs(targets: Any, compiler: Compiler) -> tuple[Output, ...]:
    outputs = []
    for target in targets:
        value = target.res_target.val
        is_column = value.WhichOneof("node") == "column_ref"
        last = value.column_ref.fields[-1] if is_column else None
        if last is not None and last.HasField("a_star"):
            outputs.append(Output("*", None))
            continue
        name = target.res_target.name or (last.string.sval if last is not None else "")
        if not name:
            raise NotModelled("an expression of a result needs a name: write AS name")
        outputs.append(Output(name, compiler.compile(value)))
    return tuple(outputs)


def _query(node: Any, text: str, names: tuple[str, ...]) -> Query:
    others = {
        **_WITH,
        "group_clause": "GROUP BY is not modelled: read the rows",
        "distinct_clause": "DISTINCT is not modelled",
        "window_clause": "window functions are not modelled",
        "values_lists": "VALUES by itself is not modelled",
        "having_clause": "HAVING is not modelled: read the rows",
        "limit_offset": "OFFSET is not modelled: read the rows",
    }
    _refuse(node, others)
    if node.op > 1:
        raise NotModelled("UNION and its like are not modelled: write two statements")
    if len(node.from_clause) != 1 or node.from_clause[0].WhichOneof("node") != "range_var":
        raise NotModelled("a SELECT names one table: write a join or a subquery as two statements")
    table, qualifiers = _table(node.from_clause[0].range_var)
    compiler = Compiler(names, qualifiers)
    if any(one.locking_clause.strength != FOR_UPDATE for one in node.locking_clause):
        raise NotModelled("of locking clauses FOR UPDATE alone is modelled")
    if any(one.locking_clause.wait_policy > WAITS for one in node.locking_clause):
        raise NotModelled("NOWAIT and SKIP LOCKED are not modelled: FOR UPDATE waits")
    where = compiler.compile(node.where_clause) if node.HasField("where_clause") else None
    outputs = _outputs(node.target_list, compiler)
    return Query(text, table, names, where, outputs, locks=bool(node.locking_clause), limit=_limit(node))


def _limit(node: Any) -> int | None:
    if not node.HasField("limit_count") or node.limit_count.a_const.isnull:
        return None
    if node.limit_count.a_const.WhichOneof("val") != "ival" or node.limit_option != LIMIT_COUNT:
        raise NotModelled("LIMIT takes a number here")
    return int(node.limit_count.a_const.ival.ival)


def _values(items: Any, compiler: Compiler) -> tuple[Expression | None, ...]:
    return tuple(None if one.WhichOneof("node") == "set_to_default" else compiler.compile(one) for one in items)


def _insert(node: Any, text: str, names: tuple[str, ...]) -> Insert:
    _refuse(node, _WITH)
    table, qualifiers = _table(node.relation)
    compiler = Compiler(names, qualifiers)
    select = node.select_stmt.select_stmt
    rows: tuple[tuple[Expression | None, ...], ...] = ((),)
    source = None
    if select.values_lists:
        rows = tuple(_values(one.list.items, compiler) for one in select.values_lists)
    elif node.HasField("select_stmt"):
        source = _query(select, text, names)
    conflict = None
    if node.HasField("on_conflict_clause"):
        conflict = _conflict(node.on_conflict_clause, Compiler(names, qualifiers, has_excluded=True), text)
    columns = tuple(column.res_target.name for column in node.cols)
    return Insert(text, table, names, None, _returning(node, compiler), columns, rows, source, conflict)


def _returning(node: Any, compiler: Compiler) -> tuple[Output, ...]:
    return _outputs(node.returning_clause.exprs, compiler) if node.HasField("returning_clause") else ()


def _sets(targets: Any, compiler: Compiler) -> tuple[tuple[str, Expression | None], ...]:
    values = [target.res_target for target in targets]
    expressions = _values([one.val for one in values], compiler)
    return tuple((one.name, expression) for one, expression in zip(values, expressions, strict=True))


def _conflict(node: Any, compiler: Compiler, text: str) -> Conflict:
    columns = tuple(one.index_elem.name for one in node.infer.index_elems)
    if node.infer.conname:
        raise NotModelled("ON CONFLICT ON CONSTRAINT is not modelled: name its columns")
    if "" in columns or node.infer.HasField("where_clause"):
        raise NotModelled("of ON CONFLICT columns alone are modelled, without expressions and WHERE")
    if not columns and node.action == UPDATES:
        raise BadStatement(f"ON CONFLICT DO UPDATE names the columns of a unique key: {text}")
    where = compiler.compile(node.where_clause) if node.HasField("where_clause") else None
    return Conflict(columns, _sets(node.target_list, compiler), where, updates=node.action == UPDATES)


def _update(node: Any, text: str, names: tuple[str, ...]) -> Update:
    _refuse(node, {**_WITH, "from_clause": "UPDATE .. FROM is not modelled: write two statements"})
    table, qualifiers = _table(node.relation)
    compiler = Compiler(names, qualifiers)
    where = compiler.compile(node.where_clause) if node.HasField("where_clause") else None
    return Update(text, table, names, where, _returning(node, compiler), _sets(node.target_list, compiler))


def _delete(node: Any, text: str, names: tuple[str, ...]) -> Delete:
    _refuse(node, {**_WITH, "using_clause": "DELETE .. USING is not modelled: write two statements"})
    table, qualifiers = _table(node.relation)
    compiler = Compiler(names, qualifiers)
    where = compiler.compile(node.where_clause) if node.HasField("where_clause") else None
    return Delete(text, table, names, where, _returning(node, compiler))
