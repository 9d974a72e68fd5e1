"""The screen up to which a class may go, in its chapter; without a pace members go on by themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.exercises.chapter import Chapter

CLOSED = -1
"""The last open screen of a chapter that the class has not reached."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The class may go as far as this screen of this chapter."""

    chapter: str
    screen: str


def last_open(pace: Pace | None, folders: Sequence[str], chapter: Chapter) -> int:
    """The number of the last screen of `chapter` that the class may see; `folders` are the course's, in its order. A
    screen or a chapter that does not exist any more stops no class."""
    everything = len(chapter.screens) - 1
    if pace is None or pace.chapter not in folders or chapter.id not in folders:
        return everything
    if chapter.id != pace.chapter:
        return everything if folders.index(chapter.id) < folders.index(pace.chapter) else CLOSED
    return next((at for at, one in enumerate(chapter.screens) if one.id == pace.screen), everything)


def moved(pace: Pace, chapters: Sequence[Chapter], by: int) -> Pace:
    """The pace some screens further on, or back, over the ends of chapters; at both ends of a course it stays."""
    places = [Pace(chapter.id, screen.id) for chapter in chapters for screen in chapter.screens]
    if not places:
        return pace
    at = places.index(pace) if pace in places else 0
    return places[min(max(at + by, 0), len(places) - 1)]
