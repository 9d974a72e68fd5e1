"""A TCP door to the test database that can be shut: requests hang, as with a frozen server or a broken network."""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """`async with Proxy(dsn) as proxy`: connect to `proxy.dsn`; `stall`, `resume`, `cut`."""

    def __init__(self, dsn: str) -> None:
        self._parts = conninfo_to_dict(dsn)
        self._requests, self._answers = asyncio.Event(), asyncio.Event()
        self.resume()
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self.connections = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.dsn = make_conninfo(
            **self._parts | {"host": "127.0.0.1", "port": port, "sslmode": "disable", "gssencmode": "disable"}
        )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._server.close()
        self.cut()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def stall(self, *, answers: bool = False) -> None:
        """From now on nothing passes, new connections included; nothing is closed either. Or only answers are held."""
        self._answers.clear()
        if not answers:
            self._requests.clear()

    def resume(self) -> None:
        self._answers.set()
        self._requests.set()

    def cut(self) -> None:
        """End every connection there is; new ones are served."""
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        socket = Path(str(self._parts["host"])) / f".s.PGSQL.{self._parts.get('port') or 5432}"
        server_reader, server_writer = await asyncio.open_unix_connection(socket)
        self._writers |= {writer, server_writer}
        directions = ((reader, server_writer, self._requests), (server_reader, writer, self._answers))
        for source, target, is_open in directions:
            pump = asyncio.create_task(self._pump(source, target, is_open))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, is_open: asyncio.Event) -> None:
        try:
            while chunk := await source.read(65536):
                await is_open.wait()
                target.write(chunk)
                await target.drain()
        except ConnectionError:
            pass  # the other end is gone: so is this one
        finally:
            target.close()
