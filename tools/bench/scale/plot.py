"""Cost against size as a picture: both scales are logarithmic, dots are measured, lines are the model's."""

import math
from collections.abc import Sequence
from html import escape

from tools.bench.scale.model import COSTS, Model
from tools.bench.scale.points import Point

WIDTH, HEIGHT = 960, 300
LEFT, RIGHT, TOP, BOTTOM, GAP = 56, 24, 44, 40, 70
PANELS = (
    ("seconds", ("submit to public", "processors")),
    ("memory, MB", ("memory of Spark", "memory of all processes")),
    ("WAL, MB", ("WAL",)),
)
STEPS = 24
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2933 } .title { font-weight: 600 }
.grid { stroke: #9aa5b1; stroke-opacity: .35 } path { fill: none; stroke-width: 2 }
.c0 { stroke: #0b69a3; fill: #0b69a3 } .c1 { stroke: #b44d12; fill: #b44d12 } path.c0, path.c1 { fill: none }
text.c0, text.c1 { stroke: none } path.c1 { stroke-dasharray: 6 4 }
@media (prefers-color-scheme: dark) { text { fill: #e4e7eb }
.c0 { stroke: #62b0e8; fill: #62b0e8 } .c1 { stroke: #f0a36b; fill: #f0a36b } }
"""


def plot(points: Sequence[Point], models: dict[str, Model]) -> str:
    width = (WIDTH - LEFT - GAP * (len(PANELS) - 1) - RIGHT) / len(PANELS)
    parts = [
        panel(points, models, title, names, left=LEFT + number * (width + GAP), width=width)
        for number, (title, names) in enumerate(PANELS)
    ]
    described = "Cost against the number of rows: the table below has the same numbers."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{described}</title><style>{STYLE}</style>{''.join(parts)}</svg>\n"
    )


def panel(
    points: Sequence[Point], models: dict[str, Model], title: str, names: Sequence[str], *, left: float, width: float
) -> str:
    costs = {name: cost for name, _, cost in COSTS if name in names}
    values = [max(cost(point), 1e-3) for cost in costs.values() for point in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    first, last = math.log10(points[0].rows), math.log10(points[-1].rows)
    high, last = max(high, low + 1), max(last, first + 0.1)

    def x(rows: float) -> float:
        return left + width * (math.log10(rows) - first) / (last - first)

    def y(value: float) -> float:
        share = (math.log10(max(value, 1e-3)) - low) / (high - low)
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(1.0, max(0.0, share))

    found = [f'<text class="title" x="{left:.0f}" y="16">{escape(title)}</text>']
    for power in range(low, high + 1):
        found.append(f'<path class="grid" d="M{left:.1f} {y(10**power):.1f}h{width:.1f}"/>')
        found.append(f'<text x="{left - 6:.1f}" y="{y(10**power) + 4:.1f}" text-anchor="end">{10**power:g}</text>')
    for power in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1):
        label = {3: "1 k", 4: "10 k", 5: "100 k", 6: "1 M", 7: "10 M", 8: "100 M"}.get(power, f"1e{power}")
        found.append(f'<text x="{x(10**power):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{label}</text>')
    for number, (name, cost) in enumerate(costs.items()):
        along = [10 ** (first + (last - first) * step / STEPS) for step in range(STEPS + 1)]
        line = " L".join(f"{x(rows):.1f} {y(models[name].at(round(rows))):.1f}" for rows in along)
        found.append(f'<path class="c{number}" d="M{line}"/>')
        found += [
            f'<circle class="c{number}" cx="{x(point.rows):.1f}" cy="{y(cost(point)):.1f}" r="4"/>' for point in points
        ]
        found.append(f'<text class="c{number}" x="{left + number * 130:.0f}" y="33">{escape(name)}</text>')
    return "".join(found)
