"""The second proof: TLC says what the explorer says. A few questions of each sort; `make prove` asks all."""

import re
from pathlib import Path

import pytest

from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.reduced_space import UNSAFE_HERE, UNSAFE_WHERE_CANCELLED, fits
from lab.explorer.verdict import explore
from lab.sessions.replay import show
from lab.sessions.session import decode
from spark_tasks.spark import java
from tests.lab.explorer.models import stand
from tests.rounds import some_of
from tools.tlc import page, variants
from tools.tlc.agreement import HOLDS, Question, Verdict, disagreement, has_nodes, is_shown_by_atomic
from tools.tlc.jar import OtherJar, compared
from tools.tlc.runs import SPECS, Config, Result, TlcFailed, run
from tools.tlc.traces import steps_of, story_of

MODELS = dict(variants.models())
REDUCTIONS = dict(variants.reductions())
PAGE = page.PAGE.read_text(encoding="utf-8")
ASKED = (
    "drop-index",
    "index-without-delete-only",
    "index-without-write-only",
    "fill-puts-blindly",
    "tombstones-where-seen",
    "deleted-before-drain",
    "three-live-versions",
    "unique-index blind",
    "unique-index unverified",
    "required-column-delete-only-beside-public",
    "column-fill-before-drain",
    "drop-required-column",
)
STATES_MAX = 1_000_000


def answer(name: str, grain: str) -> Verdict:
    return Question(name, grain, variants.question(MODELS[name], grain), MODELS[name]).answer()


@pytest.mark.parametrize("name", some_of(ASKED, 2))
def test_atomic_says_what_the_explorer_says(name: str) -> None:
    tlc, explorer = answer(name, variants.ATOMIC), Question(name, "explorer", model=MODELS[name]).answer()
    assert disagreement(variants.ATOMIC, tlc, explorer) == ""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))
    assert f"| {tlc};" in line
    assert f"| {explorer};" in line


def test_tlc_runs_on_the_runtime_of_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java.WHEEL_HOME))
    assert java.find_java().source == "JAVA_HOME", "the runtime of the wheel is missing: `make test` installs it"
    assert answer("drop-index", variants.ATOMIC).states == 50


def test_a_trace_of_nodes_and_leases_is_replayed_by_the_explorer() -> None:
    name = "index-without-delete-only"
    result = run(variants.question(MODELS[name], variants.SPEC, traced=True))
    shown = stand(page.replayed_model(name), list(steps_of(result)))
    assert shown.refused is None
    assert result.broken in {verdict.clause for verdict in shown.verdicts}


def test_refines_fails_where_a_worker_puts_after_a_cancel() -> None:
    result = run(variants.reduction(REDUCTIONS["add, cancelled, no-close"]))
    assert (result.broken, result.events) == ("Refines", 14)


# What the page says, without a run


def test_the_page_has_a_row_for_each_model_and_no_disagreement() -> None:
    rows = {row[0]: row[1:] for row in _rows(PAGE)}
    for name, model in MODELS.items():
        atomic, spec, explorer, bounds, why = rows[name]
        assert bounds
        assert bool(atomic) == is_shown_by_atomic(model)
        assert bool(spec) == has_nodes(model)
        answers = [_verdict(cell) for cell in (atomic, spec) if cell]
        for grain, tlc in zip(
            [g for g, c in ((variants.ATOMIC, atomic), (variants.SPEC, spec)) if c], answers, strict=True
        ):
            assert disagreement(grain, tlc, _verdict(explorer)) == "", name
            assert tlc.states < STATES_MAX
        if spec and _verdict(spec).broken not in _verdict(explorer).broken:
            assert why, f"{name}: the clauses differ and nothing says why"


def test_refines_holds_where_the_explorer_takes_a_proof_and_nowhere_else() -> None:
    rows = {row[0]: row[1:] for row in _rows(PAGE)}
    refuted: set[Broken] = set()
    for name, model in REDUCTIONS.items():
        verdict = _verdict(rows[name][0])
        assert bool(verdict.broken) != fits(model), name
        refuted |= model.broken if verdict.broken else set()
    assert refuted | {Broken.SNAPSHOT} == UNSAFE_HERE | UNSAFE_WHERE_CANCELLED, "a plain index cannot show snapshot"


def test_each_rule_is_shown_or_named_as_one_that_cannot_be_shown() -> None:
    shown = {broken for model in MODELS.values() for broken in model.broken}
    named = {word for words in variants.CANNOT_SHOW for word in words.split(", ")}
    assert {broken.value for broken in Broken} == {broken.value for broken in shown} | named
    for words, why in variants.CANNOT_SHOW.items():
        assert f"| {words} | {why} |" in PAGE


def test_each_rule_that_is_shown_breaks_something() -> None:
    rows = {row[0]: row[1:] for row in _rows(PAGE)}
    breaking = {b for name, m in MODELS.items() if len(m.broken) <= 2 and HOLDS not in rows[name][2] for b in m.broken}
    assert breaking == {broken for model in MODELS.values() for broken in model.broken}


def test_each_change_ends_where_expiry_and_the_end_of_sessions_are_fair() -> None:
    rows = {row[0]: row[1:] for row in _rows(PAGE)}
    for name, (_, _, ends) in variants.LIVENESS.items():
        assert rows[name][0].startswith(HOLDS) == ends


@pytest.mark.parametrize("name", page.REPLAYED)
def test_a_trace_of_tlc_opens_on_the_stage_and_breaks_what_the_explorer_breaks(name: str) -> None:
    link = next(line for line in PAGE.splitlines() if line.startswith(f"- {name}: `{page.REPLAYED[name]}`"))
    session = decode(link.partition("?s=")[2].rstrip("`")).session
    assert session.steps == tuple(page.REPLAYED[name].split(" "))
    shown = show(session, single_steps=True)
    assert shown.refused is None
    assert {verdict.clause for verdict in shown.verdicts} & set(explore(MODELS[name]).clauses)


def test_the_page_quotes_the_specification_and_the_product() -> None:
    spec, product = re.findall(r"^```(?:python)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert spec in (SPECS / "OnlineIndex.tla").read_text()
    assert product in (Path(__file__).parents[2] / "leases" / "rules.py").read_text()


@pytest.mark.parametrize(
    ("module", "lines"), [("OnlineIndex", 400), ("UniqueIndex", 150), ("RequiredColumn", 150), ("Liveness", 150)]
)
def test_a_module_is_read_in_an_evening(module: str, lines: int) -> None:
    text = (SPECS / f"{module}.tla").read_text().splitlines()
    assert len(text) <= lines
    assert max(map(len, text)) <= 120


# The runner


def test_another_jar_is_refused(tmp_path: Path) -> None:
    jar = tmp_path / "tla2tools.jar"
    jar.write_bytes(b"another")
    with pytest.raises(OtherJar, match="has the SHA-256"):
        compared(jar)


def test_a_module_that_does_not_parse_is_no_answer() -> None:
    with pytest.raises(TlcFailed, match="NoSuchSpecification"):
        run(
            Config(
                "OnlineIndex", "NoSuchSpecification", variants.question(MODELS["add-index"], variants.ATOMIC).constants
            )
        )


IDLE, ENTERED = '[phase |-> "idle"]', '[ v |-> 3, phase |-> "entered", snap |-> [seen |-> 0] ]'


def test_a_trace_that_goes_on_for_ever_is_told_event_by_event() -> None:
    drain = '<< <<"drain", "">> >>'
    states = [
        {"todo": todo, "dead": dead, "lease": f"(n1 :> {lease} @@ n2 :> {{3}})", "tx": f"(n1 :> {tx} @@ n2 :> {IDLE})"}
        for todo, dead, lease, tx in [
            (f'<< <<"publish", "absent">>, {drain[3:]}', "{}", "{3}", ENTERED),
            (drain, "{}", "{3}", ENTERED),
            (drain, "{n1}", "{3}", ENTERED),
            (drain, "{n1}", "{}", ENTERED),
            (drain, "{n1}", "{4}", ENTERED),
            (drain, "{n1}", "{4}", IDLE),
            (drain, "{n1}", "{}", ENTERED),
        ]
    ]
    told = "publish absent, n1 dies, n1's lease of v3 ends"
    assert story_of(Result("liveness", 7, tuple(states[:6]), again=4)) == (
        f"{told}, for ever: n1 acquires v4, n1 ends its transaction, n1's lease of v4 ends"
    )
    assert story_of(Result("liveness", 4, tuple(states[:4]))) == f"{told}, for ever: nothing"


def test_the_question_is_of_the_same_model() -> None:
    asked = variants.question(MODELS["tombstones-where-seen"], variants.ATOMIC)
    assert asked.constants["Flaws"] == '= {"seen-only"}'
    assert asked.constants["Row"] == "= {r1, r2}"
    assert asked.text().startswith("SPECIFICATION Atomic\n")


def _rows(text: str) -> list[list[str]]:
    """The rows of all tables after the heading."""
    tables = text.partition(page.TABLES)[2]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in tables.splitlines() if line.startswith("| ")]


def _verdict(cell: str) -> Verdict:
    """The verdict in "C5 after 7; 251; 1.9 s"."""
    words, states, seconds = cell.split("; ")
    broken, _, events = words.partition(" after ")
    return Verdict(
        "" if words == HOLDS else broken, int(events or 0), int(states.replace(",", "")), float(seconds[:-2])
    )
