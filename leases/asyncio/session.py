"""One database session of a node, reopened when lost, given up when it does not answer in time. A late request is not
cancelled, since a frozen server would not answer that either: its socket is shut down. No session of a node listens,
because PostgreSQL wakes all listeners at each notification."""

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

log = logging.getLogger(__name__)

SERVER_S_MAX = 2
"""No transaction of a session outlasts this on the server, whatever becomes of its client."""

Row = tuple[Any, ...]


class Unreachable(Exception):
    """The database did not answer in time."""


class Session:
    def __init__(self, dsn: str, *, name: str, request_s_max: float) -> None:
        self._dsn, self._name, self._request_s_max = dsn, name, request_s_max
        self._in_use = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Row] | None = None

    async def run(self, query: str, params: Sequence[Any], *, tries_max: int) -> list[Row]:
        """The statement's rows. It runs again on a new session when this one is lost, so it may run twice. Raises
        `Unreachable`, or psycopg's error for a refusal."""
        async with self._in_use:
            for _ in range(tries_max - 1):
                try:
                    return await self._run_once(query, params)
                except Unreachable as error:
                    log.info("%s: session lost, made anew: %s", self._name, error)
            return await self._run_once(query, params)

    async def _run_once(self, query: str, params: Sequence[Any]) -> list[Row]:
        connection = await self._connected()
        request = asyncio.ensure_future(_rows(connection, query, params))
        try:
            await asyncio.wait({request}, timeout=self._request_s_max)
        finally:
            if not request.done():
                shut_down(connection)
                await asyncio.gather(request, return_exceptions=True)
        try:
            return request.result()
        except psycopg.Error as error:
            if not connection.closed and not isinstance(error, psycopg.OperationalError):
                raise
            await self.close()
            raise Unreachable(_first_line(error)) from error

    async def _connected(self) -> psycopg.AsyncConnection[Row]:
        if self._connection is not None and self._connection.closed:
            await self.close()
        if self._connection is None:
            self._connection = await self._connect()
        return self._connection

    async def _connect(self) -> psycopg.AsyncConnection[Row]:
        options = f"{conninfo_to_dict(self._dsn).get('options') or ''} -c transaction_timeout={SERVER_S_MAX}s"
        try:
            async with asyncio.timeout(self._request_s_max):
                return await psycopg.AsyncConnection.connect(
                    self._dsn, autocommit=True, application_name=self._name, options=options, prepare_threshold=None
                )
        except TimeoutError as error:
            raise Unreachable(f"no session within {self._request_s_max:g} s") from error
        except psycopg.OperationalError as error:
            raise Unreachable(_first_line(error)) from error

    def abandon(self) -> None:
        if self._connection is not None and not self._connection.closed:
            shut_down(self._connection)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


async def _rows(connection: psycopg.AsyncConnection[Row], query: str, params: Sequence[Any]) -> list[Row]:
    cursor = await connection.execute(query, params)
    return [] if cursor.description is None else await cursor.fetchall()


def shut_down(connection: psycopg.AsyncConnection[Any] | psycopg.Connection[Any]) -> None:
    """Both ends see the end of the stream; psycopg keeps the descriptor."""
    if connection.closed:
        return
    with socket.socket(fileno=os.dup(connection.fileno())) as stream:
        try:
            stream.shutdown(socket.SHUT_RDWR)
        except OSError as error:
            log.debug("session was gone already: %s", error)


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().partition("\n")[0] or "the session was lost"
