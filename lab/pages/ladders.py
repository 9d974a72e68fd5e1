"""An order of tiles out of a request, and its answer in the reader's words. A stored answer comes at once; else the
order waits in the queue of questions, and the page looks again."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from catalog.text.message import NOTHING, Text, from_json
from lab import services
from lab.classroom.selectors import learner_of
from lab.explorer.verdict import Verdict
from lab.ladders.elements import OF_KIND, anomaly_text
from lab.ladders.frames import Frame
from lab.ladders.order import BadOrder, Order, order_from_json
from lab.ladders.played import stores_of
from lab.ladders.verdict import NOTHING_BREAKS, Answered, Run
from lab.models import Question
from lab.pages.ladder_words import titles_of
from lab.pages.requests import BadRequest, body_of, parts_of
from lab.pages.words import say, speaker
from lab.sessions.as_json import restored
from lab.sessions.model.setups import NAMES
from lab.sessions.names import MODEL_NAMES, Names, names_in
from lab.sessions.session import BadSession, Session, link_of


@require_POST
def ladder(request: HttpRequest) -> JsonResponse:
    try:
        parts = parts_of(body_of(request))
        order, predicted = order_from_json(parts), _predicted(parts.get("predicted"))
        names = names_in(str(parts.get("names", "")))
    except BadOrder as problem:
        return JsonResponse({"error": say(problem.why)}, status=400)
    except (BadRequest, BadSession) as problem:
        return JsonResponse({"error": str(problem)}, status=400)
    kept = services.kept_order(order)
    if kept is not None:
        return JsonResponse({"state": "done", "kept": True} | described(order, kept, predicted, names))
    made = services.ask_order(learner_of(request, named=True).owner, order)
    return JsonResponse(_looked(made, predicted, names))


@require_GET
def ladder_question(request: HttpRequest, pk: int) -> JsonResponse:
    """One's own order as far as its search is; that of a design is shown by its task only."""
    orders = Question.objects.filter(asked__has_key="order").exclude(asked__has_key=services.DESIGN)
    question = get_object_or_404(orders, pk=pk, owner=learner_of(request).owner)
    try:
        names = names_in(request.GET.get("names", ""))
    except BadSession as problem:
        return JsonResponse({"error": str(problem)}, status=400)
    return JsonResponse(_looked(question, _predicted(request.GET.get("predicted")), names))


def _predicted(value: object) -> str:
    known = {NOTHING_BREAKS, *(anomaly for some in OF_KIND.values() for anomaly in some)}
    return value if isinstance(value, str) and value in known else ""


def _looked(question: Question, predicted: str, names: Names) -> dict[str, Any]:
    shown = services.shown(question)
    if shown["state"] != "done":
        return shown
    order = order_from_json(question.asked["order"])
    if "runs" not in shown:
        failed = Answered(Verdict.UNKNOWN, states=0, bounds=NOTHING, marks=(), why=from_json(shown["why"]))
        return {"state": "done", "kept": False} | described(order, failed, predicted, names)
    return {"state": "done", "kept": False} | described(order, restored(Answered, shown), predicted, names)


def described(order: Order, found: Answered, predicted: str, names: Names = MODEL_NAMES) -> dict[str, Any]:
    """The answer as a page shows it, in these names. `played` is the predicted damage, if the order can do it."""
    run, kind = found.played(predicted), order.model.kind
    others = [one for one in found.anomalies if run is None or one != run.anomaly]
    return {
        "verdict": found.verdict.value,
        "states": found.states,
        "arrives": found.arrives,
        "bounds": say(found.bounds),
        "title": _title(order, found, run),
        "lines": _lines(found, run, names),
        "marks": [{"at": mark.at, "pair": mark.pair, "ok": mark.ok} for mark in found.marks],
        "played": None if run is None else _played(order, run, names),
        "others": [{"anomaly": one, "name": say(anomaly_text(one, kind))} for one in others],
        "tried": found.tried,
        "happened": [say(names.text(one)) for one in found.happened],
    }


def _title(order: Order, found: Answered, run: Run | None) -> str:
    if found.verdict is Verdict.UNKNOWN or run is None:
        return _("No verdict: {why}").format(why=say(found.why))
    if found.verdict is Verdict.VIOLATED:
        name = say(anomaly_text(run.anomaly, order.model.kind))
        return _("Broken at step {n}: {what}").format(n=len(run.frames) - 1, what=name)
    if found.arrives:
        return _("Safe: nothing broke in any interleaving.")
    if found.is_finished:
        return _("Nothing breaks, but the change never arrives.")
    return _("Nothing breaks, but the change is not finished.")


def _lines(found: Answered, run: Run | None, names: Names) -> list[str]:
    if found.verdict is Verdict.VIOLATED and run is not None:
        return [say(names.text(run.why))]
    if found.verdict is not Verdict.PROVED:
        return []
    if found.arrives:
        return [_("{n} states were tried, and none was broken.").format(n=f"{found.states:,}")]
    if found.is_finished:
        return [_("Verification stops it on every table that already has a row.")]
    return [_("The element has not reached its last state, so no query can use it.")]


def _played(order: Order, run: Run, names: Names) -> dict[str, Any]:
    query = run.query if names == MODEL_NAMES else None  # its text is the model's own
    session = session_of(order, run, names)
    return {
        "anomaly": run.anomaly,
        "clause": run.clause,
        "version": run.version,
        "shortest": run.shortest,
        "query": None
        if query is None
        else {"version": query.version, "text": query.text, "by_table": query.by_table, "by_index": query.by_index},
        "session": {"setup": session.setup, "parameters": session.parameters, "steps": session.steps},
        "link": link_of(session),
        "stores": titles_of(stores_of(order.model)),
        "frames": frames_worded(names.texts_in(run.frames)),
    }


def session_of(order: Order, run: Run, names: Names = MODEL_NAMES) -> Session:
    parameters = {"element": order.element, "ground": order.ground, "tiles": ",".join(order.tiles)}
    parameters |= {} if names == MODEL_NAMES else {NAMES: names.to_json()}
    return Session("ladder", parameters, frozenset(), run.steps)


def frames_worded(frames: Sequence[Frame]) -> list[dict[str, Any]]:
    worded = speaker()

    def whole(text: Text) -> str:
        return worded(text).replace(" = ", "\u00a0=\u00a0")  # a formula does not break

    return [
        {
            "sentence": worded(frame.sentence),
            "actor": frame.actor,
            "tile": frame.tile,
            "newest": frame.newest,
            "uses": frame.uses,
            "left": [[one.key, whole(one.text), one.owner] for one in frame.left],
            "right": [[one.key, whole(one.text), one.owner] for one in frame.right],
            "marks": frame.marks,
        }
        for frame in frames
    ]
