"""Batches of a statement that writes and looks up, by how much there is; without a store."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from expressions.errors import SqlError
from nodes.execution.writing import writer as writes
from nodes.execution.writing.writer import Writer
from nodes.foreign_keys.probes import Probe
from nodes.store.pipeline import Command
from storage.mutations import delete_row
from storage.pairs import StoredRow, row_key
from tests.references import trips

QUESTION = "SELECT key"


@dataclass
class Numbered:
    """A check whose violation is reported with its number."""

    order: int

    def refusal(self) -> SqlError:
        return SqlError("23503", str(self.order))


@dataclass
class Answer:
    """Nothing was found."""

    ntuples: int = 0


@dataclass
class Sent:
    """A transaction that notes its batches."""

    batches: list[Sequence[Command]] = field(default_factory=list)
    is_committed: bool = False
    trace: None = None

    def note_written(self) -> None: ...

    async def run(self, commands: Sequence[Command], **_: Any) -> list[Answer]:
        self.batches.append(commands)
        return [Answer() for _ in commands]

    async def commit(self) -> None:
        self.is_committed = True

    @property
    def asked(self) -> list[int]:
        """How many questions each batch brought along."""
        return [sum(command.sql == QUESTION for command in batch) for batch in self.batches]


def probes(count: int) -> list[Probe]:
    return [Probe(QUESTION, (), {b"%d" % n: Numbered(n)}, wants_all=True) for n in range(count)]  # type: ignore[dict-item]


@pytest.mark.parametrize(("rows", "questions", "asked"), [
    pytest.param(0, 3, [3], id="nothing to write"),
    pytest.param(0, 20, [16, 4], id="nothing to write, and more than a batch takes"),
    pytest.param(2, 3, [3], id="along with what is written"),
    pytest.param(2, 20, [16, 4], id="the rest afterwards"),
    pytest.param(20, 20, [0, 0, 0, 16, 4], id="when all is written"),
])  # fmt: skip
def test_every_question_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, rows: int, questions: int, asked: list[int]
) -> None:
    """Of all that are answered No the first one is told."""
    monkeypatch.setattr(writes, "OPS_A_BATCH", 16)
    sent, table = Sent(), trips()
    writer = Writer(sent, table, 1, 16)  # type: ignore[arg-type]
    ops = [op for n in range(rows) for op in delete_row(table, StoredRow(row_key(table, [n])), 16)]
    with pytest.raises(SqlError, match="0"):
        asyncio.run(writer.write(ops, probes(questions)))
    assert sent.asked == asked
