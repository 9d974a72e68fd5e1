"""The kinds of types that PostgreSQL finds before it reads a row: text is not compared with a number (42883) and not
assigned to one (42804), whatever the values are. A parameter, a quoted literal and NULL take the kind of what stands
beside them: None."""

from collections.abc import Mapping
from typing import Any

from rollouts.statements.errors import Refused
from rollouts.statements.values import INTEGERS, NAMES, Type

Kind = str | None
Types = Mapping[str, Type]

TEXT, NUMBER, BOOLEAN, MOMENT = "text", "number", "boolean", "moment"
_KINDS = {
    **dict.fromkeys((*INTEGERS, "numeric", "float4", "float8"), NUMBER),
    **dict.fromkeys(("text", "varchar", "bpchar"), TEXT),
    **dict.fromkeys(("timestamp", "timestamptz", "date"), MOMENT),
    "bool": BOOLEAN,
}
_OF_TEXT = {
    "lower": TEXT, "upper": TEXT, "btrim": TEXT, "ltrim": TEXT, "rtrim": TEXT, "split_part": TEXT, "replace": TEXT,
    "left": TEXT, "right": TEXT, "length": NUMBER, "char_length": NUMBER, "strpos": NUMBER, "position": NUMBER,
}  # fmt: skip
_OF_NUMBERS = ("abs", "round", "floor")
_ARITHMETIC = ("+", "-", "*", "/", "%")
NULLIF = 6
_COMPARED = (1, 4, 5, NULLIF, 7, 11, 12)
"""Of a_expr: operator, (NOT) DISTINCT FROM, NULLIF, IN, (NOT) BETWEEN."""


def kind(type_: Type) -> str:
    """Of a type; json, jsonb and uuid are kinds of their own."""
    return _KINDS.get(type_.name, type_.name)


def is_assigned(source: Kind, target: Type) -> bool:
    """True if a value of that kind is stored in such a column without a cast."""
    wanted = kind(target)
    return source is None or source == wanted or wanted == TEXT or {source, wanted} == {"json", "jsonb"}


def check_assigned(column: str, source: Kind, target: Type) -> None:
    """Raises 42804."""
    if not is_assigned(source, target):
        raise Refused("42804", f'column "{column}" is of type {target} but expression is of type {source}')


def kind_of(node: Any, types: Types) -> Kind:
    """Raises 42883 or 42804. `types` by the names of columns; a name that is not among them has no kind."""
    which = node.WhichOneof("node")
    find = _FINDERS.get(which)
    return find(getattr(node, which), types) if find else None


def check_condition(node: Any, types: Types) -> None:
    if kind_of(node, types) not in (None, BOOLEAN):
        raise Refused("42804", "argument of WHERE, AND, OR, NOT and IS TRUE must be type boolean")


def _one(nodes: Any, types: Types, code: str = "42804") -> Kind:
    """The kind that all have."""
    found = {one for node in nodes if (one := kind_of(node, types)) is not None}
    if len(found) > 1:
        raise Refused(code, f"types {' and '.join(sorted(found))} do not match")
    return found.pop() if found else None


def _column(node: Any, types: Types) -> Kind:
    name = node.fields[-1].string.sval
    return kind(types[name]) if name in types else None


def _constant(node: Any, types: Types) -> Kind:
    which = None if node.isnull else node.WhichOneof("val")
    return {"ival": NUMBER, "fval": NUMBER, "boolval": BOOLEAN}.get(which or "")


def _operation(node: Any, types: Types) -> Kind:
    sign = node.name[-1].string.sval
    right = list(node.rexpr.list.items) if node.rexpr.WhichOneof("node") == "list" else [node.rexpr]
    sides = [one for one in (node.lexpr, *right) if one.WhichOneof("node")]
    if node.kind not in _COMPARED:  # LIKE
        if any(kind_of(one, types) not in (None, TEXT) for one in sides):
            raise Refused("42883", f"operator does not exist for {sign}: LIKE compares texts")
        return BOOLEAN
    if sign == "||":
        kinds = [kind_of(one, types) for one in sides]
        if TEXT not in kinds and None not in kinds:
            raise Refused("42883", f"operator does not exist: {' || '.join(map(str, kinds))}")
        return TEXT if not {"json", "jsonb"} & set(kinds) else None
    if sign in _ARITHMETIC and node.kind == 1:
        kinds = [kind_of(one, types) for one in sides]
        if {TEXT, BOOLEAN} & set(kinds) or (NUMBER in kinds and {"json", "uuid"} & set(kinds)):
            raise Refused("42883", f"operator does not exist: {f' {sign} '.join(map(str, kinds))}")
        return NUMBER if NUMBER in kinds and not set(kinds) - {NUMBER, None} else None
    found = _one(sides, types, "42883")
    return found if node.kind == NULLIF else BOOLEAN


def _boolean(node: Any, types: Types) -> Kind:
    for one in node.args:
        check_condition(one, types)
    return BOOLEAN


def _test(node: Any, types: Types) -> Kind:
    check_condition(node.arg, types)
    return BOOLEAN


def _null_test(node: Any, types: Types) -> Kind:
    kind_of(node.arg, types)
    return BOOLEAN


def _case(node: Any, types: Types) -> Kind:
    conditions = [one.case_when.expr for one in node.args]
    if node.HasField("arg"):
        _one([node.arg, *conditions], types, "42883")
    else:
        for one in conditions:
            check_condition(one, types)
    last = [node.defresult] if node.HasField("defresult") else []
    return _one([*(one.case_when.result for one in node.args), *last], types)


def _function(node: Any, types: Types) -> Kind:
    name = node.funcname[-1].string.sval
    kinds = [kind_of(one, types) for one in node.args]
    wanted = TEXT if name in _OF_TEXT else NUMBER if name in _OF_NUMBERS else None
    if wanted and kinds and kinds[0] not in (None, wanted):
        raise Refused("42883", f"function {name}({', '.join(map(str, kinds))}) does not exist")
    return {"concat": TEXT, "timezone": MOMENT}.get(name) or _OF_TEXT.get(name) or (NUMBER if wanted else None)


def _cast(node: Any, types: Types) -> Kind:
    kind_of(node.arg, types)
    name = node.type_name.names[-1].string.sval
    return kind(Type(NAMES.get(name, name)))


_FINDERS = {
    "column_ref": _column,
    "a_const": _constant,
    "a_expr": _operation,
    "bool_expr": _boolean,
    "boolean_test": _test,
    "null_test": _null_test,
    "case_expr": _case,
    "coalesce_expr": lambda node, types: _one(node.args, types),
    "min_max_expr": lambda node, types: _one(node.args, types),
    "func_call": _function,
    "type_cast": _cast,
}
