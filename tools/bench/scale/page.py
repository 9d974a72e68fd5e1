"""The measured part of docs/scaling.md, and its picture."""

from collections.abc import Sequence
from pathlib import Path

from tools.bench.scale.model import COSTS, Model, models
from tools.bench.scale.plot import plot
from tools.bench.scale.points import Point

DOCS = Path(__file__).parents[3] / "docs"
PAGE, PICTURE = DOCS / "scaling.md", DOCS / "images" / "scaling.svg"
BEGIN, END = (
    "<!-- measured: python -m tools.bench.scale writes what stands here -->",
    "<!-- end of what was measured -->",
)
BEYOND = (10_000_000, 100_000_000)


def table(points: Sequence[Point]) -> str:
    head = ["rows", "submit to public", "dropped", "processors", "memory of Spark", "of all", "WAL", "rounds"]
    lines = [f"| {' | '.join(head)} |", "|" + "---:|" * len(head)]
    for one in points:
        cells = [
            f"{one.rows:,}", f"{one.seconds:.2f} s", f"{one.dropped_s:.2f} s", f"{one.processor_s:.1f} s",
            f"{one.spark_mb:,.0f} MB", f"{one.all_mb:,.0f} MB", f"{one.wal_mb:,.1f} MB", str(one.rounds),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def model_table(found: dict[str, Model]) -> str:
    beyond = [f"{rows // 10**6} M rows" for rows in BEYOND]
    head = ["cost", "fixed", "for a million rows", "largest error", *beyond]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for name, unit, _ in COSTS:
        one = found[name]
        beyond_it = [f"{one.at(rows):,.0f} {unit}" for rows in BEYOND]
        cells = [
            name,
            f"{one.fixed:.1f} {unit}",
            f"{one.per_million:.1f} {unit}",
            f"{100 * one.error:.0f} %",
            *beyond_it,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measured_part(points: Sequence[Point]) -> str:
    machines = ", ".join(sorted({one.machine for one in points}))
    return "\n".join(
        [
            f"Machine: {machines}.",
            "",
            "![Cost against the number of rows](images/scaling.svg)",
            "",
            table(points),
            "",
            "The model, fitted to these sizes:",
            "",
            model_table(models(points)),
        ]
    )


def write_page(points: Sequence[Point], page: Path = PAGE, picture: Path = PICTURE) -> None:
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{measured_part(points)}\n\n{END}{after}")
    picture.write_text(plot(points, models(points)))
