"""Runs: the same for the same seed, judged after every event, and nothing found in a short range."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cluster.control_plane import Without
from lab.scripts.golden import play
from lab.simulator.events import Event
from lab.simulator.faults import ALL, NONE, BadFaults, Fault, faults_named, names_of
from lab.simulator.invariants import Memory
from lab.simulator.minimise import minimise, shorter
from lab.simulator.seeds import Report, run_all
from lab.simulator.simulation import Setup, replay, simulate
from lab.simulator.to_script import lines_of, script_of

ROOT = Path(__file__).parents[3]
SHORT = range(20_451, 20_501)


@pytest.fixture(scope="module")
def short_range() -> Report:
    return run_all(SHORT, Setup())


def test_nothing_is_found_in_a_short_range(short_range: Report) -> None:
    assert short_range.found is None, f"manage.py simulate --seed {short_range.found.seed}"
    assert short_range.runs == len(SHORT)


@pytest.mark.parametrize(
    "happening",
    [
        pytest.param("change done", id="changes were done"),
        pytest.param("change cancelled", id="changes were cancelled"),
        pytest.param("change failed", id="changes failed and rolled back"),
        pytest.param("index add done", id="indexes came"),
        pytest.param("required column add done", id="required columns came"),
        pytest.param("optional column drop done", id="columns went"),
        pytest.param("derived column add done", id="types changed"),
        pytest.param("constraint add done", id="constraints came"),
        pytest.param("foreign key add done", id="foreign keys came"),
        pytest.param("foreign key add failed", id="rows broke a foreign key that was to come"),
        pytest.param("table drop done", id="tables went"),
        pytest.param("table alter done", id="tables were coordinated otherwise"),
        pytest.param("commit", id="transactions committed"),
        pytest.param("commit refused", id="transactions were refused at commit"),
        pytest.param("finish", id="queries that read on returned rows"),
        pytest.param("finish without a lease", id="queries outlived their lease"),
        pytest.param("put", id="fills wrote chunk by chunk"),
        pytest.param("put refused", id="late chunks were refused"),
        pytest.param("zombie refused", id="replaced workers were refused"),
        pytest.param("late", id="late commits of frozen nodes arrived"),
        pytest.param("deliver", id="messages arrived one by one"),
        pytest.param("lose", id="messages were lost"),
        pytest.param("crash", id="nodes and workers died"),
        pytest.param("store", id="the store crashed"),
        pytest.param("ask", id="the outcome of a lost COMMIT was asked for"),
        pytest.param("answered: nobody knows (08007)", id="the outcome of a lost COMMIT was not known"),
    ],
)
def test_what_must_happen_sometimes_for_the_range_to_mean_anything(short_range: Report, happening: str) -> None:
    assert short_range.counts[happening] > 0


def test_without_faults_nothing_is_found_either() -> None:
    assert run_all(range(1, 11), Setup(faults=NONE)).found is None


DIGEST = """
from lab.simulator.invariants import Memory
from lab.simulator.simulation import Setup, simulate
print([event.line for seed in (1, 2, 3) for event in simulate(seed, Setup(), Memory()).happened])
"""


def test_a_seed_means_the_same_in_every_process() -> None:
    said = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        said.add(
            subprocess.run(
                [sys.executable, "-c", DIGEST], cwd=ROOT, env=environment, capture_output=True, check=True
            ).stdout
        )
    assert len(said) == 1


def test_a_replay_of_the_events_is_the_same_run() -> None:
    run = simulate(7, Setup(), Memory())
    again = replay(run.happened, frozenset(), Memory(), to_end=True)
    assert (again.happened, again.finding, again.counts) == (run.happened, run.finding, run.counts)


def test_a_finding_is_minimised_until_no_event_can_go() -> None:
    without = frozenset({Without.PURGE})
    report = run_all(range(1, 200), Setup(without=without))
    assert report.found is not None
    assert report.shortest is not None
    shortest = report.shortest
    assert len(shortest.happened) < len(report.found.happened) / 3
    assert minimise(shortest, without, Memory()).happened == shortest.happened
    for left_out in range(len(shortest.happened)):
        rest = shortest.happened[:left_out] + shortest.happened[left_out + 1 :]
        finding = replay(rest, without, Memory(), to_end=shortest.at_end).finding
        assert finding is None or finding.rule != report.found.finding.rule


def test_blocks_go_first_and_what_is_needed_stays() -> None:
    events = tuple(Event(str(number)) for number in range(50))
    needed = {Event("3"), Event("17"), Event("49")}
    assert set(shorter(events, lambda some: needed <= set(some))) == needed


def test_a_finding_becomes_a_golden_script_that_shows_it() -> None:
    without = frozenset({Without.PURGE})
    shortest = run_all(range(1, 200), Setup(without=without)).shortest
    assert shortest is not None
    script = script_of(shortest, without)
    assert script.startswith(f"# Seed {shortest.seed}. C7: a tombstone is left")
    played = play(script)
    assert played.is_same
    assert "C7: a tombstone is left" in played.outcomes[-1].output[-1]
    assert [line for line in lines_of(shortest.happened) if line not in script] == []


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("all", ALL, id="all"),
        pytest.param("none", NONE, id="none"),
        pytest.param("loss,crash", frozenset({Fault.LOSS, Fault.CRASH}), id="some"),
        pytest.param("all,-forget", ALL - {Fault.FORGET}, id="all but one"),
    ],
)
def test_faults_have_names(text: str, faults: frozenset[Fault]) -> None:
    assert faults_named(text) == faults
    assert names_of(faults) == text


def test_an_unknown_fault_is_named() -> None:
    with pytest.raises(BadFaults, match="'rain' is no fault; there are: loss, delay, crash"):
        faults_named("loss,rain")
