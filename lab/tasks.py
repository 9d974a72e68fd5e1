"""Proofs of plans, and answers to questions: one at a time, in a process of their own, so that no change waits for one.
A proof is "unknown" after two seconds (`changes.proofs`); the search goes on for a while, and its page shows the answer
later. The tasks' own limits are for shortening a counterexample."""

import logging
import os
import time
from functools import partial
from typing import Any

from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded
from celery.signals import worker_process_init, worker_ready
from django.db import connection

from catalog.descriptor import Descriptor
from catalog.hints import sent
from catalog.states import UndefinedState
from catalog.text.message import Text, to_json
from changes import proofs
from changes.ddl.statements import parse
from changes.plan.model import Plan
from changes.planning.planner import make_plan
from lab import services
from lab.explorer.model import BadModel
from lab.explorer.planned import digest, parts_of, prove_parts
from lab.explorer.spaces.search import Budget, Progress
from lab.explorer.verdict import Verdict
from lab.ladders import built_in
from lab.live import carry_out, holding, replays, sandbox
from lab.questions import answering

log = logging.getLogger(__name__)

NODES = 3
BUDGET = Budget(states=500_000, seconds=8.0)
USUAL = (
    "CREATE TABLE usual (id bigint PRIMARY KEY, a bigint)",
    "CREATE INDEX by_a ON usual (a)",
    "DROP INDEX by_a",
    "DROP TABLE usual",
)
SECONDS_MAX, SECONDS_MAX_HARD = 20, 25
NICENESS = 5
QUESTION_BUDGET, QUESTION_S_MAX = answering.BUDGET, 60
LOOK_EVERY_S = 0.3
ORDERS_S_EACH, ORDERS_S_MAX = 2.0, 60
"""A task of orders takes so long and hands on: a question that comes while it runs waits no longer than that."""

ORDERS_AFTER_S, ORDERS_REST_S, ORDERS_EXPIRE_S = 60, 1, 3600
ORDERS_SENT: dict[str, Any] = {"queue": services.QUEUE, "priority": services.AFTER_PROOFS, "retry": False}
FAILED = {"verdict": "unknown", "why": to_json(Text("the search failed: the log of the process lab says why"))}

BEAT = {
    "drop-old-sandboxes": {"task": "lab.tasks.drop_old_sandboxes", "schedule": 10.0, "options": {"expires": 10}},
    "end-lost-replays": {"task": "lab.tasks.end_lost_replays", "schedule": 10.0, "options": {"expires": 10}},
    "note-who-holds": {"task": "lab.tasks.note_who_holds", "schedule": 5.0, "options": {"expires": 5}},
}


@shared_task
def drop_old_sandboxes() -> None:
    sandbox.drop_one_that_is_over()


@shared_task
def end_lost_replays() -> None:
    replays.end_lost()


@shared_task
def note_who_holds() -> None:
    holding.note_who_holds()


@shared_task
def replay(pk: int) -> None:
    carry_out.carry_out(pk)


@shared_task(soft_time_limit=SECONDS_MAX, time_limit=SECONDS_MAX_HARD)
def prove_plan(key: str) -> None:
    plan = proofs.begin(key)
    if plan is None:
        return
    try:
        parts = parts_of(plan, nodes=NODES)
        known = digest(parts.explored)
        found = proofs.known_answer(known)
        if found is None:
            answer = prove_parts(parts.explored, budget=BUDGET)
            found = answer.to_json() | {"why": to_json(answer.why)}
        if found["verdict"] == Verdict.PROVED.value and parts.left_out:
            found |= {"verdict": Verdict.UNKNOWN.value, "why": to_json(parts.why_unknown)}
    except (BadModel, UndefinedState) as error:
        why = error.why if isinstance(error, BadModel) else Text("{why}", {"why": str(error)})
        proofs.answer(key, _unknown(Text("it cannot be explored: {why}", {"why": why})))
    except SoftTimeLimitExceeded:
        proofs.answer(key, _unknown(Text("it gave up after {n} s", {"n": SECONDS_MAX})))
    except Exception:
        log.exception("plan %s has no proof", key[:8])
        proofs.answer(key, FAILED)
    else:
        proofs.answer(key, found, model=known)


@shared_task(soft_time_limit=QUESTION_S_MAX, time_limit=QUESTION_S_MAX + 5)
def answer_next_question() -> None:
    """Each question sends one of these."""
    question = services.begin_next()
    if question is None:
        return
    looked_at = time.monotonic()

    def watch(progress: Progress) -> bool:
        nonlocal looked_at
        if time.monotonic() - looked_at < LOOK_EVERY_S:
            return True
        looked_at = time.monotonic()
        return services.report(question, progress)

    try:
        answer = answering.answer_of(question.asked, budget=QUESTION_BUDGET, watch=watch)
    except SoftTimeLimitExceeded:
        answer = _unknown(Text("it gave up after {n} s", {"n": QUESTION_S_MAX}))
    except Exception:
        log.exception("question %s has no answer", question.pk)
        answer = FAILED
    services.finish(question, answer)


def _unknown(why: Text) -> dict[str, Any]:
    return {"verdict": "unknown", "why": to_json(why)}


def usual_plans() -> list[Plan]:
    """A plan of every sort, each on the tables that the earlier ones leave."""
    plans: list[Plan] = []
    table: Descriptor | None = None
    for statement in USUAL:
        plans.append(make_plan(parse(statement).action, table, table_id=0))
        table = plans[-1].result
    return plans


@shared_task(soft_time_limit=ORDERS_S_MAX, time_limit=ORDERS_S_MAX + 5)
def prepare_orders() -> None:
    """A few at a time, so that other tasks run between."""
    began = time.monotonic()
    for order in services.unprepared(built_in.ORDERS):
        if time.monotonic() - began > ORDERS_S_EACH:
            prepare_orders.apply_async(countdown=ORDERS_REST_S, expires=ORDERS_EXPIRE_S, **ORDERS_SENT)
            return
        services.prepare(order, budget=QUESTION_BUDGET)


@worker_ready.connect
def prepare_orders_soon(sender: object, **_: object) -> None:
    """After each start; existing answers stay."""
    if "lab@" in str(getattr(sender, "hostname", "")):
        sent(
            partial(prepare_orders.apply_async, countdown=ORDERS_AFTER_S, expires=ORDERS_EXPIRE_S, **ORDERS_SENT),
            "orders of tiles",
            "they are worked out when somebody asks",
        )


@worker_ready.connect
def prove_usual_plans(sender: object, **_: object) -> None:
    """Most proofs are then stored when a user asks."""
    if "lab@" in str(getattr(sender, "hostname", "")):
        for plan in usual_plans():
            proofs.ask(plan)
        connection.close()


@worker_process_init.connect
def give_way(**_: object) -> None:
    os.nice(NICENESS)
