"""The queue of questions to the explorer, answered one after the other by the lab's worker.

The next question is that of the person served longest ago. A person has one open question: a new one stops the earlier.
Answers are stored by question and rules; an equal question has it at once, unless it was unknown, or shares the running
search, which ends when no question waits for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Case, F, Max, Q, QuerySet, Value, When
from django.utils.timezone import now

from catalog.hints import BEGINNINGS_MAX, celery_app, gave_up, sent
from lab.answerers import ANSWERERS
from lab.exercises import designs
from lab.exercises.chapter import Design
from lab.exercises.grammars import grammar
from lab.exercises.judgement import Judgement
from lab.explorer.fingerprint import fingerprint
from lab.explorer.spaces.search import Budget, Progress
from lab.explorer.verdict import Verdict
from lab.ladders import verdict
from lab.ladders.order import Order
from lab.learning.learner import VISITORS
from lab.models import Question
from lab.questions import search
from lab.sessions import session
from lab.sessions.as_json import restored, stored

TASK, QUEUE = "lab.tasks.answer_next_question", "lab"
PLACES = (*session.PLACES, "lab/questions", "lab/exercises", "lab/ladders")
"""The code that finds an answer: rules of sessions, places where a search begins, goals. Its change invalidates
answers."""

AFTER_PROOFS = 9
"""Of 0 to 9 the last, as Redis has it: submitting a change waits for its proof for two seconds, a class can wait."""

KEPT_MAX = 2_000
LOST_S = 30.0
"""A search without a sign of life for so long has ended with its process; the question waits again."""

AGAIN_S, AGAIN_S_EACH, AGAIN_S_MAX = 0.4, 0.1, 3.0
"""A page that waits looks after the first of these, later by the second for each question before its own."""

SEND_EVERY_S = 5.0
"""While questions wait and no search runs, the next one is sent again this often, however many pages look: its message
was lost, or there is no worker."""

PREPARED = "prepared"
"""The owner of answers worked out beforehand: they are kept as long as the rules are the same."""

DESIGN = "design"
"""The mark of an order that is the answer to a task: only the task's page shows what is found, once it is stored."""

IS_UNKNOWN = Q(answer__verdict=Verdict.UNKNOWN.value)

Json = dict[str, Any]


def ask_kind(owner: str, kind: str, asked: Any) -> Question:
    return _ask(owner, {kind: asked})


def ask(owner: str, question: search.Question) -> Question:
    return _ask(owner, search.to_json(question))


def ask_design(owner: str, task: Design, lines: Sequence[str]) -> Question:
    return _ask(owner, _body_of(task, lines))


def _body_of(task: Design, lines: Sequence[str]) -> Json:
    """A design as a question; equal orders of tiles are equal questions. Raises `Malformed`."""
    if task.grammar == "ladder":
        return {"order": stored(designs.order_in(task, lines)), DESIGN: True}
    return stored(designs.written_in(task, lines))


def ask_order(owner: str, order: Order) -> Question:
    return _ask(owner, {"order": stored(order)})


def kept_order(order: Order) -> verdict.Answered | None:
    found = _known(_key_of({"order": stored(order)}))
    return None if found is None or "runs" not in found else restored(verdict.Answered, found)


def prepare(order: Order, *, budget: Budget) -> None:
    body: Json = {"order": stored(order)}
    found = stored(verdict.answer(order, budget=budget))
    Question.objects.create(owner=PREPARED, key=_key_of(body), asked=body, asked_at=now(), answer=found)


def unprepared(orders: Sequence[Order]) -> list[Order]:
    """The orders without a stored answer; answers under other rules are deleted."""
    keys = {_key_of({"order": stored(order)}): order for order in orders}
    prepared = Question.objects.filter(owner=PREPARED)
    prepared.exclude(key__in=keys).delete()
    there = set(prepared.values_list("key", flat=True))
    return [order for key, order in keys.items() if key not in there]


def asked_design(owner: str, pk: int, task: Design, lines: Sequence[str]) -> Question | None:
    """The question of this number, if this person asked it about these lines. Raises `Malformed`."""
    key = _key_of(_body_of(task, lines))
    return Question.objects.filter(pk=pk, owner=owner, key=key).first()


def judgement_of(question: Question, task: Design, lines: Sequence[str]) -> Judgement | None:
    if question.answer is None:
        return None
    if "runs" in question.answer:
        return designs.judgement_of_order(task, lines, restored(verdict.Answered, question.answer))
    return restored(Judgement, question.answer)


def _key_of(body: Json) -> str:
    """Equal for equal questions: neither a session's names nor the mark of a design count."""
    named = search.regardless_of_names(body) if "session" in body else body
    regardless = {name: value for name, value in named.items() if name != DESIGN}
    places = PLACES + tuple(place for kind in body if kind in ANSWERERS for place in ANSWERERS[kind][1])
    if "task" in body and (added := grammar(body["task"]["grammar"])):
        places += added.places
    text = json.dumps([regardless, fingerprint(places=places)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _ask(owner: str, body: Json) -> Question:
    key = _key_of(body)
    with transaction.atomic():
        shared = _open().filter(key=key).order_by(F("looked_at").desc(nulls_last=True)).first()
        Question.objects.filter(owner=owner, answer__isnull=True).update(is_stopped=True)
        made = Question(owner=owner, key=key, asked=body, asked_at=now(), sent_at=now())
        if shared is not None:
            made.begun_at, made.looked_at, made.beginnings = shared.begun_at, shared.looked_at, shared.beginnings
        made.save()
        _forget_oldest()
        if not _answer_if_known(made) and shared is None:
            transaction.on_commit(_send)
    return made


def stop(owner: str, pk: int) -> None:
    Question.objects.filter(pk=pk, owner=owner, answer__isnull=True).update(is_stopped=True)


def shown(question: Question) -> Json:
    """The question as its page draws it. Takes the answer here if the search it shared ended meanwhile."""
    body: Json = {"id": question.pk}
    if question.answer is None and not question.is_stopped and _runs(question):
        _answer_if_known(question)
    if question.answer is not None:
        return body | {"state": "done"} | question.answer
    if question.is_stopped:
        return body | {"state": "stopped"}
    if _runs(question):
        return body | {"state": "running", "again_s": again_s(0)} | (question.progress or {})
    waiting = _in_order()
    if waiting and not _running().exists():
        _send_again(waiting[0])
    before = waiting.index(question.pk) if question.pk in waiting else 0
    return body | {"state": "waiting", "before": before, "again_s": again_s(before)}


def again_s(before: int) -> float:
    return min(AGAIN_S + AGAIN_S_EACH * before, AGAIN_S_MAX)


# --- answering, called by the worker


def begin_next() -> Question | None:
    """The next question, begun with all equal ones; None without one. Several processes may call it."""
    for pk in _in_order():
        question = Question.objects.filter(pk=pk).first()
        if question is None or _answer_if_known(question):
            continue
        if question.beginnings >= BEGINNINGS_MAX:
            finish(question, gave_up())
            continue
        at = now()
        begun = {"begun_at": at, "looked_at": at, "progress": None, "beginnings": F("beginnings") + 1}
        if _waiting().filter(pk=question.pk).update(**begun):
            _waiting().filter(key=question.key).update(**begun)
            question.refresh_from_db()
            return question
    return None


def report(question: Question, progress: Progress) -> bool:
    """Stores a search's progress; False if no question waits for its answer any more."""
    body = {"states": progress.states, "depth": progress.depth, "seconds": round(progress.seconds, 2)}
    return bool(_sharing(question).update(progress=body, looked_at=now()))


def finish(question: Question, answer: Json) -> None:
    Question.objects.filter(Q(pk=question.pk) | Q(pk__in=_sharing(question))).update(answer=answer)


def _sharing(question: Question) -> QuerySet[Question]:
    return _open().filter(key=question.key, begun_at__isnull=False)


def _open() -> QuerySet[Question]:
    return Question.objects.filter(answer__isnull=True, is_stopped=False)


def _waiting() -> QuerySet[Question]:
    lost = Q(looked_at__lt=now() - timedelta(seconds=LOST_S))
    return _open().filter(Q(begun_at__isnull=True) | lost)


def _running() -> QuerySet[Question]:
    alive_since = now() - timedelta(seconds=LOST_S)
    return Question.objects.filter(answer__isnull=True, looked_at__gt=alive_since)


def _runs(question: Question) -> bool:
    return question.looked_at is not None and now() - question.looked_at < timedelta(seconds=LOST_S)


def _in_order() -> list[int]:
    """Waiting questions, first that of the person served longest ago, or never; visitors count as one person."""
    waiting = sorted(_waiting().values_list("asked_at", "pk", "owner"))
    share = Case(When(owner__startswith=VISITORS, then=Value(VISITORS)), default=F("owner"))
    begun = Question.objects.filter(begun_at__isnull=False).annotate(share=share).values_list("share")
    served_at = dict(begun.annotate(served_at=Max("begun_at")))
    never = datetime.min.replace(tzinfo=UTC)
    waiting.sort(key=lambda one: served_at.get(_share_of(one[2]), never))
    return [pk for _, pk, _ in waiting]


def _share_of(owner: str) -> str:
    return VISITORS if owner.startswith(VISITORS) else owner


def _known(key: str) -> Json | None:
    answered = Question.objects.filter(key=key, answer__isnull=False).exclude(IS_UNKNOWN)
    return answered.values_list("answer", flat=True).first()


def _answer_if_known(question: Question) -> bool:
    known = _known(question.key)
    if known is None:
        return False
    question.answer = known
    question.save(update_fields=["answer"])
    return True


def _send_again(pk: int) -> None:
    """Of several pages that look at once, one sends the task."""
    too_old = now() - timedelta(seconds=SEND_EVERY_S)
    if Question.objects.filter(pk=pk, sent_at__lt=too_old).update(sent_at=now()):
        _send()


def _send() -> None:
    ask = partial(celery_app().send_task, TASK, queue=QUEUE, retry=False, priority=AFTER_PROOFS)
    sent(ask, "question", "whoever looks for an answer will")


def _forget_oldest() -> None:
    """Only closed questions: a waiting page finds its answer."""
    newest = Question.objects.aggregate(newest=Max("pk"))["newest"] or 0
    closed = Q(answer__isnull=False) | Q(is_stopped=True)
    Question.objects.filter(closed, pk__lte=newest - KEPT_MAX).exclude(owner=PREPARED).delete()
