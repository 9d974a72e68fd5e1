"""Numbers of contents, given by several threads at once."""

import threading
from collections.abc import Hashable

from lab.explorer.contents.numbered import Numbers


class Meddled:
    """A value that lets another thread work while it is being stored: when its hash is asked for a second time."""

    def __init__(self) -> None:
        self.asked, self.is_stored, self.other_is_done = 0, threading.Event(), threading.Event()

    def __hash__(self) -> int:
        self.asked += 1
        if self.asked > 1 and not self.is_stored.is_set():
            self.is_stored.set()
            self.other_is_done.wait(0.2)
        return 1


def test_a_value_that_is_met_while_another_one_is_stored_has_a_number_of_its_own() -> None:
    numbers, value = Numbers[Hashable](), Meddled()

    def other() -> None:
        value.is_stored.wait(10)
        numbers.of("other")
        value.other_is_done.set()

    thread = threading.Thread(target=other)
    thread.start()
    found = numbers.of(value)
    thread.join()
    assert numbers.of("other") != found
    assert [numbers.values[found], numbers.values[numbers.of("other")]] == [value, "other"]
    assert len(numbers.values) == 2
