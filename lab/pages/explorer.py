"""The explorer's page: every built-in model, every rule, a model of one's own, checked before it is opened; each opens
on the stage, an unsafe one at the end of its shortest witness, a proved one at its start."""

from dataclasses import dataclass, field

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_http_methods

from catalog.elements import Kind, State
from changes.ddl.errors import DdlError
from lab.explorer.model import BadModel, Model, kinds_described, stage_named
from lab.explorer.plans.program import plan_of
from lab.explorer.variant import UP, Variant
from lab.explorer.variants import all_variants
from lab.pages.ladder_form import free_builder
from lab.pages.words import named_clause, say
from lab.questions.witnesses import unsafe_without, variant_named, witness_of
from lab.sessions.model.setups import FENCE, PROTECTS, TWO_VERSIONS, model_parameter
from lab.sessions.replay import show
from lab.sessions.session import BadSession, Session, encode
from lab.sessions.severity import CLAUSES
from lab.sessions.titles import KINDS as KIND_TEXTS
from lab.sessions.titles import title_of_model

SECTIONS = {
    "4": _("Section 4: sequences"),
    "4, storages": _("Section 4: more storages and fewer"),
    "4, hashes": _("Section 4: without leases, and with both protections"),
    "4, pairs": _("Section 4: two states side by side"),
    "4, plans": _("Section 4: plans of several elements"),
    "4, rules": _("Section 4: rules for plans left out"),
    "9": _("Section 9: rules left out"),
}

KINDS = ("index", "unique-index", "optional-column", "required-column", "constraint", "table", "placement")
NODES = (2, 3)
KIND_CHARACTERS_MAX, STATES_CHARACTERS_MAX = 60, 300
INDEX_STATES = UP[Kind.INDEX]


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    protects: str
    missed_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    variant: Variant
    title: str
    breaks: str


@dataclass
class Form:
    kind: str = "index"
    states: str = INDEX_STATES
    nodes: int = 2
    left_out: frozenset[str] = field(default_factory=frozenset)
    problem: str = ""
    is_dropped: bool = False

    @property
    def ground(self) -> str:
        """The first state of a change of this element: of a placement that of the old and of the new one."""
        if self.kind == "placement":
            return "public+absent"
        return State.PUBLIC.value if self.is_dropped else State.ABSENT.value


@require_http_methods(["GET", "POST"])
def explorer(request: HttpRequest) -> HttpResponse:
    form = _form(request.POST or request.GET)
    if request.method == "POST":
        try:
            return opened(_described(form), 0, asks=True)
        except (BadModel, BadSession, DdlError) as problem:
            form.problem = str(problem)
    unsafe, safe = _by_section()
    rules = {rule: str(say(protects)) for rule, protects in PROTECTS.items()}
    missed = unsafe_without() | {FENCE: ("no-fence-add", "no-fence-drop"), TWO_VERSIONS: ()}
    context = {
        "section": "lab",
        "form": form,
        "kinds": {kind: say(KIND_TEXTS[kind.replace("-", " ")]) for kind in KINDS},
        "nodes": NODES,
        "ladder": free_builder(form.kind if form.kind in KINDS else KINDS[0], form.ground, form.nodes),
        "rules": [Rule(rule, protects, missed.get(rule, ())) for rule, protects in rules.items()],
        "unsafe": unsafe,
        "safe": safe,
        "counts": {"unsafe": sum(map(len, unsafe.values())), "safe": sum(map(len, safe.values()))},
    }
    return render(request, "lab/explorer.html", context, status=400 if form.problem else 200)


@require_GET
def model(request: HttpRequest, name: str) -> HttpResponse:
    """A built-in model on the stage: an unsafe one at the end of its witness, or that as a golden script."""
    try:
        if not variant_named(name).breaks:
            return opened(Session("variant", {"name": name}), 0, asks=True)
        session = witness_of(name).session
    except BadSession as problem:
        raise Http404(str(problem)) from problem
    if request.GET.get("as") == "script":
        return HttpResponseRedirect(f"{reverse('stage-export', args=('script',))}?s={encode(session)}")
    return opened(session, len(session.steps))


@require_GET
def without(request: HttpRequest, rule: str) -> HttpResponse:
    session = Session("full-ladder", {}, frozenset({rule}))
    try:
        return opened(session, 0, asks=True)
    except BadSession as problem:
        raise Http404(str(problem)) from problem


def opened(session: Session, at: int, *, asks: bool = False) -> HttpResponseRedirect:
    """The stage with a session; `asks`: it asks the explorer at once. Raises `BadSession`."""
    show(session, at)
    return HttpResponseRedirect(f"{reverse('stage')}?s={encode(session, at)}{'&ask=1' if asks else ''}")


def _form(sent: QueryDict) -> Form:
    nodes = sent.get("nodes", "2")
    usual = "" if "states" in sent else INDEX_STATES
    return Form(
        kind=sent.get("kind", KINDS[0]).replace(" ", "-")[:KIND_CHARACTERS_MAX],
        states=(sent.get("states", "") or usual)[:STATES_CHARACTERS_MAX],
        nodes=int(nodes) if nodes in map(str, NODES) else NODES[0],
        left_out=frozenset(sent.getlist("left_out")[: len(PROTECTS)]),
        is_dropped=sent.get("change") == "drop",
    )


def _described(form: Form) -> Session:
    stages = tuple(stage_named(text.strip()) for text in form.states.split(",") if text.strip())
    described = Model(stages=stages, nodes=form.nodes, **kinds_described(form.kind))
    plan_of(described)
    return Session("model", {"model": model_parameter(described)}, form.left_out)


def _by_section() -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    unsafe: dict[str, list[Row]] = {}
    safe: dict[str, list[Row]] = {}
    for variant in all_variants().values():
        of_section = (unsafe if variant.breaks else safe).setdefault(str(SECTIONS[variant.section]), [])
        breaks = " ".join(str(named_clause(clause)) for clause in _clauses(variant.breaks))
        of_section.append(Row(variant, say(title_of_model(variant.model)), breaks))
    return unsafe, safe


def _clauses(breaks: str) -> list[str]:
    return [clause for clause in CLAUSES if clause in breaks]
