"""The page *Design a rollout*: a file is edited, explored in the lab's queue, and answered with gates and traces."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from catalog.text.message import from_json
from lab import services
from lab.classroom.selectors import learner_of
from lab.ladders.played import Played
from lab.models import Question
from lab.pages.ladder_form import answer_of
from lab.pages.words import say, speaker
from rollouts.file import SCHEMA_LAB
from rollouts.pages.answers import PLAYED, played_in, worded
from rollouts.pages.links import TEXT_MAX, BadLink, linked, on_another_database, text_in
from rollouts.pages.tiles import tiles_of
from rollouts.templates import BY_NAME, NAIVE, PGROLL, SAFE, TEMPLATES, Template

FIRST = "split"


@require_GET
def rollout(request: HttpRequest) -> HttpResponse:
    name, form = request.GET.get("template", ""), request.GET.get("form", NAIVE)
    chosen = BY_NAME.get(name, BY_NAME[FIRST])
    text = chosen.safe if form == SAFE else chosen.naive
    problem, status = "", 200
    if "file" in request.GET:
        try:
            text, name = text_in(request.GET["file"]), "file"
        except BadLink:
            problem, status = _("This link carries no rollout: it is damaged or cut off."), 400
    return render(request, "rollouts/rollout.html", _page(text, name or FIRST, form, problem), status=status)


@require_POST
def ask(request: HttpRequest) -> HttpResponse:
    """The question and its answer in place, or on a page of its own without JavaScript."""
    text = request.POST.get("text", "").replace("\r\n", "\n")
    problem = _problem(text)
    if problem:
        context = _page(text[:TEXT_MAX], "file", "", problem)
        template = "rollouts/parts/problem.html" if _is_part(request) else "rollouts/rollout.html"
        return render(request, template, context, status=422)
    made = services.ask_kind(learner_of(request, named=True).owner, "rollout", text)
    if _is_part(request):
        return render(request, "rollouts/parts/answer.html", _answer(made))
    return redirect("rollout-answer", made.pk)


@require_POST
def tiles(request: HttpRequest) -> JsonResponse:
    text = request.POST.get("text", "").replace("\r\n", "\n")
    return JsonResponse(tiles_of(text) if len(text) <= TEXT_MAX else tiles_of("="))


@require_GET
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    question = get_object_or_404(Question, pk=pk, owner=learner_of(request).owner, asked__has_key="rollout")
    if _is_part(request):
        return render(request, "rollouts/parts/answer.html", _answer(question))
    page = _page(question.asked["rollout"], "file", "", "")
    return render(request, "rollouts/rollout.html", page | _answer(question))


def _is_part(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def _problem(text: str) -> str:
    if not text.strip():
        return _("There is no rollout: choose a template, or write one.")
    too_long = _("A rollout has at most {n} characters, this one has {has}.")
    return too_long.format(n=TEXT_MAX, has=len(text)) if len(text) > TEXT_MAX else ""


def _page(text: str, name: str, form: str, problem: str) -> dict[str, Any]:
    say = speaker()

    def template_json(one: Template) -> dict[str, Any]:
        chosen = form if one.name == name else ""
        return {
            "name": one.name,
            "title": say(one.title),
            "mistake": say(one.mistake),
            "rule": say(one.rule),
            "chosen": chosen,
        }

    templates = [template_json(one) for one in TEMPLATES]
    return {
        "section": "lab",
        "text": text,
        "problem": problem,
        "templates": templates,
        "pgroll": PGROLL.get(name, ""),
        "tiles": tiles_of(text),
    }


def _run(shown: dict[str, Any], played: Played) -> dict[str, Any]:
    gates = [one["color"] for one in shown["gates"]]
    return answer_of(played) | {"gates": gates, "title": shown["title"]}


def _answer(question: Question) -> dict[str, Any]:
    found = services.shown(question)
    played = played_in(found)
    shown = worded({name: one for name, one in found.items() if name != PLAYED}, speaker())
    shown["why"] = say(from_json(shown["why"])) if "why" in shown else ""
    text = question.asked["rollout"]
    link, other = linked(text), linked(on_another_database(text))
    is_on_lab = f'"{SCHEMA_LAB}"' not in on_another_database(text).partition("\n")[0]
    traces, repair = shown.get("traces", ()), shown.get("repair")
    shown["counted"] = [one for one in traces if one["counts"]]
    shown["others"] = [one for one in traces if not one["counts"]]
    repaired = linked(repair["text"]) if repair else ""
    return {
        "question": shown,
        "run": None if played is None else _run(shown, played),
        "link": f"{reverse('rollout')}?file={link}" if link else "",
        "other_link": f"{reverse('rollout')}?file={other}" if other else "",
        "is_on_lab": is_on_lab,
        "repair_link": f"{reverse('rollout')}?file={repaired}" if repaired else "",
    }
