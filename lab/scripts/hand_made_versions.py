"""Versions made by hand: the edits of `publish users ..` (docs/reference/scripts.md), such as `swap a b`."""

import re
from collections.abc import Callable
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, State, TableId
from catalog.values.types import SqlType
from changes.ddl.actions import CreateTable
from changes.planning.planner import make_plan
from lab.cluster.control_plane import LabError
from lab.scripts.text import literals, stored

STATE = r"(absent|delete-only|write-only|public)( filling)?"


def first_version(action: CreateTable, table: TableId) -> Descriptor:
    return replace(make_plan(action, None, table_id=table).result, version=1)


def edited(newest: Descriptor, edit: str) -> Descriptor:
    if not edit:
        return newest.next_version()
    for pattern, make in EDITS.items():
        match = re.fullmatch(pattern, edit)
        if match is not None:
            return make(newest, match)
    raise LabError(f"{edit!r} is no edit of a table")


def _add_index(newest: Descriptor, match: re.Match[str]) -> Descriptor:
    columns = tuple(_part(newest, part) for part in match[3].split(","))
    index = Index(newest.next_index_id, match[2], columns, unique=bool(match[1]), state=State(match[4]))
    return newest.with_index(replace(index, filling=bool(match[5])))


def _part(newest: Descriptor, words: str) -> IndexColumn:
    name, _, direction = words.strip().partition(" ")
    return IndexColumn(newest.column_named(name).id, descending=direction == "desc")


def _index(newest: Descriptor, match: re.Match[str]) -> Descriptor:
    index = newest.index_named(match[1])
    return newest.with_index_state(index.id, State(match[2]), filling=bool(match[3]))


def _drop_index(newest: Descriptor, match: re.Match[str]) -> Descriptor:
    return newest.without_index(newest.index_named(match[1]).id)


def _add_column(newest: Descriptor, match: re.Match[str]) -> Descriptor:
    sql_type = SqlType(match[2])
    default = None if match[3] is None else stored(sql_type, literals(f"({match[3]})")[0])
    column = Column(
        id=newest.next_column_id,
        name=match[1],
        type=sql_type,
        state=State(match[4]),
        default=match[3],
        fill_value=default,
        added_with_default=match[3] is not None,
        filling=bool(match[5]),
    )
    return newest.next_version(columns=(*newest.columns, column), next_column_id=ColumnId(column.id + 1))


def _column(newest: Descriptor, match: re.Match[str]) -> Descriptor:
    old = newest.column_named(match[1])
    new = replace(old, state=State(match[2]), filling=bool(match[3]))
    return newest.next_version(columns=tuple(new if column is old else column for column in newest.columns))


def _swap(newest: Descriptor, match: re.Match[str]) -> Descriptor:
    return with_names_swapped(newest, match[1], match[2])


def with_names_swapped(newest: Descriptor, one: str, other: str) -> Descriptor:
    first, second = newest.column_named(one), newest.column_named(other)
    names = {first.id: second.name, second.id: first.name}
    return newest.next_version(columns=tuple(replace(c, name=names.get(c.id, c.name)) for c in newest.columns))


def _table(newest: Descriptor, match: re.Match[str]) -> Descriptor:
    return newest.with_state(State(match[1]))


EDITS: dict[str, Callable[[Descriptor, re.Match[str]], Descriptor]] = {
    rf"add (unique )?index (\w+) \(([^)]*)\) {STATE}": _add_index,
    rf"index (\w+) {STATE}": _index,
    r"drop index (\w+)": _drop_index,
    rf"add column (\w+) (\w+)(?: default ('[^']*'|\S+))? {STATE}": _add_column,
    rf"column (\w+) {STATE}": _column,
    rf"table {STATE}": _table,
    r"swap (\w+) (\w+)": _swap,
}
