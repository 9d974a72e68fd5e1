"""Seconds from each strike until every node has served again."""

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Pending:
    what: str
    since: float
    missing: set[str]


@dataclass(slots=True)
class Recovery:
    """Hears of each statement a node has served; a strike is over once all nodes have served one begun after it."""

    nodes: tuple[str, ...]
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _pending: list[Pending] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def struck(self, what: str, at: float | None = None) -> None:
        """The strike is over: killed, or thawed again."""
        with self._lock:
            self._pending.append(Pending(what, time.monotonic() if at is None else at, set(self.nodes)))

    def served(self, node: str, began: float) -> None:
        if not self._pending:
            return
        with self._lock:
            for one in self._pending:
                if began > one.since:
                    one.missing.discard(node)
                    if not one.missing:
                        self.seconds[one.what].append(time.monotonic() - one.since)
            self._pending = [one for one in self._pending if one.missing]
