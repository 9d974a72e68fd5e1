"""The cases of a plan: held against the planner for each kind, told in the schema's names, and bounded."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import pytest

from changes.plan.model import Plan
from lab.explorer.planned import parts_of, stage_of
from lab.explorer.plans.program import Do, Program, program_of
from lab.explorer.spaces.search import Budget
from lab.explorer.verdict import Verdict
from lab.own.cases import NODES, Case, cases_of
from lab.own.findings import Finding, finding_of
from lab.own.statements import planned
from lab.questions.search import Answer, Question, ask, regardless_of_names, to_json
from lab.sessions.as_json import to_json as shown_json
from lab.sessions.model.setups import PROTECTS, model_of
from lab.sessions.replay import show
from lab.sessions.session import BadSession, Session, decode, encode
from lab.sessions.setups import setup_named
from tests.lab.own.kinds import KINDS, TABLES, cases
from tests.rounds import some_of

PATIENTLY = Budget(states=200_000, seconds=120.0)
OF_THE_MODEL = re.compile(r"\b(by_a|by_a_too|child|child_a_fkey|t_a_fkey|a_not_null|a_is_11|column a|t@\d)\b|\ba [=(]")
WAITS = (Do.DRAIN, Do.VERIFY, Do.PURGE)
"""The planner waits after each version, verifies what was filled and purges tombstones soon; a plan by hand waits and
verifies where a rule asks for it, and purges in the end."""


def plan_of(kind: str) -> Plan:
    plan = planned(TABLES + KINDS[kind])[-1].plan
    assert plan is not None
    return plan


def asked(session: Session) -> Answer:
    return ask(Question(session, any_rows=True), budget=PATIENTLY)


def found(session: Session) -> Finding:
    finding = finding_of(session, asked(session).to_json())
    assert finding is not None
    return finding


def texts_in(shown: Any) -> Iterator[str]:
    """All texts of what is shown but the ids of its parts and steps."""
    if isinstance(shown, str):
        yield shown
    elif isinstance(shown, list):
        for one in shown:
            yield from texts_in(one)
    elif isinstance(shown, dict):
        for name, one in shown.items():
            yield from [] if name in ("id", "takes") else texts_in(one)


def ahead(program: Program, without: Sequence[Do]) -> list[Do]:
    ends = next(at for at, stop in enumerate(program.stops) if stop.do is Do.END)
    return [stop.do for stop in program.stops[:ends] if stop.do not in without]


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_takes_the_steps_that_the_planner_plans(kind: str) -> None:
    plan = plan_of(kind)
    parts = parts_of(plan, nodes=NODES).explored
    assert [case.model for case in cases_of(plan).cases] == [part.model for part in parts]
    for case, part in zip(cases_of(plan).cases, parts, strict=True):
        whole = case.session(())
        model, _ = model_of(setup_named(whole.setup), whole)
        assert model == part.model
        assert ahead(program_of(model), WAITS) == ahead(part.program, WAITS)
        assert (Do.PURGE in ahead(part.program, ())) is (Do.PURGE in ahead(program_of(model), ()))
        own = len(part.elements)
        published = [stage_of(step.published, part.elements)[:own] for step in plan.publishes]
        moved = [model.stages[0][:own], *published]
        if not model.widths:  # of which the states of all versions are the same
            moved = [stage for stage, _ in groupby(moved)]
        assert [stage[:own] for stage in model.stages] == moved


@pytest.mark.parametrize("kind", some_of(KINDS, 2))
def test_without_its_first_state_a_change_is_told_in_the_names_of_the_schema(kind: str) -> None:
    case = cases(kind).cases[0]
    assert OF_THE_MODEL.findall("\n".join(str(one.what) for one in case.omissions if one.is_step)) == []
    session = case.session(["state-2"])
    answer = asked(session)
    if answer.verdict is Verdict.PROVED:  # an old version that cannot name a table meets nothing of it
        assert kind == "a table"
        return
    finding = found(session)
    told = "\n".join(texts_in(shown_json(show(finding.session))))
    assert OF_THE_MODEL.findall(told) == []
    assert case.names.words["id"] == ("tag" if kind == "a table" else "id")
    for word in case.names.words.values():
        assert word in told or word in ("id", "faa", "flights", "crews", "airports")
    assert finding.broken
    assert finding.lines[-1].text


@pytest.mark.parametrize("kind", ["an index", "a required column", "a foreign key to itself", "a type"])
def test_with_nothing_left_out_it_is_proved(kind: str) -> None:
    assert asked(cases(kind).cases[0].session(())).verdict is Verdict.PROVED


def test_the_anomalies_of_an_index_by_what_is_left_out() -> None:
    [case] = cases("an index").cases
    steps = [one.id for one in case.omissions if one.is_step]
    assert steps == ["state-2", "state-3", "early", "not-cleared", "skipped", "no-close", "no-delete", "no-purge"]
    assert str(case.omissions[0].what) == "by_dest is delete-only"
    clauses = {one: found(case.session([one])).broken[0].clause for one in ("state-2", "state-3", "skipped", "early")}
    assert clauses == {"state-2": "C5", "state-3": "C4", "skipped": "C4", "early": "C5"}


def test_a_counterexample_in_the_names_of_a_schema() -> None:
    finding = found(cases("an index").cases[0].session(["state-2"]))
    assert [str(line.text) for line in finding.lines] == [
        "v2 is published: by_dest is write-only, filling",
        "n1 leases v2: by_dest is write-only, filling",
        "n1 inserts row 1, dest = 'x'. For it by_dest is write-only: it puts the entry, too.",
        "n2 sets dest = 'y' in row 1. It does not know by_dest, so the entry stays.",
    ]
    assert [str(one.why) for one in finding.broken] == [
        "by_dest has an entry for row 1 with a value that the row no longer has. No step removes it, so queries meet "
        "it once by_dest is public"
    ]


def test_what_readers_find_is_asked_in_the_names_of_a_schema() -> None:
    finding = found(cases("an index").cases[0].session(["skipped"]))
    assert [(one.query, one.by_table, one.by_index) for one in finding.probe] == [
        ("SELECT id FROM flights WHERE dest = 'x'", ("1",), ())
    ]


def test_a_parent_is_named_by_the_value_that_refers_to_it() -> None:
    [case] = cases("a foreign key").cases
    finding = found(case.session(["state-2"]))
    assert [str(line.text) for line in finding.lines] == [
        "at first there is row 1 (dest = 'x')",
        "flights@2 and airports@2 are published: goes_to is public",
    ]
    assert str(finding.broken[0].why) == "row 1 with dest = 'x' breaks goes_to: airports has no such row"
    assert str(found(case.session(["parent-unchecked"])).lines[0].text) == (
        "at first there is parent 'x' and row 1 (dest = 'x')"
    )


def test_a_session_with_names_goes_through_a_link() -> None:
    session = cases("a partial index").cases[0].session(["skipped"])
    assert decode(encode(session, 0)).session == session


def test_names_make_no_other_question() -> None:
    """Whoever asks the same of another schema shares the answer."""
    here, there = (
        cases("an index").cases[0],
        _case("CREATE TABLE q (k int PRIMARY KEY, v int); CREATE INDEX i ON q (v)"),
    )
    assert here.names != there.names
    bodies = [to_json(Question(one.session(["skipped"]), any_rows=True)) for one in (here, there)]
    assert bodies[0] != bodies[1]
    assert regardless_of_names(bodies[0]) == regardless_of_names(bodies[1])


def _case(text: str) -> Case:
    plan = planned(text)[-1].plan
    assert plan is not None
    return cases_of(plan).cases[0]


def test_several_parts_are_several_cases_and_those_alike_are_one() -> None:
    plan = planned(f"{TABLES}; ALTER TABLE flights ADD COLUMN p int, ADD COLUMN q int, ADD COLUMN r int DEFAULT 1")[
        -1
    ].plan
    assert plan is not None
    found = cases_of(plan).cases
    assert [(case.title, case.alike) for case in found] == [("column p", ("column q",)), ("column r", ())]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        pytest.param("ALTER TABLE flights RENAME dest TO d", "names and defaults move no pair", id="a rename"),
        pytest.param(
            "ALTER TABLE flights ALTER seats SET DEFAULT 4", "names and defaults move no pair", id="a default"
        ),
    ],
)
def test_what_has_no_model_says_why(statement: str, why: str) -> None:
    plan = planned(TABLES + statement)[-1].plan
    assert plan is not None
    found = cases_of(plan)
    assert found.cases == ()
    assert why in str(found.without_model[0])


def test_what_needs_two_columns_at_once_is_said_beside_what_can_be_explored() -> None:
    plan = planned(f"{TABLES}; ALTER TABLE flights ADD COLUMN p int, ADD COLUMN q int, ADD UNIQUE (p, q)")[-1].plan
    assert plan is not None
    found = cases_of(plan)
    assert [case.title for case in found.cases] == ["column p"]
    assert "more than 1 column" in str(found.without_model[0])


def test_only_what_a_case_has_can_be_left_out() -> None:
    [case] = cases("an optional column").cases
    with pytest.raises(BadSession, match="has no skipped to leave out"):
        case.session(["skipped"])
    assert {one.id for one in case.omissions if not one.id.startswith("state-")} <= PROTECTS.keys()


def test_without_the_bounded_version_a_node_meets_a_value_that_it_cannot_read() -> None:
    case = cases("a wider integer").cases[0]
    (bounded,) = [one for one in case.omissions if one.id == "state-2"]
    assert str(bounded.what) == 'column "Odd Name" has the wider but bounded type'
    finding = found(case.session(["state-2"]))
    assert [str(one.why) for one in finding.broken] == ['row 1 has 40000 in "Odd Name", which the narrower type lacks']
