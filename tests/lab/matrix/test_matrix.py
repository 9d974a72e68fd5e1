"""Every kind of change, interrupted at every step in every way: a sample here, all of it by `make matrix`."""

import contextlib
import io
import json
from collections.abc import Iterator

import pytest

from changes.executor.state import Direction
from changes.plan.model import Kind, MoveKind, StepKind
from lab.cluster.control_plane import Without
from lab.simulator.invariants import Memory
from lab.simulator.simulation import Simulation
from tests.lab.matrix.__main__ import main
from tests.lab.matrix.grid import cells_of, lines_of, report_on, sample
from tests.lab.matrix.interruptions import Interruption
from tests.lab.matrix.kinds import KINDS, kinds_named
from tests.lab.matrix.walk import Cell, Walk, run_cell

SAMPLED = 40


def test_whatever_comes_in_between_a_change_ends_as_before_or_as_planned() -> None:
    """About one cell in a hundred and twenty, every interruption among them."""
    cells = sample(cells_of(lines_of()), SAMPLED)
    assert {cell.interruption for cell in cells} == set(Interruption)
    report = report_on(cells)
    assert [f"{shown.cell}: {shown.finding}" for shown in report.wrong] == []
    assert {"done", "cancelled", "failed"} == set(report.outcomes)


def plans() -> Iterator[Walk]:
    for kind in KINDS:
        walk = Walk(Cell(kind, Direction.FORWARD, 0, Interruption.NONE), Simulation())
        walk.open()
        yield walk


def test_the_matrix_has_every_kind_of_element_both_ways_and_every_kind_of_step() -> None:
    moved, steps = set(), set()
    for walk in plans():
        moved |= {(move.element.kind, move.kind) for move in walk.plan.moves}
        steps |= {step.kind for step in walk.plan.forward}
    assert moved >= {(kind, way) for kind in Kind for way in (MoveKind.ADD, MoveKind.DROP)}
    assert {way for _, way in moved} == set(MoveKind)
    assert steps == set(StepKind)


def cell(kind: str, direction: Direction, position: int, interruption: Interruption) -> Cell:
    return Cell(kinds_named((kind,))[0], direction, position, interruption)


@pytest.mark.parametrize(
    ("rule", "at", "clause"),
    [
        pytest.param(
            Without.PURGE,
            cell("add an index", Direction.FORWARD, 0, Interruption.NONE),
            "C7",
            id="tombstones are purged",
        ),
        pytest.param(
            Without.DELETION,
            cell("add an index", Direction.FORWARD, 5, Interruption.CANCEL),
            "C3",
            id="the rollback deletes what was added",
        ),
        pytest.param(
            Without.DELETION,
            cell("drop an index", Direction.FORWARD, 0, Interruption.PAUSE),
            "C3",
            id="a dropped index leaves no entry",
        ),
        pytest.param(
            Without.TOMBSTONES,
            cell("add a unique index", Direction.FORWARD, 0, Interruption.NONE),
            "C5",
            id="a key that goes under filling leaves a tombstone",
        ),
    ],
)
def test_the_matrix_turns_red_when_a_rule_is_left_out(rule: Without, at: Cell, clause: str) -> None:
    shown = run_cell(at, Memory(), frozenset({rule}))
    assert shown.finding is not None
    assert shown.finding.rule == clause
    assert run_cell(at, Memory()).finding is None


def ran(*words: str) -> tuple[int, str]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(words)
    return code, out.getvalue()


def test_the_command_prints_a_line_for_each_step_and_ends_with_0() -> None:
    code, said = ran("--kind", "rename a column", "--interruption", "cancel", "--interruption", "pause")
    assert code == 0
    assert "rename a column: alter table users rename column town to city" in said
    assert "1 cancelled, 1 done" in said
    assert "4 cells" in said


def test_the_command_ends_with_1_and_says_which_cell_is_wrong(tmp_path) -> None:
    golden = tmp_path / "wrong.txt"
    words = ("--kind", "drop an index", "--interruption", "none", "--sample", "2", "--without", "deletion")
    code, said = ran(*words, "--json", "--golden", str(golden))
    answer = json.loads(said)
    assert code == 1
    assert answer["wrong"][0]["rule"] == "C3"
    assert "without deletion" in golden.read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--kind", "nothing"), "no kind of change is called 'nothing'; there are: add an index"),
        (("--interruption", "rain"), "'rain' is no interruption; there are: none, driver crash"),
        (("--jobs", "0"), "at least 1"),
    ],
)
def test_bad_usage_ends_with_2_and_says_why(
    words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert why in capsys.readouterr().err
