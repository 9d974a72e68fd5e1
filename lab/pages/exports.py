"""A session as a file: a picture for slides, JSON for programs, a golden script for tests."""

import json
from collections.abc import Callable, Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from catalog.text.message import names_listed
from lab.diagrams.handout import picture_of_session
from lab.pages.answers import linked_answer
from lab.pages.words import say
from lab.sessions.model import script as model_script
from lab.sessions.replay import show_in_lines
from lab.sessions.session import BadLink, BadSession, LinkContents, decode
from lab.sessions.setup import MODEL, WORLD
from lab.sessions.setups import setup_named
from lab.sessions.titles import title_of
from lab.sessions.world import script as world_script


def _svg(linked: LinkContents) -> str:
    return picture_of_session(show_in_lines(linked.session, linked.at), _title(linked), say)


def _json(linked: LinkContents) -> str:
    answer = linked_answer(linked)
    shown = answer["shown"]
    body = {part: answer[part] for part in ("session", "link", "rules")}
    body |= {"at": shown["at"], "trace": shown["trace"], "verdicts": shown["verdicts"], "cluster": shown["cluster"]}
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


SCRIPTS = {MODEL: model_script.script_of, WORLD: world_script.script_of}


def _script(linked: LinkContents) -> str:
    kind = setup_named(linked.session.setup).kind
    if kind not in SCRIPTS:
        raise BadSession("a golden script is about a cluster, and this session has none")
    return SCRIPTS[kind](linked.session, _title(linked))


FORMS: Mapping[str, tuple[str, Callable[[LinkContents], str]]] = {
    "svg": ("image/svg+xml", _svg),
    "json": ("application/json", _json),
    "script": ("text/plain", _script),
}


@require_GET
def export(request: HttpRequest, form: str) -> HttpResponse:
    if form not in FORMS:
        raise Http404(f"a session is exported as {', '.join(FORMS)}")
    content_type, write = FORMS[form]
    try:
        linked = decode(request.GET.get("s", ""))
        text = write(linked)
    except (BadLink, BadSession) as problem:
        return HttpResponse(f"{problem}\n", status=400, content_type="text/plain; charset=utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{linked.session.setup}.{form}"'}
    return HttpResponse(text, content_type=f"{content_type}; charset=utf-8", headers=headers)


def _title(linked: LinkContents) -> str:
    name = say(title_of(linked.session))
    if not linked.session.left_out:
        return name
    return _("{name}, left out: {rules}").format(name=name, rules=say(names_listed(sorted(linked.session.left_out))))
