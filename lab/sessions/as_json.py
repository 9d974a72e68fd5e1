"""Values as JSON, and back: a dataclass by the names of its fields, a named tuple as a list, an enum by its value."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from catalog.text import message
from catalog.text.message import Text

T = TypeVar("T")


def to_json(value: Any, say: Callable[[Text], Any] = str) -> Any:
    """Texts by `say` (English by default)."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Text):
        return say(value)
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [to_json(one, say) for one in value]
    if isinstance(value, Mapping):
        return {name: to_json(one, say) for name, one in value.items()}
    return {one.name: to_json(getattr(value, one.name), say) for one in fields(value)}


def stored(value: Any) -> dict[str, Any]:
    """With texts as templates and values, so that `restored` gives an equal value, and a page can translate it."""
    return to_json(value, message.to_json)  # type: ignore[no-any-return]


def restored(kind: type[T], body: Any) -> T:
    """The value of this type that `stored` wrote; a field that is missing has its default."""
    return _restored(kind, body)  # type: ignore[no-any-return]


def _restored(kind: Any, body: Any) -> Any:
    arguments = [one for one in get_args(kind) if one is not NoneType]
    if body is None or kind is Any:
        return body
    if kind is Text:
        return message.from_json(body)
    if get_origin(kind) is tuple:
        kinds = arguments[:1] * len(body) if arguments[-1] is Ellipsis else arguments
        return tuple(_restored(one, part) for one, part in zip(kinds, body, strict=True))
    if get_origin(kind) is frozenset:
        return frozenset(body)
    if get_origin(kind) is not None and isinstance(body, dict) and len(arguments) > 1:  # of plain values, and tuples
        return {name: tuple(one) if isinstance(one, list) else one for name, one in body.items()}
    if get_origin(kind) is not None:  # one kind or nothing, or plain values
        return _restored(arguments[0], body) if len(arguments) == 1 else body
    if issubclass(kind, tuple):
        return kind(*(_restored(one, part) for one, part in zip(_kinds(kind).values(), body, strict=True)))
    if is_dataclass(kind) and isinstance(kind, type):
        return kind(**{name: _restored(one, body[name]) for name, one in _kinds(kind).items() if name in body})
    return kind(body) if issubclass(kind, Enum) else body


@cache
def _kinds(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)
