"""The changes that tools are asked to make, and the client that disturbs them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

INDEX, TYPE = "an index of one column", "another type of a column"
Write = Callable[[str, str, int, float, Any], Any]
"""(address, table, rows, statements in a second, stop): a client in a process of its own, see `tools.bench.writers`."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A way to make one change, there and back. `checks`: what it makes sure of before the change counts."""

    name: str
    task: str
    how: str
    checks: str
    change: Callable[[], object]
    undo: Callable[[], object]
    address: str
    write: Write
