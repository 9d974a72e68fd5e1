"""All of a course as a CSV file, a line for each learner and task, for a teacher's own tables."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
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
    for line in lines:
        texts = (cell(one) for one in (line.learner, line.number, line.chapter, line.task, line.kind, line.status))
        writer.writerow(
            (
                *texts,
                cell(line.first_answer),
                line.first_outcome,
                line.answers,
                line.failed,
                line.hints,
                "yes" if line.is_shown else "no",
                _moment(line.begun_at),
                _moment(line.passed_at),
            )
        )
    return BOM + found.getvalue()


def _moment(at: datetime | None) -> str:
    return "" if at is None else at.strftime("%Y-%m-%d %H:%M:%S")
