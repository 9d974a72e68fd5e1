"""Each trace of a template, done by real sessions of a PostgreSQL: it must end in the same fault."""

from itertools import pairwise

import pytest

from rollouts.file import rollout_of
from rollouts.findings import answer_of
from rollouts.lessons import plans
from rollouts.templates import text_of
from rollouts.worlds.model import Model
from rollouts.worlds.search import Finding
from tests.rollouts.answers import FORMS
from tests.rollouts.server import Server

TEMPLATE_KINDS = {"fails", "refused", "lost", "invented"}


def replay(url: str, model: Model, finding: Finding, schema: str) -> None:
    """Take every step of the trace on the server. Raises `Differs`."""
    holds = any(step.kind == "begins" for step in finding.steps)
    with Server(url, model, schema, holds=holds) as server:
        for step, (before, after) in zip(finding.steps, pairwise((*finding.worlds, None)), strict=True):
            if step.kind == "back":
                continue
            server.take(step, after or finding.found)
            if after is not None:
                assert before is not after
                server.compare_rows(after)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_trace_of_a_template_ends_the_same_way(url: str, name: str, form: str) -> None:
    answer = answer_of(rollout_of(text_of(name, form)), rows=2)
    for number, finding in enumerate(answer.outcome.findings):
        replay(url, answer.model, finding, f"replay_{name}_{form}_{number}")


@pytest.mark.parametrize(
    ("lesson", "deploys"),
    [
        ("rename-at-once", ()),
        ("rename-beside", ("add", "copy", "start", "gone", "read")),
        ("rename-beside", ("add", "start", "copy", "gone", "read")),
        ("rename", ("add", "both", "copy", "require", "read")),
        ("rename", ("add", "both", "copy", "read", "new")),
        ("split", ("add", "both", "copy-null", "read")),
    ],
)
def test_every_trace_of_chapter_14_ends_the_same_way(url: str, lesson: str, deploys: tuple[str, ...]) -> None:
    answer = plans.explored(lesson, deploys)
    assert answer.outcome.findings
    for number, finding in enumerate(answer.outcome.findings):
        replay(url, answer.model, finding, f"chapter_14_{lesson}_{'_'.join(deploys)}_{number}"[:60])


def test_every_kind_is_replayed() -> None:
    met = {
        one.kind
        for name, form in FORMS
        for one in answer_of(rollout_of(text_of(name, form))).outcome.findings
        if one.back_from is None
    }
    assert met == TEMPLATE_KINDS
