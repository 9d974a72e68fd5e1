"""The session of a chapter's picture, which shows a task's end, so only to learners who have done it: of the screen
`drawn`, else the first task to be reached, else the first prediction about a session."""

from collections.abc import Iterator

from lab.exercises.chapter import Chapter, Explain, Predict, Reach, Screen
from lab.exercises.observations import session_of
from lab.sessions.session import Session


def decisive_session(chapter: Chapter) -> Session | None:
    """None if no task of the chapter has one."""
    if chapter.drawn:
        named = chapter.screen(chapter.drawn)
        return None if named is None else _end_of(named)
    found = sorted(_endings(chapter), key=lambda one: not one[0])
    return found[0][1] if found else None


def _endings(chapter: Chapter) -> Iterator[tuple[bool, Session]]:
    for screen in chapter.tasks:
        session = None if isinstance(screen.task, Explain) else _end_of(screen)
        if session is not None:
            yield isinstance(screen.task, Reach), session


def _end_of(screen: Screen) -> Session | None:
    match screen:
        case Screen(task=Reach() as task, start=start) if start is not None:
            return session_of(start, task.solution)
        case Screen(task=Predict() as task) if task.items:
            return session_of(task.items[-1].start)
        case Screen(task=Predict() as task, start=start) if start is not None and task.then:
            return session_of(start, task.then)
        case Screen(task=Explain(), start=start) if start is not None:
            return session_of(start)
    return None
