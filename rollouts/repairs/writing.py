"""The data of a rollout's file as TOML, so that a repaired rollout is a file again."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

_PLAIN = ("database", "isolation", "tables", "key", "rows", "rollback_until")


def toml_of(body: Mapping[str, Any]) -> str:
    lines = [f"{name} = {_value(body[name])}" for name in _PLAIN if body.get(name)]
    lines += ["", "[values]", *(f"{_key(name)} = {_value(values)}" for name, values in body["values"].items())]
    lines += ["", "[before]", *_part(body["before"])]
    for deploy in body.get("deploy", []):
        lines += ["", "[[deploy]]", *_part(deploy)]
    return "\n".join(lines) + "\n"


def _part(part: Mapping[str, Any]) -> Iterator[str]:
    for name, value in part.items():
        if name == "does":
            yield from (f"does.{_key(one)} = {_value(what)}" for one, what in value.items())
        else:
            yield f"{_key(name)} = {_value(value)}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            return f"{{ {', '.join(f'{_key(name)} = {_value(one)}' for name, one in value.items())} }}"
        case date():
            return value.isoformat()
    return str(value)
