"""The control channel of a running `manage.py up`: a unix socket in its home, one JSON line each way.

    {"command": "kill", "name": "n3"}   ->   {"ok": true, "text": "n3 was killed; it stays down until it is started"}

Only `traffic` needs the database, so that database and page can be thawed this way. Only the home's owner can open it.
"""

import asyncio
import json
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from schemalab.supervisor.process import Refused, Report, Supervised

EVENT_OF = {
    "kill": "process killed",
    "freeze": "process frozen",
    "thaw": "process thawed",
    "start": "process restarted",
}
COMMANDS = tuple(EVENT_OF)
ANSWER_S_MAX = 10.0
LINE_BYTES_MAX = 4096
BeginTraffic = Callable[[int], str]


class NotRunning(Exception):
    """No `manage.py up` holds this home."""


class CommandRefused(Exception):
    """The supervisor's refusal."""


def send(
    control_socket: Path,
    command: str,
    name: str = "",
    *,
    who: str = "",
    run: int | None = None,
    seconds_max: float = ANSWER_S_MAX,
) -> dict[str, Any]:
    """Asks the supervisor. Raises NotRunning, CommandRefused, and TimeoutError after `seconds_max`."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(seconds_max)
        try:
            channel.connect(str(control_socket))
        except (FileNotFoundError, ConnectionRefusedError):
            raise NotRunning("the cluster is not running: start it with `manage.py up`") from None
        channel.sendall(json.dumps({"command": command, "name": name, "who": who, "run": run}).encode() + b"\n")
        line = channel.makefile().readline()
    if not line.endswith("\n"):
        raise NotRunning("the cluster ended before it answered: see whether `manage.py up` still runs")
    answer: dict[str, Any] = json.loads(line)
    if not answer["ok"]:
        raise CommandRefused(answer["text"])
    return answer


def obey(
    processes: Mapping[str, Supervised],
    request: Mapping[str, Any],
    report: Report,
    begin_traffic: BeginTraffic | None = None,
) -> dict[str, Any]:
    command, name = request.get("command"), request.get("name", "")
    if command == "traffic" and begin_traffic is not None:
        return _traffic(request.get("run"), begin_traffic)
    if command == "status":
        return {
            "ok": True,
            "processes": [
                {"name": process.name, "kind": process.kind, "state": process.state, "pid": process.pid}
                for process in processes.values()
            ],
        }
    if command not in COMMANDS:
        return {"ok": False, "text": f"unknown command {command!r}: it must be one of {', '.join(COMMANDS)}, status"}
    if name not in processes:
        return {"ok": False, "text": f"no process {name!r} here: there are {', '.join(processes)}"}
    try:
        text = getattr(processes[name], command)()
    except Refused as refused:
        return {"ok": False, "text": str(refused)}
    report(EVENT_OF[command], name, who=str(request.get("who") or "somebody"))
    return {"ok": True, "text": text}


def _traffic(run: object, begin_traffic: BeginTraffic) -> dict[str, Any]:
    if not isinstance(run, int) or isinstance(run, bool) or run < 1:
        return {"ok": False, "text": "a run of traffic has a number"}
    try:
        return {"ok": True, "text": begin_traffic(run)}
    except Refused as refused:
        return {"ok": False, "text": str(refused)}


class ControlServer:
    def __init__(
        self,
        control_socket: Path,
        processes: Mapping[str, Supervised],
        report: Report,
        begin_traffic: BeginTraffic | None = None,
    ) -> None:
        self._begin_traffic = begin_traffic
        self._path = control_socket
        self._processes = processes
        self._report = report
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "ControlServer":
        with suppress(FileNotFoundError):
            self._path.unlink()  # left by a supervisor that was killed; the home's lock says that none runs
        umask = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._answer, self._path, limit=LINE_BYTES_MAX)
        finally:
            os.umask(umask)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        with suppress(FileNotFoundError):
            self._path.unlink()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                request = json.loads(await reader.readline())
            answer = obey(self._processes, request, self._report, self._begin_traffic)
        except (ValueError, TimeoutError, AttributeError):
            answer = {"ok": False, "text": "a request is one line with a JSON object"}
        with suppress(ConnectionError):
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        writer.close()
