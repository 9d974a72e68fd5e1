"""State of a task on its screen: the game or search in the address, a refused answer (shown once), else the last
answer."""

from dataclasses import dataclass, field, replace
from typing import Any

from django.http import HttpRequest

from catalog.text import message
from catalog.text.message import NOTHING, Text
from catalog.text.numbers import whole_number
from lab.exercises.adversary import Game, Standing, play
from lab.exercises.chapter import Chapter, Design, Explain, Predict, Reach, Screen, Start, Survive
from lab.exercises.grading import reveal_of
from lab.ladders.played import Played
from lab.learning.findings import Finding
from lab.learning.forms import moves_in
from lab.learning.learner import Learner
from lab.learning.selectors import first_attempt, last_attempt
from lab.models import Attempt, Progress, Question
from lab.sessions.as_json import restored
from lab.sessions.setup import MODEL
from lab.sessions.setups import setup_named
from lab.sessions.short_steps import in_full

PROBLEM = "lab_problem"
"""The session's key of a refused answer."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """`answered` fills the form; `stage` is the session on the stage, at `at` (None: its end)."""

    answered: dict[str, Any] = field(default_factory=dict)
    outcome: str = ""
    remarks: tuple[Text, ...] = ()
    problem: Text = NOTHING
    game: Game | None = None
    question: Question | None = None
    played: Played | None = None
    stage: Start | None = None
    at: int | None = None
    item: str = ""
    """Of a prediction about several sessions the one on the stage, where no model plays them."""

    predicted: dict[str, Any] = field(default_factory=dict)
    """The first answer to a prediction: later ones do not change what was predicted."""


def refuse(request: HttpRequest, chapter: Chapter, screen: Screen, answered: dict[str, Any], problem: Text) -> None:
    """Keeps a refused answer until the page is shown again."""
    request.session[PROBLEM] = [chapter.id, screen.id, answered, message.to_json(problem)]


def task_state(
    request: HttpRequest, chapter: Chapter, screen: Screen, learner: Learner, progress: Progress | None
) -> TaskState:
    attempt = last_attempt(progress)
    start = _begun(screen, progress)
    if request.session.get(PROBLEM, ["", ""])[:2] == [chapter.id, screen.id]:
        _, _, answered, problem = request.session.pop(PROBLEM)
        game = _game(screen, answered.get("moves"))
        return TaskState(answered, problem=message.from_json(problem), game=game, stage=_of_game(game, start))
    if isinstance(screen.task, Survive) and ("moves" in request.GET or attempt is None):
        game = _game(screen, moves_in(request.GET.get("moves", "[]")))
        return TaskState(game=game, stage=_of_game(game, start))
    question = _question(request, screen, learner)
    if question is not None:
        return TaskState({"lines": lines_asked(question)}, question=question, stage=start)
    found = TaskState(stage=start) if attempt is None else _answered(screen, attempt, start)
    if attempt is not None and isinstance(screen.task, Predict):
        found = replace(found, predicted=first_attempt(attempt.progress).answer)
    found = _with_item(request, screen, found) if found.outcome else found
    solution = _solution(screen, progress, attempt)
    return found if solution is None else replace(found, stage=solution, at=_shared(solution, screen.start))


def _with_item(request: HttpRequest, screen: Screen, found: TaskState) -> TaskState:
    task = screen.task
    if not isinstance(task, Predict) or all(setup_named(item.start.setup).kind == MODEL for item in task.items):
        return found
    item = next((one for one in task.items if one.id == request.GET.get("item")), task.items[0])
    return replace(found, item=item.id, stage=item.start, at=0)


def _begun(screen: Screen, progress: Progress | None) -> Start | None:
    """The session of the screen; of a prediction that is over with the steps that it hid."""
    if isinstance(screen.task, Predict) and screen.start is not None and progress is not None and progress.is_open:
        return reveal_of(screen.task, screen.start)
    return screen.start


def _answered(screen: Screen, attempt: Attempt, start: Start | None) -> TaskState:
    found, answered = restored(Finding, attempt.found), attempt.answer
    reveal = found.reveal
    if reveal is None and isinstance(screen.task, Reach) and screen.start is not None and answered.get("steps"):
        reveal = replace(screen.start, steps=tuple(answered["steps"]))
    game = None
    if isinstance(screen.task, Survive):
        taken = () if reveal is None else reveal.steps
        game = Game(taken, Standing.LOST, tuple(answered.get("moves", ())))
    if found.played is not None:
        return TaskState(answered, attempt.outcome, found.remarks, stage=start, played=found.played)
    at = None
    if reveal is not None and isinstance(screen.task, Predict | Design | Explain):
        at = _shared(reveal, screen.start)
    elif isinstance(screen.task, Explain):
        at = 0  # what is to be explained plays once more
    elif isinstance(screen.task, Survive) and screen.start is not None:
        at = len(screen.start.steps)
    return TaskState(answered, attempt.outcome, found.remarks, game=game, stage=reveal or start, at=at)


def _solution(screen: Screen, progress: Progress | None, attempt: Attempt | None) -> Start | None:
    if screen.start is None or progress is None or progress.shown_at is None:
        return None
    if attempt is not None and attempt.at > progress.shown_at:
        return None
    match screen.task:
        case Reach(solution=steps):
            return replace(screen.start, steps=(*screen.start.steps, *in_full(steps)))
        case Explain(mended=mended):
            return mended
    return None


def _shared(solution: Start, start: Start | None) -> int:
    """The position from which a solution is played: behind the screen's own steps, if there are others."""
    own = () if start is None else start.steps
    return len(own) if solution.steps[: len(own)] == own != solution.steps else 0


def _question(request: HttpRequest, screen: Screen, learner: Learner) -> Question | None:
    pk = whole_number(request.GET.get("asked", ""), digits_max=18)
    if not isinstance(screen.task, Design) or pk is None:
        return None
    found = Question.objects.filter(pk=pk, owner=learner.owner).first()
    return found if found is not None and lines_asked(found) else None


def lines_asked(question: Question) -> list[str]:
    asked = question.asked
    found: list[str] = asked["order"]["tiles"] if "order" in asked else asked.get("lines", [])
    return found


def _game(screen: Screen, moves: object) -> Game | None:
    if not isinstance(screen.task, Survive) or screen.start is None:
        return None
    made = [one for one in moves if isinstance(one, str)] if isinstance(moves, list) else []
    return play(screen.task, screen.start, made)


def _of_game(game: Game | None, start: Start | None) -> Start | None:
    return start if game is None or start is None else replace(start, steps=game.steps)
