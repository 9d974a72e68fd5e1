"""A query that is fetched in portions: a cursor of the store, in the client's transaction and as the reader role.
Between two portions the session at the store is free for other statements. The rows are those of the moment of DECLARE,
whatever the transaction writes later. A portion is about as large as a relay holds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from catalog.text.sql_names import quoted
from nodes.store import reader
from nodes.store.pipeline import Command, UsersCommand
from nodes.store.relay import HELD_BYTES, Relay
from nodes.store.transaction import Transaction
from nodes.wire.results import Row

FIRST_ROWS, ROWS_MAX, GROWTH = 16, 1000, 4
"""Of portions: their number of rows grows while they are small."""


def around(command: UsersCommand, before: str, after: str = "", **changes: Any) -> UsersCommand:
    """The command with words before and behind its text; places of errors stay those of the text."""
    offset_of, shift = command.offset_of, len(before)

    def moved(position: int) -> int:
        return -1 if offset_of is None else offset_of(max(position - shift, 1))

    return replace(command, sql=f"{before}{command.sql}{after}", offset_of=moved, **changes)


def declared(commands: Sequence[Command], name: str, words: str) -> list[Command]:
    """The commands that declare a cursor over the text among `commands`. `words`: SCROLL, WITH HOLD and their like."""
    before, _, after = words.partition("CURSOR")
    declare = f"DECLARE {quoted(name)} {before}CURSOR{after} FOR "
    return [
        around(command, declare, is_kept=False, relay=None) if isinstance(command, UsersCommand) else command
        for command in commands
    ]


def fetch(name: str, words: str, form: int, relay: Relay) -> UsersCommand:
    return UsersCommand(f"FETCH {words} FROM {quoted(name)}", result_format=form, relay=relay)


def move(name: str, words: str) -> str:
    return f"MOVE {words} FROM {quoted(name)}"


def close(name: str) -> Command:
    return UsersCommand(f"CLOSE {quoted(name)}")


@dataclass(eq=False)
class Portions:
    """The rows of a portal behind its first portion, which had `rows` rows of `size` bytes."""

    transaction: Transaction
    name: str
    style: Sequence[str]
    form: int
    chunk_rows: int
    rows: int = FIRST_ROWS
    size: int = 0
    is_over: bool = False

    def __aiter__(self) -> "Portions":
        return self

    async def __anext__(self) -> list[Row]:
        if self.is_over:
            raise StopAsyncIteration
        fitting = HELD_BYTES * self.rows // max(self.size, 1)
        count = max(1, min(self.rows * GROWTH, fitting, ROWS_MAX))
        relay = Relay(self.chunk_rows)
        command = fetch(self.name, f"FORWARD {count}", self.form, relay)
        self.transaction.relay([reader.before(self.style, scans=False), command, *reader.after()], relay)
        found = await all_of(relay)
        self.size = sum(len(value) for row in found for value in row if value is not None)
        self.rows = count
        if len(found) < count:
            self.close()
        if not found:
            raise StopAsyncIteration
        return found

    def close(self) -> None:
        if not self.is_over:
            self.is_over = True
            self.transaction.close_portal(self.name)


async def all_of(relay: Relay) -> list[Row]:
    found: list[Row] = []
    while (rows := await relay.next()) is not None:
        found += rows
    await relay.finish()
    return found
