"""Checks a chapter by doing it: steps are possible, answers the machine's, solutions pass, no text is missing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lab.exercises import grading, texts
from lab.exercises.adversary import WAIT
from lab.exercises.chapter import (
    Answer,
    Chapter,
    Design,
    Explain,
    Form,
    Live,
    Predict,
    Reach,
    Screen,
    Sources,
    Start,
    Survive,
)
from lab.exercises.grading import BadAnswer, Outcome
from lab.exercises.observations import BadQuestion, end_of
from lab.exercises.shelf import Book
from lab.replays.comparison import faults_at_end
from lab.replays.feats import FEATS, Feat
from lab.replays.trace import NotReplayable
from lab.replays.translation import translated
from lab.sessions.session import BadSession


@dataclass(frozen=True, slots=True)
class References:
    rules: frozenset[str]
    sections: frozenset[str]
    has_file: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Fault:
    folder: str
    why: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.why}"


def faults_of(book: Book, known: References) -> list[Fault]:
    found = list(book.faults)
    if book.chapter is not None:
        found += _texts(book)
        found += [f"sources: {why}" for why in _sources(book.chapter.sources, known)]
        found += [f"screen {screen.id}: {why}" for screen in book.chapter.screens for why in _screen(screen, known)]
    return [Fault(book.folder, why) for why in found]


def _texts(book: Book) -> Iterator[str]:
    assert book.chapter is not None
    for language, name in texts.LANGUAGES.items():
        if language in book.texts:
            yield from (f"{name}: {why}" for why in texts.faults_of(book.chapter, book.texts[language]))


def _sources(sources: Sources, known: References) -> Iterator[str]:
    yield from (f"there is no rule {rule}" for rule in sources.rules if rule not in known.rules)
    yield from (f"the protocol has no section {one}" for one in sources.sections if one not in known.sections)
    yield from (f"there is no file {path}" for path in sources.code if not known.has_file(path))


def _screen(screen: Screen, known: References) -> Iterator[str]:
    yield from _sources(screen.sources, known)
    broken = list(_start(screen.start)) if screen.start is not None else []
    yield from broken
    if broken:
        return
    if screen.do and screen.start is not None:
        yield from _steps(screen.start, screen.do)
    try:
        yield from _task(screen)
    except (BadSession, BadQuestion, BadAnswer) as error:
        yield str(error)


def _start(start: Start) -> Iterator[str]:
    try:
        shown = end_of(start)
    except BadSession as error:
        yield str(error)
        return
    if shown.refused is not None:
        yield f"step {shown.refused.at + 1}, {shown.refused.step}, is not possible: {shown.refused.why}"


def _steps(start: Start, more: tuple[str, ...]) -> Iterator[str]:
    yield from _start(replace(start, steps=(*start.steps, *more)))


def _task(screen: Screen) -> Iterator[str]:
    match screen.task:
        case Predict() as task:
            yield from _prediction(screen, task)
        case Reach() as task:
            yield from _graded(screen, {"steps": [*_start_steps(screen), *task.solution]})
            yield from _untouched(screen, {"steps": [*_start_steps(screen)]})
        case Explain() as task:
            yield from _steps(task.mended, ())
            yield from _graded(screen, {"clause": task.clause, "step": str(task.step), "rule": task.missing})
            if any(grading.is_meant(task.clause, verdict) for verdict in end_of(task.mended).verdicts):
                yield f"{task.clause} is broken in the mended session too"
        case Design() as task:
            yield from _graded(screen, {"lines": list(task.solution)})
            yield from _untouched(screen, {"lines": list(task.wrong)}, "its wrong sequence")
        case Survive() as task:
            yield from _graded(screen, {"moves": list(task.solution)})
            yield from _untouched(screen, {"moves": [WAIT] * task.moves_max}, "doing nothing")
        case Live() as task:
            for name in task.asks:
                if FEATS[name].replay is not None:
                    yield from _replays(FEATS[name])
        case None:
            return


def _replays(feat: Feat) -> Iterator[str]:
    assert feat.replay is not None
    try:
        translated(feat.replay)
        faults, newest = faults_at_end(feat.replay)
    except NotReplayable as error:
        yield f"{feat.name} cannot be replayed: {error}"
        return
    missing = feat.clauses - {fault.clause for fault in faults if fault.version == newest}
    if missing:
        yield f"{feat.name} does not break {', '.join(sorted(missing))}"


def _start_steps(screen: Screen) -> tuple[str, ...]:
    return screen.start.steps if screen.start is not None else ()


def _graded(screen: Screen, answer: Mapping[str, Any]) -> Iterator[str]:
    graded = grading.grade(screen, answer)
    if graded.outcome is not Outcome.RIGHT:
        yield f"its own solution is {graded.outcome.value}: {'; '.join(map(str, graded.remarks))}"


def _untouched(screen: Screen, answer: Mapping[str, Any], what: str = "the untouched start") -> Iterator[str]:
    if grading.grade(screen, answer).outcome is Outcome.RIGHT:
        yield f"{what} passes"


def _prediction(screen: Screen, task: Predict) -> Iterator[str]:
    if screen.start is not None and task.asks != "taken":
        yield from _steps(screen.start, task.then)
    for item in task.items if task.asks != "taken" else ():
        yield from (f"item {item.id}: {why}" for why in _start(item.start))
    right = grading.right_answer(task, screen.start)
    if right != task.answer:
        yield f"the answer is {words_of(task.answer)}, the machine says {words_of(right) or 'none of the choices'}"
    values = list(task.values.values())
    if len(values) != len({str(value) if not isinstance(value, frozenset) else value for value in values}):
        yield "two choices stand for the same"
    if task.form is Form.PAIRS and isinstance(right, frozenset) and len(task.options) <= len(right):
        yield "all pairs that are offered are right: nothing is left to be wrong"


def words_of(answer: Answer) -> str:
    if isinstance(answer, Mapping):
        return ", ".join(f"{item}: {choice}" for item, choice in sorted(answer.items()))
    if isinstance(answer, frozenset):
        return ", ".join(sorted(answer)) or "nothing"
    return ", ".join(answer) if isinstance(answer, tuple) else str(answer)


def tasks_of(chapter: Chapter) -> Mapping[str, int]:
    kinds = [screen.kind for screen in chapter.tasks]
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
