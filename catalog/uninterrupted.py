"""Blocks that a process finishes before it ends itself.

Every task may run twice and goes on from its rows, so a worker may die anywhere. Some blocks are better finished: a
message that another side has taken and that is not yet written down would be sent again. A worker whose supervisor was
killed waits for these, for a bounded time (`schemalab.supervisor.end_with`).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_changed = threading.Condition()
_blocks = 0
_is_ending = False


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A block to be finished; once the process is ending, none begins any more."""
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
    """Let no block begin any more, and wait for those that have; False when that took too long."""
    global _is_ending
    with _changed:
        _is_ending = True
        return _changed.wait_for(lambda: not _blocks, seconds_max)
