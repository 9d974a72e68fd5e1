"""The clients of a run end together: what stalls is cut, somebody is told meanwhile, and rows that remain are said."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from nodes.traffic import running as module
from nodes.traffic.running import Running, Second, remain


class Stalled(threading.Thread):
    """A client whose statement is answered by nobody, until it is cut."""

    is_away = False

    def __init__(self, *, cuts_needed: int) -> None:
        super().__init__(daemon=True)
        self.rows_remain, self._cut, self._cuts_needed = True, threading.Event(), cuts_needed

    def run(self) -> None:
        self._cut.wait(30)
        self.rows_remain = False

    def end_stalled(self, _now: float) -> None:
        self._cuts_needed -= 1
        if self._cuts_needed == 0:
            self._cut.set()


def running(*clients: Any) -> Running:
    for client in clients:
        client.start()
    return Running(clients, threading.Event(), Second())


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)


def test_what_stalls_at_the_end_is_cut_and_somebody_is_told_meanwhile() -> None:
    looks: list[int] = []
    assert running(Stalled(cuts_needed=1), Stalled(cuts_needed=3)).end(looked=lambda: looks.append(1)) == 0
    assert len(looks) >= 3


def test_clients_that_do_not_end_in_time_leave_rows() -> None:
    lasting = Stalled(cuts_needed=10**9)
    left = running(Stalled(cuts_needed=1), lasting).end(seconds_max=0.3)
    lasting._cut.set()
    assert remain(left) == "rows of 1 client remain"
    assert (remain(0), remain(2)) == ("", "rows of 2 clients remain")
