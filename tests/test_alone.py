"""Tests that measure have the room for themselves, and get in although others come and go."""

import fcntl
import threading
import time
from pathlib import Path

from tests.alone import locked, room

PATIENCE_S = 20


class Guest(threading.Thread):
    """Enters, says so, and leaves when it is told."""

    def __init__(self, folder: Path, *, alone: bool) -> None:
        super().__init__(daemon=True)
        self._folder, self._alone = folder, alone
        self.inside, self.leaves = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with room(self._folder, alone=self._alone):
            self.inside.set()
            self.leaves.wait(PATIENCE_S)

    def leave(self) -> None:
        self.leaves.set()
        self.join(PATIENCE_S)


def is_locked(path: Path) -> bool:
    try:
        with locked(path, fcntl.LOCK_SH | fcntl.LOCK_NB):
            return False
    except BlockingIOError:
        return True


def test_others_share_the_room(tmp_path: Path) -> None:
    guests = [Guest(tmp_path, alone=False) for _ in range(3)]
    assert all(guest.inside.wait(PATIENCE_S) for guest in guests)
    for guest in guests:
        guest.leave()


def test_who_wants_it_alone_waits_for_all_and_is_not_overtaken(tmp_path: Path) -> None:
    first = Guest(tmp_path, alone=False)
    assert first.inside.wait(PATIENCE_S)
    alone = Guest(tmp_path, alone=True)
    until = time.monotonic() + PATIENCE_S
    while not is_locked(tmp_path / "door") and time.monotonic() < until:
        time.sleep(0.01)
    late = Guest(tmp_path, alone=False)
    assert not alone.inside.is_set()
    first.leave()
    assert alone.inside.wait(PATIENCE_S)
    assert not late.inside.wait(0.2)
    alone.leave()
    assert late.inside.wait(PATIENCE_S)
    late.leave()
