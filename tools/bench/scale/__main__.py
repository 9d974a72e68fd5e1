"""Measures the sizes that were not measured before, and writes the page."""

import argparse

from tools.bench.scale import points
from tools.bench.scale.measure import measure
from tools.bench.scale.model import models
from tools.bench.scale.page import PAGE, model_table, table, write_page

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
ROUNDS = 3
ONE_ROUND_FROM = 3_000_000
"""Rows from which on one round does: it is long enough to be steady."""


def sizes(text: str) -> tuple[int, ...]:
    found = tuple(sorted({int(word.replace("_", "")) for word in text.split(",")}))
    if not found or found[0] < 1:
        raise ValueError(text)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.scale", description=__doc__)
    parser.add_argument("--rows", type=sizes, default=SIZES, help="sizes by commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--anew", action="store_true", help="measure those again that were measured before")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    asked = parser.parse_args()
    kept = points.read()
    for rows in () if asked.page else asked.rows:
        if rows in kept and not asked.anew:
            print(f"{rows:,} rows: measured before", flush=True)
            continue
        kept[rows] = measure(rows, 1 if rows >= ONE_ROUND_FROM else asked.rounds)
        points.write(kept.values())
        print(f"{rows:,} rows: {kept[rows].seconds:.2f} s, {kept[rows].wal_mb:.0f} MB of WAL", flush=True)
    if not kept:
        parser.error("nothing was measured as yet")
    found = sorted(kept.values())
    write_page(found)
    print(table(found), model_table(models(found)), f"written to {PAGE}", sep="\n\n")


if __name__ == "__main__":
    main()
