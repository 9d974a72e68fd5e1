"""What the processes of `up` say: to the terminal with a coloured name in front, to a log file each."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

COLOURS = (36, 32, 33, 35, 34, 96, 92, 93, 95, 94)
NAME_WIDTH = 8


class Terminal:
    """`say(name, line)`. The log of the run before is kept as NAME.log.1."""

    def __init__(self, logs: Path, stream: IO[str] = sys.stdout) -> None:
        self._logs = logs
        self._stream = stream
        self._files: dict[str, IO[str]] = {}
        self._is_coloured = stream.isatty()

    def say(self, name: str, line: str) -> None:
        file = self._files.get(name) or self._open(name)
        file.write(line + "\n")
        prefix = f"{name:<{NAME_WIDTH}}|"
        if self._is_coloured:
            colour = COLOURS[list(self._files).index(name) % len(COLOURS)]
            prefix = f"\033[{colour}m{prefix}\033[0m"
        with suppress(BrokenPipeError):  # the terminal is gone; the logs go on
            print(prefix, line, file=self._stream, flush=True)

    def _open(self, name: str) -> IO[str]:
        path = self._logs / f"{name}.log"
        if path.exists():
            path.replace(path.with_suffix(".log.1"))
        self._files[name] = path.open("w", buffering=1)
        return self._files[name]

    def close(self) -> None:
        for file in self._files.values():
            file.close()
