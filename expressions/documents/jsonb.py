"""Questions about a jsonb as a whole, and what is made of one: containment, joining, removal, replacement."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from catalog.values import documents, numerics
from catalog.values.documents import Jsonb, Parsed, in_order, parsed
from expressions.documents.parts import index_of
from expressions.errors import INVALID_PARAMETER_VALUE, INVALID_TEXT, NULL_NOT_ALLOWED, STATEMENT_TOO_COMPLEX, SqlError
from expressions.limits import refuse_length

COMPARISONS_MAX = 100_000
"""Of arrays and objects within arrays, when one array is looked for in another."""


def written(document: Parsed) -> Jsonb:
    """The jsonb that was made of others. Raises 54001 for one that is nested too deep by now."""
    try:
        return documents.written(document)
    except documents.NotADocument as error:
        raise SqlError(error.sqlstate, str(error)) from None


class _Search:
    """One search for a document in another."""

    def __init__(self) -> None:
        self._left = COMPARISONS_MAX

    def holds(self, whole: Parsed, part: Parsed) -> bool:
        """True if every member and element of the part has its like in the whole."""
        if isinstance(whole, dict):
            return isinstance(part, dict) and all(
                key in whole and self._is_like(whole[key], value) for key, value in part.items()
            )
        if not isinstance(part, list):
            return False
        known = {_tagged(item) for item in whole if not isinstance(item, dict | list)}
        inner = [item for item in whole if isinstance(item, dict | list)]
        return all(
            self._is_in(inner, item) if isinstance(item, dict | list) else _tagged(item) in known for item in part
        )

    def _is_like(self, one: Parsed, other: Parsed) -> bool:
        if isinstance(one, dict | list):
            return type(one) is type(other) and self.holds(one, other)
        return not isinstance(other, dict | list) and _tagged(one) == _tagged(other)

    def _is_in(self, items: Sequence[Parsed], wanted: Parsed) -> bool:
        for item in items:
            self._left -= 1
            if self._left < 0:
                message = f"more than {COMPARISONS_MAX} comparisons of arrays and objects within a jsonb"
                raise SqlError(STATEMENT_TOO_COMPLEX, message)
            if type(item) is type(wanted) and self.holds(item, wanted):
                return True
        return False


def _tagged(value: Parsed) -> tuple[bool, Parsed]:
    """A scalar that is compared: true is not 1."""
    return isinstance(value, bool), value


def contains(whole: str, part: str) -> bool:
    """The operator @>: an array holds a scalar, too."""
    left, right = parsed(whole), parsed(part)
    if isinstance(left, dict) or isinstance(right, dict):
        return isinstance(left, dict) and _Search().holds(left, right)
    if not isinstance(left, list):
        return not isinstance(right, list) and _tagged(left) == _tagged(right)
    return _Search().holds(left, right if isinstance(right, list) else [right])


def is_contained(part: str, whole: str) -> bool:
    return contains(whole, part)


def _names(document: str) -> frozenset[str]:
    """The keys of an object, the strings of an array, or a string itself."""
    value = parsed(document)
    if isinstance(value, dict):
        return frozenset(value)
    return frozenset(item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))


def has_name(document: str, name: str) -> bool:
    """The operator ?."""
    return name in _names(document)


def has_any(document: str, names: Iterable[str | None]) -> bool:
    known = _names(document)
    return any(name in known for name in names if name is not None)


def has_all(document: str, names: Iterable[str | None]) -> bool:
    known = _names(document)
    return all(name in known for name in names if name is not None)


def joined(left: str, right: str) -> Jsonb:
    """The operator ||: two objects as one, of others the elements one after the other."""
    one, other = parsed(left), parsed(right)
    if isinstance(one, dict) and isinstance(other, dict):
        return written(in_order(one | other))
    first, last = (value if isinstance(value, list) else [value] for value in (one, other))
    return written([*first, *last])


def _container(document: str, verb: str) -> Parsed:
    value = parsed(document)
    if not isinstance(value, dict | list):
        raise SqlError(INVALID_PARAMETER_VALUE, f"cannot {verb} scalar")
    return value


def without_names(document: str, names: Iterable[str | None]) -> Jsonb:
    left_out = frozenset(names)
    value = _container(document, "delete from")
    if isinstance(value, dict):
        return written({key: item for key, item in value.items() if key not in left_out})
    return written([item for item in value if not (isinstance(item, str) and item in left_out)])


def without_name(document: str, name: str) -> Jsonb:
    return without_names(document, (name,))


def without_element(document: str, index: int) -> Jsonb:
    value = _container(document, "delete from")
    if isinstance(value, dict):
        raise SqlError(INVALID_PARAMETER_VALUE, "cannot delete from object using integer index")
    if -len(value) <= index < len(value):
        del value[index]
    return written(value)


def without_path(document: str, path: Sequence[str | None]) -> Jsonb:
    """The operator #-."""
    value = _container(document, "delete path in")
    return written(_changed(value, path, 0, None)) if path and value else written(value)


def with_value(document: str, path: Sequence[str | None], new: str, create: bool = True) -> Jsonb:
    """jsonb_set: the value at the path is another one; what is not there is added, if it is only the last step."""
    value = _container(document, "set path in")
    if not path or (not value and not create):
        return written(value)
    return written(_changed(value, path, 0, (parsed(new), create)))


def with_inserted(document: str, path: Sequence[str | None], new: str, after: bool = False) -> Jsonb:
    """jsonb_insert: a new member, or a new element before or after the one that the path leads to."""
    value = _container(document, "set path in")
    return written(_inserted(value, path, 0, parsed(new), after) if path else value)


def _inserted(value: Parsed, path: Sequence[str | None], place: int, new: Parsed, after: bool) -> Parsed:
    step, is_last = path[place], place == len(path) - 1
    if step is None:
        raise SqlError(NULL_NOT_ALLOWED, f"path element at position {place + 1} is null")
    if isinstance(value, dict):
        if not is_last:
            inner = {step: _inserted(value[step], path, place + 1, new, after)} if step in value else {}
            return in_order(value | inner)
        if step in value:
            hint = "Try using the function jsonb_set to replace key value."
            raise SqlError(INVALID_PARAMETER_VALUE, "cannot replace existing key", hint=hint)
        return in_order({**value, step: new})
    if not isinstance(value, list):
        return value
    listed, index = list(value), _index(step, place)
    index = index + len(listed) if index < 0 else index
    if is_last:
        listed.insert(min(max(index + after, 0) if index >= 0 else 0, len(listed)), new)
    elif 0 <= index < len(listed):
        listed[index] = _inserted(listed[index], path, place + 1, new, after)
    return listed


def _changed(value: Parsed, path: Sequence[str | None], place: int, new: tuple[Parsed, bool] | None) -> Parsed:
    """A copy in which what the path leads to is replaced, or removed when there is nothing new."""
    step, is_last = path[place], place == len(path) - 1
    if step is None:
        message = f"path element at position {place + 1} is null"
        raise SqlError("22004", message)
    if isinstance(value, dict):
        found = dict(value)
        if is_last and new is None:
            found.pop(step, None)
        elif is_last and new is not None and (step in found or new[1]):
            found[step] = new[0]
        elif not is_last and step in found:
            found[step] = _changed(found[step], path, place + 1, new)
        return in_order(found)
    if not isinstance(value, list):
        return value
    index = _index(step, place)
    listed = list(value)
    index = index + len(listed) if index < 0 else index
    if not 0 <= index < len(listed):
        if is_last and new is not None and new[1]:
            listed.insert(max(index, 0) and len(listed), new[0])
    elif not is_last:
        listed[index] = _changed(listed[index], path, place + 1, new)
    elif new is None:
        del listed[index]
    else:
        listed[index] = new[0]
    return listed


def _index(step: str, place: int) -> int:
    index = index_of(step)
    if index is None:
        message = f'path element at position {place + 1} is not an integer: "{step}"'
        raise SqlError(INVALID_TEXT, message)
    return index


def without_nulls(document: str) -> Jsonb:
    """jsonb_strip_nulls: members that are null are left out, however deep they stand."""
    return written(_stripped(parsed(document)))


def _stripped(value: Parsed) -> Parsed:
    if isinstance(value, dict):
        return {key: _stripped(item) for key, item in value.items() if item is not None}
    return [_stripped(item) for item in value] if isinstance(value, list) else value


INDENT = "    "


def pretty(document: str) -> str:
    """jsonb_pretty. Raises 54000 where blanks make it longer than a value may be."""
    pieces: list[str] = []
    length = 0
    for piece in _pretty(parsed(document), "\n"):
        length += len(piece)
        refuse_length(length)
        pieces.append(piece)
    return "".join(pieces)


def _pretty(value: Parsed, line: str) -> Iterable[str]:
    if not isinstance(value, dict | list):
        yield written(value)
        return
    signs, inner = "{}" if isinstance(value, dict) else "[]", line + INDENT
    yield signs[0]
    for number, item in enumerate(value):
        yield ("," if number else "") + inner
        if isinstance(value, dict):
            yield f"{written(item)}: "
            yield from _pretty(value[item], inner)
        else:
            yield from _pretty(item, inner)
    yield line + signs[1]


def scalar_of(document: str, wanted: type | tuple[type, ...], target: str) -> Any:
    """The scalar that a cast to `target` takes; None for null. Raises 22023 for any other document."""
    value = parsed(document)
    if value is None or (isinstance(value, wanted) and isinstance(value, bool) == (wanted is bool)):
        return value
    kind = {bool: "boolean", str: "string", dict: "object", list: "array"}.get(type(value), "numeric")
    kind = "array or object" if kind in ("array", "object") else kind
    raise SqlError(INVALID_PARAMETER_VALUE, f"cannot cast jsonb {kind} to type {target}")


def number_of(document: str, target: str) -> Decimal | None:
    value = scalar_of(document, (int, Decimal), target)
    return None if value is None else numerics.plain(Decimal(value))


def boolean_of(document: str) -> bool | None:
    value: bool | None = scalar_of(document, bool, "boolean")
    return value
