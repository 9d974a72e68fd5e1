"""Protocols between a connection, its session and the registry of all connections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from expressions.errors import FatalError, SqlError
from nodes.clients.cursors import Cursor
from nodes.clients.portals import Kept, Prepared
from nodes.execution.held_rows import HeldRows
from nodes.people.rights import Person
from nodes.wire.results import Result


class Statements(Protocol):
    """The statements and portals of a connection, as far as a session needs it (`nodes.clients.statements`)."""

    prepared: Kept[Prepared]
    cursors: Kept[Cursor]

    def refuse_taken(self, name: str) -> None: ...

    def refuse_taken_cursor(self, name: str) -> None: ...

    async def hold_cursors(self) -> None: ...

    def end_cursors(self, *, committed: bool) -> None: ...

    def close_portals(self, *, since: int = 0) -> None: ...

    async def read_portals(self) -> None: ...


class CopyData(Protocol):
    """The data of one COPY FROM STDIN (`nodes.clients.copying`)."""

    @property
    def can_begin_again(self) -> bool: ...

    async def begin(self, columns: int, *, is_binary: bool) -> None: ...

    def pieces(self) -> AsyncIterator[bytes]: ...


class Client(Protocol):
    """The connection, as far as a session needs it (`nodes.clients.connection`)."""

    pid: int

    @property
    def statements(self) -> Statements: ...

    def notice(
        self, text: str, severity: str = "NOTICE", sqlstate: str = "00000", detail: str | None = None
    ) -> None: ...

    def copy_data(self) -> CopyData: ...

    def deliver(self) -> None: ...

    def end_now(self, why: FatalError) -> None: ...


class Session(Protocol):
    """The executor of a client's statements (`nodes.session.session`)."""

    @property
    def kept(self) -> HeldRows: ...

    def status(self) -> bytes: ...

    async def parse(self, sql: str) -> Sequence[object]: ...

    async def prepare(self, sql: str, statement: object, oids: Sequence[int]) -> Prepared: ...

    async def execute(
        self,
        prepared: Prepared,
        values: Sequence[bytes | None],
        formats: Sequence[int],
        *,
        alone: bool,
        result_formats: tuple[int, ...] = (),
    ) -> Result: ...

    def formats_of(self, statement: object) -> tuple[int, ...]: ...

    def follow(self, prepared: Prepared) -> None: ...

    def is_own_transaction(self, statement: object) -> bool: ...

    def savepoints_set(self) -> int: ...

    def has_implicit_block(self) -> bool: ...

    async def end_implicit(self) -> None: ...

    async def fail(self, error: SqlError) -> None: ...

    def reported(self) -> dict[str, str]: ...

    def setting_changes(self) -> int: ...

    def is_notified_of(self, severity: str) -> bool: ...

    def statement_s_max(self, statement: object | None) -> float | None: ...

    def idle_s_max(self) -> float | None: ...

    def has_notifications(self) -> bool: ...

    def next_notification(self) -> tuple[int, str, str] | None: ...

    async def close(self) -> None: ...


class Registry(Protocol):
    """All connections of the node (`nodes.clients.registry`), as far as one of them needs it."""

    def refuse_too_many(self) -> None: ...

    def admit(self, client: Client, person: Person) -> None: ...

    def forget(self, client: Client) -> None: ...

    def cancel(self, pid: int, secret: int) -> None: ...
