"""A run works on several elements; what it is asked for is checked before it is stored."""

from typing import Any

import pytest

from catalog.elements import ColumnId, ConstraintId, IndexId, PlacementId
from spark_tasks.runs.run_elements import Elements, NotReorganised, elements_of


def said(kind: str, number: int) -> dict[str, Any]:
    return {"kind": kind, "id": number, "name": f"{kind} {number}"}


def test_elements_are_sorted_by_where_their_pairs_lie() -> None:
    given = [said("required column", 4), said("index", 2), said("constraint", 1), said("derived column", 5)]
    assert elements_of([*given, said("unique index", 1)]) == Elements(
        columns=(ColumnId(4), ColumnId(5)), indexes=(IndexId(2), IndexId(1)), constraints=(ConstraintId(1),)
    )
    assert elements_of([said("table", 7)]) == Elements(has_table=True)
    assert elements_of([said("placement", 2)]) == Elements(placements=(PlacementId(2),))


@pytest.mark.parametrize(
    ("kind", "words"),
    [pytest.param("view", "there is no kind of element 'view'; there are: table, optional column", id="unknown")],
)
def test_what_no_run_can_work_on_is_refused_by_name(kind: str, words: str) -> None:
    with pytest.raises(NotReorganised, match=words):
        elements_of([said(kind, 1)])
