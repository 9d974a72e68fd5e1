"""The steps that the stage lists beside a chapter's screens: all of the chapter, since those of one screen would be its
answer."""

from collections.abc import Iterator

from lab.exercises.chapter import Chapter, Explain, Predict, Reach, Screen
from lab.sessions.short_steps import in_full, in_short

NUMBER_MAX = 3
"""The last chapter whose stage lists no other steps."""

OTHERS = {"n1": "n2", "n2": "n1", "ann": "bo", "bo": "ann"}


def steps_needed(chapter: Chapter) -> tuple[str, ...]:
    """In order; empty if the stage lists all."""
    if chapter.number > NUMBER_MAX:
        return ()
    found = {step for screen in chapter.screens for step in _of_screen(screen)}
    return tuple(sorted(found | set(map(_of_the_other, found))))


def _of_screen(screen: Screen) -> Iterator[str]:
    steps = (*(() if screen.start is None else screen.start.steps), *screen.do)
    match screen.task:
        case Predict(then=hidden):
            steps = (*steps, *hidden)
        case Reach(solution=solution):
            steps = (*steps, *solution)
        case Explain(mended=mended):
            steps = (*steps, *mended.steps)
    yield from in_short(in_full(steps))


def _of_the_other(step: str) -> str:
    return ".".join(OTHERS.get(part, part) for part in step.split("."))
