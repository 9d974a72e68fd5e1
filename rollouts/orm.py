"""The statements of an ORM, from the columns that a release knows (docs/reference/rollouts.md). Django inserts and
selects every column by name and saves all that it read; Rails and SQLAlchemy save the changed column only."""

from collections.abc import Mapping
from typing import Any

STYLES = ("django", "rails", "sqlalchemy")


class BadOrm(ValueError):
    """A description that lacks something."""


def operations_of(part: Any, key: str) -> dict[str, Any]:
    """The operations create, show and save, as in a file. Raises `BadOrm`."""
    if not isinstance(part, Mapping) or not {"style", "table", "columns"} <= set(part):
        raise BadOrm("style, table and columns are needed")
    if unknown := set(part) - {"style", "table", "columns", "means"}:
        raise BadOrm(f"there is no key {min(unknown)}; there are style, table, columns, means")
    style, table, columns, means = part["style"], part["table"], part["columns"], part.get("means", {})
    if style not in STYLES:
        raise BadOrm(f"style is one of {', '.join(STYLES)}, not {style!r}")
    if not isinstance(columns, list) or len(columns) < 2 or columns[0] != key:
        raise BadOrm(f"columns is a list that begins with the key, [{key!r}, ..]")
    others = columns[1:]
    value = {name: means.get(name, name) for name in others}
    names = ", ".join(columns)
    create = f"INSERT INTO {table} ({names}) VALUES (:{key}, {', '.join(f':{value[name]}' for name in others)})"
    first = dict(reversed([(value[name], name) for name in others]))
    shown = ", ".join(f"{name} AS {meaning}" for meaning, name in first.items())
    show = f"SELECT {shown} FROM {table} WHERE {key} = :{key}"
    operations: dict[str, Any] = {"create": create, "show": show}
    for meaning in first:
        changed = {name for name in others if value[name] == meaning}
        read = ", ".join(f"{name} AS read_{name}" for name in columns)
        kept = others if style == "django" else [name for name in others if name in changed]
        sets = ", ".join(f"{name} = :{meaning if name in changed else f'read_{name}'}" for name in kept)
        operations[f"save {meaning}"] = {
            "sql": [
                f"SELECT {read} FROM {table} WHERE {key} = :{key}",
                f"UPDATE {table} SET {sets} WHERE {key} = :{key}",
            ],
            "autocommit": True,
        }
    return operations
