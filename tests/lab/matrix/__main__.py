"""`make matrix`: every kind of change, interrupted at every step in every way; 0 when all ended as they must.

1: some cell did not, with what was wrong and the script that shows it; 2: bad usage, with one line that says what.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.cluster.control_plane import Without
from lab.simulator.simulation import Outcome
from lab.simulator.to_script import script_of
from tests.lab.matrix.grid import Line, Report, cells_of, lines_of, report_on, sample
from tests.lab.matrix.interruptions import UnknownInterruption, interruptions_named
from tests.lab.matrix.kinds import UnknownKind, kinds_named

REPORTS_EVERY_S = 5.0
WRONG_SHOWN = 10


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m tests.lab.matrix", description=__doc__)
    found.add_argument("--kind", action="append", default=[], metavar="WORDS", help="kinds that are called so")
    found.add_argument("--interruption", action="append", default=[], metavar="NAME", help="only this one")
    found.add_argument("--sample", type=int, metavar="N", help="about so many cells, spread evenly")
    found.add_argument("--jobs", type=int, default=1, help="processes; 1 by default")
    found.add_argument("--without", action="append", default=[], metavar="RULE", help="leave out a rule")
    found.add_argument("--golden", type=Path, metavar="FILE", help="write the first wrong cell there, as a script")
    found.add_argument("--json", action="store_true")
    return found


def main(words: Sequence[str] | None = None) -> int:
    usage = parser()
    options = usage.parse_args(words)
    try:
        kinds = kinds_named(tuple(options.kind))
        interruptions = interruptions_named(options.interruption)
        without = frozenset(map(Without, options.without))
    except (UnknownKind, UnknownInterruption, ValueError) as error:
        usage.error(str(error))
    if options.jobs < 1 or (options.sample is not None and options.sample < 1):
        usage.error("--jobs and --sample are at least 1")
    lines = lines_of(kinds)
    cells = cells_of(lines, interruptions)
    cells = cells if options.sample is None else sample(cells, options.sample)
    began = shown_at = time.monotonic()

    def watch(report: Report) -> None:
        nonlocal shown_at
        if not options.json and time.monotonic() - shown_at >= REPORTS_EVERY_S:
            shown_at = time.monotonic()
            print(f"{report.cells} of {len(cells)} cells, {len(report.wrong)} wrong", file=sys.stderr)

    report = report_on(cells, without=without, jobs=options.jobs, watch=watch)
    if options.golden is not None and report.wrong:
        wrong = report.wrong[0]
        outcome = Outcome(None, wrong.happened, wrong.finding, at_end=False, counts=Report().outcomes)
        options.golden.write_text(script_of(outcome, without), encoding="utf-8")
    seconds = time.monotonic() - began
    print(json.dumps(_json(lines, report, seconds), indent=2) if options.json else _said(lines, report, seconds))
    return 1 if report.wrong else 0


def _said(lines: list[Line], report: Report, seconds: float) -> str:
    said, kind = [], None
    for line in lines:
        showed = report.by_line.get((line.kind.name, line.direction, line.position))
        if showed is None:
            continue
        if line.kind is not kind:
            kind = line.kind
            said.append(f"{kind.name}: {kind.statement}")
        counts = ", ".join(f"{count} {what}" for what, count in sorted(showed.items()))
        said.append(f"  {line.direction.value:8}{line.position:3}  {counts:42}  {line.step}")
    counts = ", ".join(f"{count} {what}" for what, count in sorted(report.outcomes.items()))
    said.append(f"{report.cells} cells, {report.events} events, {seconds:.1f} s: {counts}")
    return "\n".join([*said, *(f"wrong: {shown.cell}: {shown.finding}" for shown in report.wrong[:WRONG_SHOWN])])


def _json(lines: list[Line], report: Report, seconds: float) -> dict[str, Any]:
    shown = [(line, report.by_line.get((line.kind.name, line.direction, line.position))) for line in lines]
    return {
        "cells": report.cells,
        "events": report.events,
        "seconds": round(seconds, 3),
        "outcomes": dict(sorted(report.outcomes.items())),
        "steps": [
            {
                "kind": line.kind.name,
                "statement": line.kind.statement,
                "road": line.direction.value,
                "position": line.position,
                "step": line.step,
                "showed": dict(sorted(showed.items())),
            }
            for line, showed in shown
            if showed is not None
        ],
        "wrong": [
            {
                "kind": one.cell.kind.name,
                "road": one.cell.direction.value,
                "position": one.cell.position,
                "interruption": one.cell.interruption.value,
                "rule": one.finding.rule if one.finding else "",
                "why": one.finding.why if one.finding else "",
                "script": [event.line for event in one.happened],
            }
            for one in report.wrong
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
