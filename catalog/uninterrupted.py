"""Blocks that a process finishes before it ends, such as sending a message and noting it: a worker whose supervisor was
killed waits for them, for a bounded time (`schemalab.supervisor.end_with`)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_changed = threading.Condition()
_blocks = 0
_is_ending = False


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A block to be finished; none begins once the process is ending."""
    global _blocks
    with _changed:
        _changed.wait_for(lambda: not _is_ending)
        _blocks += 1
    try:
        yield
    finally:
        with _changed:
            _blocks -= 1
            _changed.notify_all()


def finish(seconds_max: float) -> bool:
    """Lets no block begin, and waits for running ones; False after the limit."""
    global _is_ending
    with _changed:
        _is_ending = True
        return _changed.wait_for(lambda: not _blocks, seconds_max)
