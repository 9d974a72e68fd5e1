"""The explorer's proof of a plan, requested by task name and kept in a table under a key that includes `rules`.

Requests do not wait: a page looks again. A proof that is not there within `ASK_AGAIN_S` is unknown, with a reason; a
command waits no longer than `ANSWER_S`. A plan whose search ends its process each time is unknown for good.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from catalog.hints import BEGINNINGS_MAX, celery_app, gave_up, sent
from catalog.text.message import from_json
from catalog.text.numbers import counted
from catalog.text.sentence import Sentence, sentence_of
from changes.driver.listener import Listener
from changes.models import Proof
from changes.plan.model import RUNS, Plan, plan_from_json
from changes.submission.rate_limits import pause_before_question_s

TASK, QUEUE, CHANNEL = "lab.tasks.prove_plan", "lab", "schemalab_proof"
ANSWER_S = 2.0
TAKEN_UP_S = 1.0
"""A worker that runs and has nothing else to do takes a question up at once."""
ASK_AGAIN_S = 60.0
"""A question without an answer, or whose answer is unknown, is asked again after this long."""
KEPT_MAX = 500
NOTHING = "nothing"
"""The verdict on a plan that there is nothing to prove of."""
NOTHING_MOVES = gettext_noop(
    "Only names and defaults change. No stored value, no index entry and no rule does: whatever order things happen"
    " in, all versions find the same pairs."
)
Json = dict[str, Any]

_rules: list[Callable[[], str]] = []
_renamers: list[Callable[[Plan, Json], Json]] = []


def judged_by(rules: Callable[[], str]) -> None:
    """Registers, while Django starts, a text that changes when answers might."""
    _rules[:] = [rules]


def renamed_by(renamer: Callable[[Plan, Json], Json]) -> None:
    """Registers, while Django starts, the renaming of a counterexample."""
    _renamers[:] = [renamer]


# --- asking


def ask(plan: Plan) -> Proof:
    """The proof of this plan, requested unless it was, or too many were lately. Moving nothing needs none."""
    key, at = key_of(plan), now()
    if moves_nothing(plan):
        return Proof(key=key, plan=plan.to_json(), asked_at=at, answer={"verdict": NOTHING, "why": _(NOTHING_MOVES)})
    pause_s = 0 if Proof.objects.filter(key=key).exists() else pause_before_question_s()
    if pause_s:
        why = _("too many plans were asked about within a minute; ask again in %(s)s s") % {"s": pause_s}
        return Proof(key=key, plan=plan.to_json(), asked_at=at, answer={"verdict": "unknown", "why": why})
    proof, is_new = Proof.objects.get_or_create(key=key, defaults={"plan": plan.to_json(), "asked_at": at})
    is_given_up = proof.answer is not None and proof.beginnings >= BEGINNINGS_MAX
    is_open = not is_given_up and (proof.answer is None or proof.answer["verdict"] == "unknown")
    if is_new:
        kept = Proof.objects.order_by("-asked_at").values("key")[:KEPT_MAX]
        Proof.objects.exclude(key__in=kept).delete()
    elif not (is_open and at - proof.asked_at > timedelta(seconds=ASK_AGAIN_S)):
        return proof
    again = {"answer": None, "begun_at": None, "answered_at": None, "asked_at": at}
    if is_new or Proof.objects.filter(key=key, asked_at=proof.asked_at).update(**again):
        transaction.on_commit(lambda: _send(key))
        proof.refresh_from_db()
    return proof


def moves_nothing(plan: Plan) -> bool:
    """True when the plan only gives names and defaults: no pair, entry or rule changes."""
    before = {column.id: column.type for column in plan.base.columns} if plan.base is not None else {}
    widens = any(before.get(column.id, column.type) != column.type for column in plan.result.columns)
    return not widens and not any(step.transitions or step.kind in RUNS for step in plan.forward)


def key_of(plan: Plan) -> str:
    """Hash of the plan and the rules, without rows, warnings and costs."""
    body = plan.to_json() | {"rows": None, "dangers": []}
    del body["costs"]
    text = json.dumps([body, *(rules() for rules in _rules)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _send(key: str) -> None:
    ask = partial(celery_app().send_task, TASK, (key,), queue=QUEUE, retry=False, expires=ASK_AGAIN_S)
    sent(ask, f"proof {key[:8]}", "whoever looks for it will")


# --- answering, called by whoever proves


def begin(key: str) -> Plan | None:
    """The plan to prove; None when it needs no proof any more. May be called twice."""
    proof = Proof.objects.filter(key=key, answer__isnull=True).first()
    if proof is None:
        return None
    if proof.beginnings >= BEGINNINGS_MAX:
        answer(key, gave_up(), beginnings=proof.beginnings)
        return None
    Proof.objects.filter(key=key).update(begun_at=now(), beginnings=F("beginnings") + 1)
    return plan_from_json(proof.plan)


def known_answer(model: str) -> Json | None:
    kept = Proof.objects.filter(model=model, answer__isnull=False).order_by("answered_at")
    answers = kept.values_list("answer", flat=True)
    return next((found for found in answers if found["verdict"] != "unknown"), None)


def answer(key: str, found: Json, *, model: str = "", beginnings: int = 0) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        Proof.objects.filter(key=key).update(answer=found, model=model, beginnings=beginnings, answered_at=now())
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, key])


# --- showing


def shown(proof: Proof) -> Json:
    """The proof as known now; "proving" means that a verdict will come."""
    body: Json = {"key": proof.key, "is_over": True}
    if proof.answer is not None:
        seen: Json = proof.answer.get("sometimes", {})
        found = {"happened": [Sentence(what) for what, did in seen.items() if did]}
        found |= {"never": [Sentence(what) for what, did in seen.items() if not did]}
        if isinstance(why := proof.answer.get("why"), list):  # else it is in the language of the reader who asked
            found["why"] = sentence_of(from_json(why))
        return body | proof.answer | found | _in_its_names(proof)
    age_s = (now() - proof.asked_at).total_seconds()
    if age_s > ASK_AGAIN_S:
        return body | _unknown(proof, ASK_AGAIN_S)
    return body | {"is_over": False, "verdict": "proving", "why": ""}


def _unknown(proof: Proof, waited_s: float) -> Json:
    if proof.begun_at is None and not _is_busy():
        return {"verdict": "unknown", "why": _("no worker has taken it up: is the process lab running?")}
    late = _("there is no answer after %(s)g s; the search goes on for a while") % {"s": waited_s}
    return {"verdict": "unknown", "why": late}


def _in_its_names(proof: Proof) -> Json:
    """A counterexample in the names of the plan; stored answers have the model's."""
    if proof.answer is None or proof.answer["verdict"] != "violated":
        return {}
    plan = plan_from_json(proof.plan)
    return {name: value for rename in _renamers for name, value in rename(plan, proof.answer).items()}


def in_words(seen: Json) -> list[str]:
    if seen["verdict"] == NOTHING:
        return [f"nothing to prove: {seen['why']}"]
    if seen["verdict"] == "unknown":
        return [f"unknown whether it is safe: {seen['why']}"]
    model = seen["model"]
    sizes = ", ".join(counted(model[f"{noun}s"], noun) for noun in ("node", "row", "value"))
    most = model["operations"]
    sizes += ", any number of operations" if most < 0 else f", {counted(most, 'operation')}"
    found = f"({counted(seen['states'], 'state')}, {seen['seconds']} s)"
    if seen["verdict"] == "proved":
        never = [f"which says nothing of this, for it never happened: {what}" for what in seen["never"]]
        return [f"proved safe for {sizes} {found}", *never]
    story = [f"{number:3}  {step['sentence']}" for number, step in enumerate(seen["counterexample"], 1)]
    broken = [f"{fault['clause']} under v{fault['version']}: {fault['why']}" for fault in seen["broken"]]
    return [f"not safe, with {sizes} {found}; so it breaks:", *story, *broken]


def _is_busy() -> bool:
    since = now() - timedelta(seconds=ASK_AGAIN_S)
    return Proof.objects.filter(answer__isnull=True, begun_at__gt=since).exists()


def wait(plan: Plan) -> Json:
    """Asks, and waits for a verdict: at most two seconds, less when no worker takes it up."""
    with closing(Listener(CHANNEL)) as listener:
        proof = ask(plan)
        while (seen := shown(proof))["verdict"] == "proving":
            age_s = (now() - proof.asked_at).total_seconds()
            is_taken_up = age_s < TAKEN_UP_S or proof.begun_at is not None or _is_busy()
            if age_s > ANSWER_S or not is_taken_up:
                return seen | _unknown(proof, ANSWER_S)
            limit_s = TAKEN_UP_S if age_s < TAKEN_UP_S else ANSWER_S
            listener.wait({(CHANNEL, proof.key)}, limit_s - age_s + 0.01)
            proof.refresh_from_db()
    return seen
