"""The CSV file of a course."""

import csv
import io
from datetime import UTC, datetime

import pytest

from lab.classroom.sheet import BOM, HEAD, Line, sheet

LINE = Line("Li Wei", 3, "01-one-jump", "what-is-left", "predict", "done", "entry", "right", 2, 1, 0, True)


def read(text: str) -> list[list[str]]:
    assert text.startswith(BOM)
    return list(csv.reader(io.StringIO(text[len(BOM) :])))


def test_a_line_has_all_that_the_head_promises() -> None:
    begun = datetime(2026, 3, 2, 10, 0, 5, tzinfo=UTC)
    head, line, other = read(sheet([LINE, Line("李", 4, "c", "t", "reach", "working", begun_at=begun)]))
    assert tuple(head) == HEAD
    assert dict(zip(head, line, strict=True))["solution shown"] == "yes"
    assert dict(zip(head, other, strict=True))["begun"] == "2026-03-02 10:00:05"


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx"])
def test_no_name_is_a_formula(name: str) -> None:
    _, line = read(sheet([Line(name, 1, "c", "t", "k", "s", first_answer=name)]))
    assert (line[0], line[6]) == (f"'{name}", f"'{name}")
