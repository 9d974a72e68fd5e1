"""Names of a statement that mean other elements when it is planned again."""

from __future__ import annotations

from changes.plan.element_states import columns_read
from changes.plan.model import MoveKind, Plan, name_in


def namesakes(old: Plan, new: Plan) -> list[str]:
    """Elements of `old` whose names mean others in `new`, a plan of the same statement: "table users"."""
    now = _named(new)
    return [words for words, ids in _named(old).items() if now.get(words, ids) != ids]


def _named(plan: Plan) -> dict[str, tuple[int, int]]:
    """Elements by name, with the ids of table and element. A column keeps its number in every type."""
    found: dict[str, tuple[int, int]] = {f"table {one.name}": (one.table_id, 0) for one in plan.partners}
    if plan.base is None:
        return found
    found[f"table {plan.base.name}"] = (plan.table_id, 0)
    columns: set[int] = set()
    for move in plan.moves:
        element = move.element
        columns |= columns_read(element, [plan.base, plan.result])
        if element.kind.is_column:
            columns.add(element.id)
        elif move.kind is not MoveKind.ADD and (element.kind.is_index or element.column is None):
            name = f"{element.kind.value} {name_in(plan.base, element)}"
            found.setdefault(name, (plan.table_id, element.id))
    for column in plan.base.public_columns:
        if column.id in columns:
            found[f"column {column.name}"] = (plan.table_id, column.number)
    return found
