"""Measured sizes, and where they are kept."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT = Path(__file__).with_name("measured.json")


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """Medians of its rounds, the maximum of memory. `seconds`: submit to public; `processor_s`: all processes."""

    rows: int
    rounds: int
    seconds: float
    dropped_s: float
    processor_s: float
    spark_mb: float
    all_mb: float
    wal_mb: float
    machine: str


def read(path: Path = KEPT) -> dict[int, Point]:
    if not path.exists():
        return {}
    return {one["rows"]: Point(**one) for one in json.loads(path.read_text())}


def write(points: Iterable[Point], path: Path = KEPT) -> None:
    path.write_text(json.dumps([asdict(one) for one in sorted(points)], indent=1) + "\n")
