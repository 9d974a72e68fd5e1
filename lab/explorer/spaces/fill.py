"""The fill, range by range: read, put, and a second attempt beside a worker believed dead; the first to put has done
the range. A range is (done, first attempt, second attempt); an attempt is the chunk it has read, UNREAD, NONE (no such
attempt) or SPENT (it has put)."""

from collections.abc import Iterator

from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Occurrence
from lab.explorer.model import Model
from lab.explorer.plans.program import Do, Stop
from lab.explorer.rules_left_out import Broken

UNREAD, NONE, SPENT = -1, -2, -3
Range = tuple[bool, int, int]
Ranges = tuple[Range, ...]
NO_RANGES: Ranges = ()
TODO: Range = (False, UNREAD, NONE)
DONE: Range = (True, SPENT, NONE)

Step = tuple[object, ...]
FillStep = tuple[Step, Ranges, int, int, int]
"""Label, ranges, contents and crashes left after it, and what was seen."""


def first_ranges(model: Model) -> Ranges:
    return (TODO,) * model.ranges


def is_filled(ranges: Ranges) -> bool:
    return all(done for done, _, _ in ranges)


def closed(ranges: Ranges) -> Ranges:
    """After the run's token was raised no attempt may write."""
    return NO_RANGES


def fill_steps(effects: Effects, stop: Stop, ranges: Ranges, contents: int, crashes: int) -> Iterator[FillStep]:
    """Steps of the workers. `attempt` 1 began, 2 took over."""
    runs = stop.do is Do.FILL
    for number, (done, *attempts) in enumerate(ranges):
        for at, chunk in enumerate(attempts):
            name = number + 1, at + 1
            if chunk == UNREAD and runs and not (done and not effects.model.lacks(Broken.TWICE)):
                read = effects.read_range(contents, stop.schemas[stop.newest], number)
                yield (
                    ("fill", "read", *name),
                    _with(effects.model, ranges, number, at, read),
                    contents,
                    crashes,
                    Occurrence.NOTHING,
                )
            elif chunk >= 0:
                yield _put(effects, ranges, contents, crashes, number, at)
        if runs and crashes and attempts[0] >= 0 and attempts[1] == NONE:
            again = _with(effects.model, ranges, number, 1, UNREAD)
            yield ("fill", "again", number + 1), again, contents, crashes - 1, Occurrence.RANGE_TRIED_TWICE
    if runs and effects.model.lacks(Broken.PURGED):
        yield ("fill", "purge"), ranges, effects.tidy(contents).after, crashes, Occurrence.NOTHING


def _put(effects: Effects, ranges: Ranges, contents: int, crashes: int, number: int, at: int) -> FillStep:
    done, *attempts = ranges[number]
    label: Step = ("fill", "put", number + 1, at + 1)
    if done and not effects.model.lacks(Broken.TWICE):
        return label, _with(effects.model, ranges, number, at, SPENT), contents, crashes, Occurrence.NOTHING
    effect = effects.fill(contents, attempts[at])
    return label, _with(effects.model, ranges, number, at, SPENT), effect.after, crashes, effect.seen


def _with(model: Model, ranges: Ranges, number: int, at: int, chunk: int) -> Ranges:
    """Sets one attempt. When its range is done and marks count, nothing else of it matters."""
    done, *attempts = ranges[number]
    attempts[at] = chunk
    done = done or chunk == SPENT
    changed: Range = (done, attempts[0], attempts[1])
    if done and not model.lacks(Broken.TWICE):
        changed = DONE
    return (*ranges[:number], changed, *ranges[number + 1 :])
