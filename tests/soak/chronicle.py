"""A log of all that happened, that can be read beside those of the processes; violations apart."""

import threading
import time
from collections import Counter
from pathlib import Path

LOG = "storm.log"
SHOWN_MAX = 50
SAME_MAX = 5
"""Of violations that begin alike so many are written; all are counted."""


class Chronicle:
    """Written by every thread; `violations` is what makes the run red."""

    def __init__(self, folder: Path) -> None:
        self.began = time.monotonic()
        self.violations: list[str] = []
        self.violation_count = 0
        self._kinds: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._file = (folder / LOG).open("w", buffering=1)

    @property
    def now_s(self) -> float:
        return time.monotonic() - self.began

    def note(self, who: str, what: str) -> None:
        with self._lock:
            self._write(who, what)

    def violation(self, who: str, what: str) -> None:
        """Something that must never be so."""
        with self._lock:
            self.violation_count += 1
            kind = f"{who.rstrip('0123456789')} {what[:24]}"
            self._kinds[kind] += 1
            if self._kinds[kind] <= SAME_MAX and len(self.violations) < SHOWN_MAX:
                self.violations.append(f"at {self.now_s:.1f} s, {who}: {what}")
            self._write(who, f"VIOLATION {what}")

    def _write(self, who: str, what: str) -> None:
        clock = time.strftime("%H:%M:%S", time.gmtime())
        if not self._file.closed:
            self._file.write(f"{clock} {self.now_s:9.3f}  {who:12}  {what}\n")

    def close(self) -> None:
        with self._lock:
            self._file.close()
