"""A descriptor in words, and the differences of two versions: `+ index by_dest (dest): delete-only`, `~ column name:
write-only -> public`, `- index by_name`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, REFERENCED, RESTRICT, ColumnId, Constraint, State, TableId
from catalog.text.sentence import Sentence

Json = dict[str, Any]


Others = Mapping[TableId, Descriptor]
"""Tables by id: those that foreign keys lead to and from, for their names."""
NOBODY: Others = {}
LINKS = {FOREIGN_KEY: "→", REFERENCED: "←"}
"""How the two sides of a foreign key point at each other."""


def elements(descriptor: Descriptor, others: Others = NOBODY) -> list[Json]:
    return list(_elements(descriptor, others))


def differences(old: Descriptor | None, new: Descriptor, others: Others = NOBODY) -> list[Json]:
    """The differences from `old` to `new`, in `+`, `~` and `-`; the first version is all `+`."""
    before = {} if old is None else {(e["element"], e["id"]): e for e in _elements(old, others)}
    after = {(e["element"], e["id"]): e for e in _elements(new, others)}
    lines = [_whole("+", after[key], after[key]["phase"]) for key in after if key not in before]
    for key in after:
        lines += _changed(before[key], after[key]) if key in before else []
    lines += [_whole("-", before[key], "") for key in before if key not in after]
    if old is not None and (old.comment, old.key_comment) != (new.comment, new.key_comment):
        what = f"comment{comment_words(new.comment, new.key_comment) or ' removed'}"
        lines.append({"sign": "~", "element": "table", "name": new.name, "what": what})
    if old is not None and old.name != new.name:
        lines.append({"sign": "~", "element": "table", "name": old.name, "what": f"{old.name} → {new.name}"})
    if old is not None and old.state is not new.state:
        what = Sentence("{before} → {after}", before=old.state.value, after=new.state.value)
        lines.append({"sign": "~", "element": "table", "name": new.name, "what": what})
    return lines


def _line(sign: str, element: Json, what: str) -> Json:
    return {"sign": sign, "element": element["element"], "name": element["name"], "what": what}


def _whole(sign: str, element: Json, what: str) -> Json:
    line = _line(sign, element, what)
    needs_detail = element["element"] in ("foreign key", "placement")
    return line | {"name": f"{element['name']} {element['detail']}"} if needs_detail and what else line


def _changed(old: Json, new: Json) -> list[Json]:
    watched = ("name", "phase", "detail")
    return [_line("~", new, _became(old[what], new[what])) for what in watched if old[what] != new[what]]


def _became(old: str, new: str) -> str:
    """`old → new`; of a list that only grew or shrank at its end, the difference."""
    if new.startswith(f"{old}, "):
        return f"now {new.removeprefix(f'{old}, ')}"
    if old.startswith(f"{new}, "):
        return f"no longer {old.removeprefix(f'{new}, ')}"
    return Sentence("{before} → {after}", before=old, after=new)


def _elements(descriptor: Descriptor, others: Others) -> Iterator[Json]:
    names = {column.id: column.shown for column in descriptor.columns}
    for column in descriptor.columns:
        is_key = column.id in descriptor.primary_key
        detail = [column.type_name, "not null" if column.not_null or is_key else "", "primary key" if is_key else ""]
        detail += [f"default {column.default}" if column.default is not None else ""]
        detail += ["identity" if column.identity else ""]
        if column.derived is not None:
            detail.append(f"follows from {names[column.derived.source]}: {named(column.derived.expression, names)}")
        yield _shown("column", column.id, column.shown, column, ", ".join(d for d in detail if d))
    for index in descriptor.indexes:
        keys = ", ".join(f"{names[p.column]}{' desc' if p.descending else ''}" for p in index.columns)
        where = f" where {named(index.where, names)}" if index.where else ", primary key" if index.primary else ""
        yield _shown("unique index" if index.unique else "index", index.id, index.name, index, f"({keys}){where}")
    for constraint in descriptor.constraints:
        yield _constraint(constraint, names, others, descriptor)
    for placement in descriptor.placements:
        key = ", ".join(names[column] for column in placement.sharding_key or descriptor.primary_key)
        spread = (
            f" on {placement.storages} storage{'' if placement.storages == 1 else 's'}" if placement.storages else ""
        )
        how = f"{placement.function}({key}){spread}, coordination {descriptor.coordination.value}"
        yield _shown("placement", placement.id, str(placement.id), placement, how)


def _constraint(constraint: Constraint, names: Mapping[ColumnId, str], others: Others, own: Descriptor) -> Json:
    of = ", ".join(names[column] for column in constraint.columns)
    if constraint.rule not in LINKS:
        text = f"{constraint.rule}: {named(constraint.expression, names) if constraint.expression else of}"
        return _shown("constraint", constraint.id, constraint.name, constraint, text)
    actions = (("delete", constraint.on_delete), ("update", constraint.on_update))
    how = "".join(f", on {when} restrict" for when, does in actions if does == RESTRICT)
    here, there = f"({of}) {LINKS[constraint.rule]} ", there_of(constraint, {**others, own.table_id: own})
    shown = _shown("foreign key", constraint.id, constraint.name, constraint, f"{here}{there}{how}")
    other = None if constraint.references is None else others.get(constraint.references)
    if other is None or other.table_id == own.table_id:
        return shown
    rest = there.removeprefix(other.name) + how
    return shown | {"other": {"table_id": other.table_id, "name": other.name, "before": here, "after": rest}}


def there_of(constraint: Constraint, tables: Others) -> str:
    """The columns at the other end: "airports (code)"."""
    other = None if constraint.references is None else tables.get(constraint.references)
    if other is None:
        return f"table {constraint.references}"
    names = {column.id: column.name for column in other.columns}
    return f"{other.name} ({', '.join(names.get(column, '?') for column in constraint.reference_columns)})"


def named(expression: str, names: Mapping[ColumnId, str]) -> str:
    """An expression with column names instead of ids (`"#3"`)."""
    return re.sub(r'"#(\d+)"', lambda found: names[ColumnId(int(found[1]))], expression)


COMMENT_CHARS_MAX = 200


def comment_words(*texts: str | None) -> str:
    cut = (text if len(text) <= COMMENT_CHARS_MAX else f"{text[:COMMENT_CHARS_MAX]}…" for text in texts if text)
    return "".join(f" “{text}”" for text in cut)


def _shown(kind: str, number: int, name: str, element: Any, detail: str) -> Json:
    """The state, where reorganising is a phase of write-only or delete-only."""
    detail += comment_words(getattr(element, "comment", None), getattr(element, "constraint_comment", None))
    filling = getattr(element, "filling", False)
    return {
        "element": kind,
        "id": number,
        "name": name,
        "state": element.state.value,
        "filling": filling,
        "phase": "reorganising" if filling else element.state.value,
        "detail": detail,
        "is_public": element.state is State.PUBLIC,
        "other": None,
    }
