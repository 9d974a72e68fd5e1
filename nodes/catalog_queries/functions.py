"""Functions that a text may call at the shadow: by their names, beside the privileges of the role it runs as. Pure. An
owner that is no superuser cannot take privileges from PUBLIC, and a function has more than one way to be called
(`nodes.sql.admission`). So the names are looked at in any case."""

from collections.abc import Iterable
from typing import Any

from expressions.errors import UNDEFINED_FUNCTION, SqlError, unsupported
from nodes.catalog_queries.asks import INFORMATION
from nodes.catalog_queries.compiled import REPLACED
from nodes.sql.admission import INSTEAD, FunctionNames, nodes_in
from storage.reader.role import ALLOWED_SQL
from storage.shadow.rights import NAMES, PATTERNS

Node = Any
_NAMES = ", ".join(f"'{name}'" for name in NAMES)
_PATTERNS = ", ".join(f"'{pattern}'" for pattern in PATTERNS)
NAMES_SQL = f"""
SELECT p.proname, bool_and(f.is_allowed OR p.proname IN ({_NAMES}) OR p.proname LIKE ANY (ARRAY[{_PATTERNS}]))
FROM pg_proc p JOIN ({ALLOWED_SQL}) AS f USING (oid) GROUP BY p.proname
"""
"""At the shadow: names of functions, and whether all of that name may be called."""


def names_of(rows: Iterable[tuple[str, bool]]) -> FunctionNames:
    allowed, refused = set[str](), set[str]()
    for name, is_allowed in rows:
        (allowed if is_allowed else refused).add(name)
    return FunctionNames(frozenset(allowed), frozenset(refused))


def admit(select: Node, functions: FunctionNames) -> None:
    """Raises 0A000 or 42883 for a text that calls something else; locking clauses and INTO as well."""
    for node in nodes_in(select):
        kind = node.DESCRIPTOR.name
        if kind == "FuncCall":
            _check_call([part.string.sval for part in node.funcname], functions, node.location)
        elif kind == "A_Indirection":
            for name in _strings(node.indirection):
                _refuse(name, functions, -1)
        elif kind == "ColumnRef" and len(node.fields) > 1:
            for name in _strings(node.fields)[-1:]:
                if name.startswith(("pg_", "query_", "table_", "cursor_", "schema_", "database_")):
                    _refuse(name, functions, node.location)
        elif kind == "LockingClause":
            raise unsupported("FOR UPDATE of the catalog")
        elif kind == "IntoClause":
            raise unsupported("SELECT INTO")


def _check_call(parts: list[str], functions: FunctionNames, location: int) -> None:
    name = parts[-1]
    if (len(parts) > 1 and parts[0] == INFORMATION) or (name in REPLACED and parts[:-1] in ([], ["pg_catalog"])):
        return
    _refuse(name, functions, location)
    if (len(parts) > 1 and parts[0] != "pg_catalog") or name not in functions.allowed:
        shown = ".".join(parts)
        raise SqlError(UNDEFINED_FUNCTION, f"function {shown} does not exist", location)


def _refuse(name: str, functions: FunctionNames, location: int) -> None:
    if name in functions.refused:
        raise unsupported(f"function {name} in a question to the catalog", location, hint=INSTEAD.get(name))


def _strings(parts: Any) -> list[str]:
    return [part.string.sval for part in parts if part.WhichOneof("node") == "string"]
