"""A plan as a person sees it before it is stored: for every kind of change."""

from __future__ import annotations

import re

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string

from catalog.text.descriptors import elements
from changes.pages import preview
from changes.pages.estimates import ROWS_PER_S, Ended, Observed, estimate, together
from changes.pages.plan_json import plan_json
from changes.pages.timeline import points
from changes.plan.model import Plan, StepKind
from tests.changes.tables import KINDS, every_plan, people, planned

PLANS = every_plan()
EVERY_KIND = pytest.mark.parametrize("name", KINDS)


def matrix(plan: Plan) -> list[str]:
    return [
        f"v{version['version']} " + ", ".join(
            [f"{cell['element']}: {'filling' if cell['filling'] else cell['state']}" for cell in version["states"]]
            + version["edits"]
        )
        for version in preview.versions(plan)
    ]  # fmt: skip


@EVERY_KIND
def test_every_version_and_every_element_is_there(name: str) -> None:
    seen = plan_json(PLANS[name])
    assert len(seen["versions"]) == 1 + KINDS[name][1]
    assert len({len(version["states"]) for version in seen["versions"]}) == 1
    assert any(cell["is_moved"] for version in seen["versions"] for cell in version["states"]) or any(
        version["edits"] for version in seen["versions"]
    )
    assert seen["no_return"]["number"] == PLANS[name].point_of_no_return
    assert points(seen["steps"], -1)[0]["state"] in ("absent", "public")


def test_the_states_of_every_element_version_by_version() -> None:
    assert matrix(PLANS["add a column, checked and unique"]) == [
        "v15 column code: absent, constraint people_code_check: absent, unique index people_code_key: absent",
        "v16 column code: delete-only, constraint people_code_check: absent, unique index people_code_key: delete-only",
        "v17 column code: filling, constraint people_code_check: write-only, unique index people_code_key: filling",
        "v18 column code: public, constraint people_code_check: public, unique index people_code_key: public",
    ]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("rename a column", ["v15 ", "v16 column name is renamed to nick"]),
        ("drop a default", ["v15 ", "v16 column visits has no default any more"]),
    ],
)
def test_a_version_without_a_state_says_what_it_does(name: str, rows: list[str]) -> None:
    assert matrix(PLANS[name]) == rows


@EVERY_KIND
def test_every_reorganisation_of_weight_is_named(name: str) -> None:
    weighty = [step.kind.value for step in PLANS[name].forward if step.kind in ROWS_PER_S]
    assert [run["kind"] for run in preview.reorganisations(PLANS[name])] == weighty
    assert (preview.takes(PLANS[name]) is None) == (not weighty)


@pytest.mark.parametrize("rows", [0, 10, 1_000_000])
def test_an_estimate_is_a_range_and_longer_under_load(rows: int) -> None:
    for kind in ROWS_PER_S:
        one = estimate(kind, rows)
        assert 0 < one.least_s < one.most_s < one.loaded_s
    both = together([estimate(StepKind.FILL, rows), estimate(StepKind.VERIFY, rows)])
    assert both is not None
    assert both.most_s == pytest.approx(estimate(StepKind.FILL, rows).most_s + estimate(StepKind.VERIFY, rows).most_s)


def test_what_was_measured_lies_within_the_estimate() -> None:
    """docs/benchmarks.md: an index of a million rows, and the same beside four writers that never pause."""
    fill, verify = estimate(StepKind.FILL, 1_000_000), estimate(StepKind.VERIFY, 1_000_000)
    assert all(fill.least_s < seen < fill.most_s for seen in (2.3, 2.9, 3.9))
    assert all(verify.least_s < seen < verify.most_s for seen in (3.6, 4.1, 4.7))
    assert fill.loaded_s > 68


def ended(seconds: float, statements_per_s: float, rows: int = 100_000, kind: StepKind = StepKind.FILL) -> Ended:
    return Ended(kind, rows, seconds, statements_per_s)


@pytest.mark.parametrize(
    ("now_per_s", "seen", "loaded_s"),
    [
        pytest.param(0.0, (ended(20.2, 900.0), ended(10.2, 40.0)), 63.0, id="the slowest of those beside traffic"),
        pytest.param(
            0.0, (ended(0.9, 0.0), ended(100.0, 900.0, rows=9_999)), 69.7, id="none beside traffic, of weight"
        ),
        pytest.param(900.0, (ended(20.2, 900.0), ended(40.2, 40.0)), 63.0, id="only those beside as much as now"),
        pytest.param(900.0, (ended(10.2, 40.0),), 69.7, id="none beside as much as now"),
        pytest.param(0.0, (ended(20.2, 900.0, kind=StepKind.VERIFY),), 69.7, id="of another kind"),
    ],
)
def test_an_estimate_under_load_is_what_was_seen_here(
    now_per_s: float, seen: tuple[Ended, ...], loaded_s: float
) -> None:
    found = estimate(StepKind.FILL, 200_000, Observed(seen, now_per_s))
    assert found.loaded_s == loaded_s
    assert (found.seen > 0) == (loaded_s == 63.0)


def test_alone_a_machine_may_be_slower_or_faster_than_others() -> None:
    """One that went badly counts for little: something else may have had the processors."""
    slow = estimate(StepKind.FILL, 200_000, Observed((ended(2.2, 0.0), ended(2.2, 0.0), ended(90.0, 0.0))))
    assert (slow.least_s, slow.most_s) == (0.6, 7.0)
    fast = estimate(StepKind.FILL, 200_000, Observed((ended(0.3, 0.0),)))
    assert (fast.least_s, fast.most_s) == (0.4, 2.3)


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        ("add an index", "What was added is withdrawn again: entries of i are deleted, and people is as it was."),
        ("add a column, checked and unique", "entries of people_code_key and values of code are deleted"),
        ("set not null", "Nothing was lost yet: constraint people_name_not_null is absent again"),
        ("drop an optional column", "Nothing was lost yet: column town is public again, and people is as it was."),
        ("rename a table", "It takes one version and nothing is lost: there is no rollback, only another change."),
    ],
)
def test_what_a_rollback_would_do(name: str, summary: str) -> None:
    assert summary in preview.rollback(PLANS[name])["summary"]


def test_how_often_it_waits() -> None:
    assert preview.waits(PLANS["rename a table"]).startswith("It waits once until no node uses an older version")
    assert preview.waits(PLANS["add an index"]).startswith("It waits 3 times")


def test_a_version_that_moves_several_elements_shows_them_all_in_its_timeline() -> None:
    timeline = points(plan_json(PLANS["drop a column that an index covers"])["steps"], -1)
    moved = [[(move["name"], move["after"]) for move in point["moves"]] for point in timeline if point.get("moves")]
    assert moved[0] == [("name", "delete-only"), ("one_name", "delete-only")]


def test_the_steps_of_a_plan_are_those_of_its_timeline() -> None:
    plan = PLANS["change a type"]
    seen = plan_json(plan)
    assert [step["kind"] for step in seen["steps"]] == [step.kind.value for step in plan.forward]
    assert sum(step.kind is StepKind.PUBLISH for step in plan.forward) == 5


def test_a_version_shows_its_expressions_with_names() -> None:
    shown = {element["name"]: element["detail"] for element in elements(people())}
    assert shown["one_name"] == "(name) where age > 5"
    assert shown["grown"] == "check: age > 1"
    moving = elements(PLANS["change a type"].publishes[1].published)
    assert "follows from born: born::text" in next(e["detail"] for e in moving if e["name"] == "born (as text)")


def test_a_users_name_is_no_word_of_the_glossary() -> None:
    words = "Publish people@3: index fill, then fill"
    page = f'{{% load glossary %}}{{% explained "publish" "fill" but=names %}}{words}{{% endexplained %}}'
    names = plan_json(planned("CREATE INDEX fill ON people (town)", people()))["names"]
    assert names == ["fill", "people"]
    shown = Template(page).render(Context({"names": names}))
    assert re.findall(r'class="term"[^>]*>([^<]*)<', shown) == ["Publish"]
    assert re.findall(r'class="term"[^>]*>([^<]*)<', Template(page).render(Context({}))) == ["Publish", "fill"]


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ((1.7, 5.4, 120.0), "1.7 s to 5.4 s; under load up to 2 min"),
        ((358.0, 362.0, 600.0), "6 min; under load up to 10 min"),
        ((358.0, 360.0, 362.0), "6 min"),
        ((6.8, 7.8, 7.8), "6.8 s to 7.8 s"),
    ],
)
def test_a_range_names_no_end_twice(spans: tuple[float, float, float], said: str) -> None:
    estimate = dict(zip(("least_s", "most_s", "loaded_s"), spans, strict=True))
    assert render_to_string("parts/estimate_range.html", {"e": estimate}).strip() == said


def test_an_estimate_that_has_run_out_says_nothing_any_more() -> None:
    """Beside traffic the longer time counts; without, the shorter."""
    alone = estimate(StepKind.FILL, 300_000)
    assert not alone.has_run_out(alone.most_s)
    assert alone.has_run_out(alone.most_s + 0.1)
    loaded = estimate(StepKind.FILL, 300_000, Observed(statements_per_s=100.0))
    assert not loaded.has_run_out(loaded.most_s + 0.1)
    assert loaded.has_run_out(loaded.loaded_s + 0.1)
