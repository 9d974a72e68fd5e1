"""The figures of a benchmark, and the page that shows it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"

HEAD = """# Benchmarks

Written by `make bench`. Each figure is a ratio of two things measured in the same run on the same
machine, or a duration with what it includes; absolute rates of other machines say little here.
"""


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


@dataclass(frozen=True, slots=True)
class Figure:
    what: str
    goal: str
    seen: str
    method: str


def write_page(machine: str, figures: Iterable[Figure]) -> Path:
    listed = list(figures)
    rows = [f"| {figure.what} | {figure.goal} | {figure.seen} |" for figure in listed]
    methods = [f"**{figure.what}.** {figure.method}" for figure in listed]
    table = ["| what | goal | seen |", "|---|---|---|", *rows]
    PAGE.write_text("\n".join([HEAD, f"Machine: {machine}.", "", *table, "", "## How", "", "\n\n".join(methods), ""]))
    return PAGE
