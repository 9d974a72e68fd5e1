"""Polls a condition that is not notified, such as a server that starts, with a limit."""

import time
from collections.abc import Callable

PAUSE_S = 0.05


class TookTooLong(Exception):
    """It was not so in time."""


def wait_for(is_so: Callable[[], bool], *, what: str, seconds_max: float) -> None:
    deadline = time.monotonic() + seconds_max
    while not is_so():
        if time.monotonic() > deadline:
            raise TookTooLong(f"{what} did not answer within {seconds_max:g} s")
        time.sleep(PAUSE_S)
