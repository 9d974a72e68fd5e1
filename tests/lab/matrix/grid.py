"""All cells of the matrix, run in one process or in several, and what each showed."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import get_context

from changes.executor.state import Direction
from lab.cluster.control_plane import Without
from lab.simulator.invariants import Memory
from tests.lab.matrix.interruptions import Interruption
from tests.lab.matrix.kinds import KINDS, ChangeKind
from tests.lab.matrix.walk import Cell, Shown, run_cell, steps_of

SHARE = 20
"""So many cells one process takes at a time: neighbours, which meet the same pairs under the same versions."""


@dataclass(frozen=True, slots=True)
class Line:
    """One step of one kind of change: a line of the matrix."""

    kind: ChangeKind
    direction: Direction
    position: int
    step: str


def lines_of(kinds: Iterable[ChangeKind] = KINDS) -> list[Line]:
    """Every step of these kinds, on the way there and back."""
    return [
        Line(kind, direction, position, step)
        for kind in kinds
        for direction, steps in steps_of(kind).items()
        for position, step in enumerate(steps)
    ]


def cells_of(lines: Iterable[Line], interruptions: Sequence[Interruption] = tuple(Interruption)) -> list[Cell]:
    """Every way to interrupt every one of these steps."""
    return [Cell(line.kind, line.direction, line.position, one) for line in lines for one in interruptions]


def sample(cells: Sequence[Cell], count: int, *, offset: int = 0) -> list[Cell]:
    """About so many of them, spread evenly: another `offset` takes others."""
    stride = max(1, len(cells) // count)
    while stride % len(Interruption) == 0:  # else it meets the same interruption again and again
        stride += 1
    return list(cells[offset % stride :: stride])


def run_cells(cells: Sequence[Cell], *, without: frozenset[Without] = frozenset(), jobs: int = 1) -> Iterator[Shown]:
    """Run the cells and yield what each showed, in order."""
    if jobs == 1:
        memory = Memory()
        yield from (run_cell(cell, memory, without) for cell in cells)
        return
    fresh = get_context("spawn")  # a fork would inherit the locks of threads that it does not have
    with ProcessPoolExecutor(jobs, mp_context=fresh) as pool:
        for shown in pool.map(partial(_run_share, without=without), _shares(cells)):
            yield from shown


def _run_share(cells: Sequence[Cell], without: frozenset[Without]) -> list[Shown]:
    memory = Memory()
    return [run_cell(cell, memory, without) for cell in cells]


def _shares(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    left = iter(cells)
    while share := list(islice(left, SHARE)):
        yield share


@dataclass
class Report:
    """Outcomes of cells, by kind and step. `wrong` are those in which something was found."""

    cells: int = 0
    events: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    by_line: dict[tuple[str, Direction, int], Counter[str]] = field(default_factory=dict)
    wrong: list[Shown] = field(default_factory=list)

    def add(self, shown: Shown) -> None:
        cell, what = shown.cell, shown.outcome if shown.finding is None else "wrong"
        self.cells += 1
        self.events += len(shown.happened)
        self.outcomes[what] += 1
        self.by_line.setdefault((cell.kind.name, cell.direction, cell.position), Counter())[what] += 1
        if shown.finding is not None:
            self.wrong.append(shown)


def report_on(
    cells: Sequence[Cell],
    *,
    without: frozenset[Without] = frozenset(),
    jobs: int = 1,
    watch: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Run the cells and count; `watch` is called after each."""
    report = Report()
    for shown in run_cells(cells, without=without, jobs=jobs):
        report.add(shown)
        watch(report)
    return report
