"""Every metric of /metrics. The reference and the dashboard are checked against this table."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["gauge", "counter", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` is Prometheus's; of a histogram without `_bucket`, `_sum`, `_count`."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    meaning: str


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as table:
    METRICS = tuple(Metric(**row | {"labels": tuple(row["labels"].split())}) for row in csv.DictReader(table))
BY_NAME = {one.name: one for one in METRICS}
