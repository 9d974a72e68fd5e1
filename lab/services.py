"""The queue of questions to the explorer: asked by many, answered one after the other by the lab's worker.

    page ──ask──► Question ──task──► worker: begin_next, report .. report, finish ──► Question ──► page

The next question is that of whoever was served longest ago, so thirty learners wait for each other and not for one of
them. A person has one open question: a new one stops the one before. An answer is kept under what was asked and the
rules it was found with; who asks the same again has it at once, unless it was unknown.
"""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import timedelta
from typing import Any

from celery import current_app
from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.utils.timezone import now
from kombu.exceptions import OperationalError as BrokerDown
from redis.exceptions import RedisError

from lab.explorer.spaces.search import Progress
from lab.models import Question
from lab.questions import search
from lab.sessions.session import rules

log = logging.getLogger(__name__)

TASK, QUEUE = "lab.tasks.answer_next_question", "lab"
KEPT_MAX = 2_000
LOST_S = 30.0
"""A search that has given no sign of life for so long has ended with its process; the question waits again."""

NO_WORKER_S = 5.0
"""A question that waits for so long while no search runs is sent again: its message was lost, or there is no worker."""

Json = dict[str, Any]


def ask(owner: str, question: search.Question) -> Question:
    """The question of this person, answered at once when it is known."""
    body = search.to_json(question)
    key = hashlib.sha256(json.dumps([body, rules()], sort_keys=True).encode()).hexdigest()
    with transaction.atomic():
        Question.objects.filter(owner=owner, answer__isnull=True).update(is_stopped=True)
        known = Question.objects.filter(key=key, answer__isnull=False).exclude(answer__verdict="unknown").first()
        answer = None if known is None else known.answer
        made = Question.objects.create(owner=owner, key=key, asked=body, asked_at=now(), answer=answer)
        _forget_oldest()
        if answer is None:
            transaction.on_commit(_send)
    return made


def stop(owner: str, pk: int) -> None:
    """Stop a search, or take the question out of the queue. What is answered stays."""
    Question.objects.filter(pk=pk, owner=owner, answer__isnull=True).update(is_stopped=True)


def shown(question: Question) -> Json:
    """The question as its page draws it: waiting, running or done."""
    body: Json = {"id": question.pk, "asked": question.asked}
    if question.answer is not None:
        return body | {"state": "done"} | question.answer
    if question.is_stopped and not _runs(question):
        return body | {"state": "stopped"}
    if _runs(question):
        return body | {"state": "running"} | (question.progress or {})
    waiting = [row["pk"] for row in _in_order()]
    if now() - question.asked_at > timedelta(seconds=NO_WORKER_S) and not _running().exists():
        _send()
    return body | {"state": "waiting", "before": waiting.index(question.pk) if question.pk in waiting else 0}


# --- answering, called by the worker


def begin_next() -> Question | None:
    """The question that is to be answered next, marked as begun; None when none waits. May be called by several."""
    for row in _in_order():
        at = now()
        mine = _waiting().filter(pk=row["pk"])
        if mine.update(begun_at=at, looked_at=at, progress=None):
            return Question.objects.get(pk=row["pk"])
    return None


def report(question: Question, progress: Progress) -> bool:
    """Store how far a search is; False when it shall stop."""
    body = {"states": progress.states, "depth": progress.depth, "seconds": round(progress.seconds, 2)}
    goes_on = Question.objects.filter(pk=question.pk, is_stopped=False)
    return bool(goes_on.update(progress=body, looked_at=now()))


def finish(question: Question, answer: Json) -> None:
    Question.objects.filter(pk=question.pk).update(answer=answer)


def _waiting() -> QuerySet[Question]:
    lost = Q(looked_at__lt=now() - timedelta(seconds=LOST_S))
    return Question.objects.filter(Q(begun_at__isnull=True) | lost, answer__isnull=True, is_stopped=False)


def _running() -> QuerySet[Question]:
    alive_since = now() - timedelta(seconds=LOST_S)
    return Question.objects.filter(answer__isnull=True, looked_at__gt=alive_since)


def _runs(question: Question) -> bool:
    return question.looked_at is not None and now() - question.looked_at < timedelta(seconds=LOST_S)


def _in_order() -> list[Json]:
    """Those that wait, first that of whoever was served longest ago, or never."""
    owners = Question.objects.values("owner").annotate(served_at=Max("begun_at"))
    served_at = {row["owner"]: row["served_at"] for row in owners}
    rows = list(_waiting().order_by("asked_at", "pk").values("pk", "owner"))
    return sorted(rows, key=lambda row: (served_at[row["owner"]] is not None, served_at[row["owner"]] or 0))


def _send() -> None:
    try:
        current_app.send_task(TASK, queue=QUEUE, retry=False)
    except (BrokerDown, RedisError, OSError) as error:
        log.warning("no question asked of the explorer: %s", error)


def _forget_oldest() -> None:
    newest = Question.objects.aggregate(newest=Max("pk"))["newest"] or 0
    Question.objects.filter(pk__lte=newest - KEPT_MAX).delete()
