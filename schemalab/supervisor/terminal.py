"""Shows output on the terminal with coloured names, and writes a log file for each process. Control characters in texts
of users are removed; a full log file begins anew."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from catalog.text.plain_text import plain

COLOURS = (36, 32, 33, 35, 34, 96, 92, 93, 95, 94)
NAME_WIDTH = 11
LOG_BYTES_MAX = 10_000_000


class Terminal:
    """`say(name, line)` shows and logs, `keep` logs. The previous log is NAME.log.1."""

    def __init__(self, logs: Path, stream: IO[str] | None = None) -> None:
        self._logs = logs
        self._stream = unguarded(stream or sys.stdout)
        self._files: dict[str, IO[str]] = {}
        self._colours: dict[str, int] = {}
        self._has_lost_lines = False
        self._is_terminal = self._stream.isatty()
        self._is_coloured = self._is_terminal and not os.environ.get("NO_COLOR")

    @property
    def is_gone(self) -> bool:
        return self._is_terminal and not self._stream.isatty()

    def keep(self, name: str, line: str) -> None:
        try:
            self._file(name).write(plain(line) + "\n")
        except OSError as error:
            if not self._has_lost_lines:
                self._has_lost_lines = True
                self._show("up", f"logs are not whole from here on: {error.strerror} ({self._logs})")

    def say(self, name: str, line: str) -> None:
        line = plain(line)
        self.keep(name, line)
        self._show(name, line)

    def _show(self, name: str, line: str) -> None:
        prefix = f"{name:<{NAME_WIDTH}}|"
        if self._is_coloured:
            colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
            prefix = f"\033[{colour}m{prefix}\033[0m"
        with suppress(OSError):  # the terminal is gone, or its file's disk is full; the logs go on
            print(prefix, line, file=self._stream, flush=True)

    def _file(self, name: str) -> IO[str]:
        file = self._files.get(name)
        if file is not None and file.tell() < LOG_BYTES_MAX:
            return file
        if file is not None:
            file.close()
        path = self._logs / f"{name}.log"
        if path.exists():
            path.replace(path.with_suffix(".log.1"))
        self._files[name] = path.open("w", buffering=1, errors="backslashreplace")
        return self._files[name]

    def close(self) -> None:
        for file in self._files.values():
            with suppress(OSError):  # what a full disk did not take, which was reported
                file.close()


class PlainStream:
    def __init__(self, stream: IO[str]) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        self.unguarded.write(plain(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def unguarded(stream: IO[str]) -> IO[str]:
    return stream.unguarded if isinstance(stream, PlainStream) else stream
