"""Results of operations, and their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

Json = Any
Row = list[Any]


class Metadata(TypedDict):
    name: str
    type: str
    is_nullable: bool


@dataclass(frozen=True)
class Result:
    """Rows (empty with option `noreturn`), and their types, of the version that they were read or written with."""

    metadata: list[Metadata]
    rows: list[Row]

    def objects(self) -> list[dict[str, Any]]:
        """The rows by the names of their columns."""
        names = [column["name"] for column in self.metadata]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class FailedRow:
    """A row of a batch that was refused: its place in the input, and why."""

    index: int
    error: CrudError


@dataclass(frozen=True)
class BatchResult(Result):
    """The account of a batch: each index of the input stands in exactly one of four lists. `rows` are those done."""

    done: list[int] = field(default_factory=list)
    failed: list[FailedRow] = field(default_factory=list)
    rolled_back: list[int] = field(default_factory=list)
    not_performed: list[int] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return not (self.failed or self.rolled_back or self.not_performed)


class CrudError(Exception):
    """A refused operation; `kind` is its class, `code` PostgreSQL's. Nothing was written, unless `kind` is
    UnknownOutcomeError, or a truncate ended before the table was empty."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        super().__init__(answer["message"])
        self.answer = dict(answer)
        self.kind: str = answer["class"]
        self.message: str = answer["message"]
        self.code: str | None = answer.get("code")
        self.table: str | None = answer.get("table")
        self.version: int | None = answer.get("version")
        self.detail: str | None = answer.get("detail")
        self.hint: str | None = answer.get("hint")
        self.column: str | None = answer.get("column")
        self.constraint: str | None = answer.get("constraint")

    @property
    def is_outcome_unknown(self) -> bool:
        """True if nobody knows whether it was done: look before it is tried again."""
        return self.code == "08007"

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def checked(answer: Json) -> Json:
    """The answer of an operation. Raises `CrudError` for an error object."""
    if isinstance(answer, dict) and isinstance(answer.get("class"), str) and isinstance(answer.get("message"), str):
        raise CrudError(answer)
    return answer


def result_of(answer: Json) -> Result:
    return Result(answer["metadata"], answer["rows"] or [])


def batch_of(answer: Json) -> BatchResult:
    failed = [FailedRow(one["index"], CrudError(one)) for one in answer["failed"]]
    lists = {name: answer[name] for name in ("done", "rolled_back", "not_performed")}
    return BatchResult(answer["metadata"], answer["rows"] or [], failed=failed, **lists)
