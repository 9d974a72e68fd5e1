"""All of a course as a CSV file, a line for each learner and task, for a teacher's own tables."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from datetime import datetime

from catalog.text.sheets import BOM, cell

HEAD = (
    "learner", "number", "chapter", "task", "kind", "status", "first answer", "first outcome", "answers", "failed",
    "hints", "solution shown", "begun", "passed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A learner at a task. Moments are UTC; None where it has not come to that."""

    learner: str
    number: int
    chapter: str
    task: str
    kind: str
    status: str
    first_answer: str = ""
    first_outcome: str = ""
    answers: int = 0
    failed: int = 0
    hints: int = 0
    is_shown: bool = False
    begun_at: datetime | None = None
    passed_at: datetime | None = None


def sheet(lines: Iterable[Line]) -> str:
    found = io.StringIO()
    writer = csv.writer(found)
    writer.writerow(HEAD)
    writer.writerows(map(_words, astuple(line)) for line in lines)
    return BOM + found.getvalue()


def _words(value: str | int | datetime | None) -> str | int:
    if isinstance(value, str):
        return cell(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, int) else "" if value is None else value.strftime("%Y-%m-%d %H:%M:%S")
