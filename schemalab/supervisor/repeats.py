"""Shows repeated lines a few times, then counts them; lines that differ in numbers are the same."""

import re

NUMBERS = re.compile(r"\d+")
SHOWN_MAX = 3
COUNT = ".. and "


class Repeats:
    def __init__(self) -> None:
        self._shape = ""
        self._times = 0

    def hear(self, line: str) -> list[str]:
        shape = NUMBERS.sub("0", line)
        if shape == self._shape and shape.strip():
            self._times += 1
            return [line] if self._times <= SHOWN_MAX else []
        ended = self.end()
        self._shape, self._times = shape, 1
        return [*ended, line]

    def end(self) -> list[str]:
        more, self._times, self._shape = self._times - SHOWN_MAX, 0, ""
        return [f"{COUNT}{more} more such lines"] if more > 0 else []
