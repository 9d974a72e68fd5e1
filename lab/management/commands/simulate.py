"""`manage.py simulate --seeds A..B ..`: runs of a cluster in which much goes wrong. Exit code 0: nothing found; 1: a
rule was broken, with the seed and the shortest events that show it; 2: bad usage."""

import json
import time
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError

from lab.cluster.control_plane import Without
from lab.diagrams.traces import picture_of_run
from lab.management.lab_command import LabCommand, write_file
from lab.simulator.faults import BadFaults, Fault, faults_named, names_of
from lab.simulator.invariants import Memory
from lab.simulator.parallel import run_parallel
from lab.simulator.seeds import Report, run_all
from lab.simulator.simulation import EVENTS, Outcome, Setup, simulate
from lab.simulator.to_script import lines_of, script_of, without_lines

SEEDS = "1..100"
REPORTS_EVERY_S = 2.0
EVENTS_MAX = 100_000


class Command(LabCommand):
    help = "Run a cluster in memory from seeds, with faults, and judge it after every event."

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--seeds", metavar="A..B", default=SEEDS, help=f"the runs; {SEEDS} by default")
        which.add_argument("--seed", type=int, metavar="N", help="one run")
        known = ", ".join(fault.value for fault in Fault)
        parser.add_argument("--faults", default="all", help=f"all, none, or some of {known}")
        parser.add_argument("--events", type=int, default=EVENTS, help=f"events of a run; {EVENTS} by default")
        parser.add_argument("--without", action="append", default=[], metavar="RULE", help="leave out a rule")
        parser.add_argument("--jobs", type=int, default=1, help="processes; 1 by default")
        parser.add_argument("--golden", metavar="FILE", help="write the run (shortened if it found something) there")
        parser.add_argument("--svg", metavar="FILE", help="write the same as a sequence diagram there")
        parser.add_argument("--json", action="store_true")

    def handle(self, **options: Any) -> None:
        setup, seeds = _setup(options), _seeds(options)
        for option in ("golden", "svg"):
            if options[option] is not None and len(seeds) != 1:
                raise CommandError(f"--{option} needs one run: say --seed N", returncode=2)
        watch = self._watch(len(seeds), quiet=options["json"])
        if options["jobs"] > 1:
            report = run_parallel(seeds, setup, jobs=options["jobs"], watch=watch)
        else:
            report = run_all(seeds, setup, watch=watch)
        if options["golden"] is not None or options["svg"] is not None:
            shown = report.shortest or simulate(seeds[0], setup, Memory())
            if options["golden"] is not None:
                write_file(options["golden"], script_of(shown, setup.without))
            if options["svg"] is not None:
                write_file(options["svg"], picture_of_run(shown, without_lines(setup.without)))
        if options["json"]:
            self.stdout.write(json.dumps(_json(report, setup), indent=2))
        else:
            self._print(report, setup)
        raise SystemExit(0 if report.found is None else 1)

    def _watch(self, runs: int, *, quiet: bool) -> Callable[[Report], bool]:
        began = shown_at = time.monotonic()

        def watch(report: Report) -> bool:
            nonlocal shown_at
            now = time.monotonic()
            report.seconds = now - began
            if not quiet and now - shown_at >= REPORTS_EVERY_S:
                shown_at = now
                rate = report.runs / report.seconds
                self.stderr.write(f"{report.runs} of {runs} runs, {rate:.0f}/s, {report.events} events", ending="\n")
            return True

        return watch

    def _print(self, report: Report, setup: Setup) -> None:
        self.stdout.write(f"{report.runs} runs, {report.events} events, {report.seconds:.1f} s: {_verdict(report)}")
        if report.found is None or report.shortest is None:
            return
        self.stdout.write(f"shortest: {report.shortest.finding}")
        for number, line in enumerate(lines_of(report.shortest.happened), 1):
            self.stdout.write(f"{number:3}  {line}")
        if report.found.at_end:
            self.stdout.write("     .. then faults stop and time runs on")
        self.stdout.write(f"again: {_command(report.found, setup)}")
        self.stdout.write(f"as a golden script: {_command(report.found, setup)} --golden FILE")


def _verdict(report: Report) -> str:
    if report.found is None:
        return "nothing found"
    return f"seed {report.found.seed}, event {len(report.found.happened)}: {report.found.finding}"


def _command(found: Outcome, setup: Setup) -> str:
    words = ["manage.py simulate --seed", str(found.seed), "--faults", names_of(setup.faults)]
    words += [] if setup.events == EVENTS else ["--events", str(setup.events)]
    words += [f'--without "{rule.value}"' for rule in Without if rule in setup.without]
    return " ".join(words)


def _json(report: Report, setup: Setup) -> dict[str, Any]:
    found = None
    if report.found is not None and report.found.finding is not None and report.shortest is not None:
        found = {
            "seed": report.found.seed,
            "event": len(report.found.happened),
            "rule": report.found.finding.rule,
            "why": report.found.finding.why,
            "at_end": report.found.at_end,
            "shortest": lines_of(report.shortest.happened),
            "command": _command(report.found, setup),
        }
    return {
        "runs": report.runs,
        "events": report.events,
        "seconds": round(report.seconds, 3),
        "faults": names_of(setup.faults),
        "found": found,
        "sometimes": dict(sorted(report.counts.items())),
    }


def _setup(options: dict[str, Any]) -> Setup:
    if not 0 <= options["events"] <= EVENTS_MAX:
        raise CommandError(f"--events {options['events']} is not between 0 and {EVENTS_MAX}", returncode=2)
    if options["jobs"] < 1:
        raise CommandError(f"--jobs {options['jobs']} is less than 1", returncode=2)
    try:
        return Setup(options["events"], faults_named(options["faults"]), _rules(options["without"]))
    except BadFaults as error:
        raise CommandError(str(error), returncode=2) from error


def _rules(names: list[str]) -> frozenset[Without]:
    try:
        return frozenset(Without(name) for name in names)
    except ValueError as error:
        known = ", ".join(rule.value for rule in Without)
        raise CommandError(f"{error}; rules that can be left out: {known}", returncode=2) from error


def _seeds(options: dict[str, Any]) -> range:
    if options["seed"] is not None:
        return range(options["seed"], options["seed"] + 1)
    first, dots, last = options["seeds"].partition("..")
    if not (dots and first.isdigit() and last.isdigit() and int(first) <= int(last)):
        raise CommandError(f"--seeds {options['seeds']!r} is not of the form A..B, such as {SEEDS}", returncode=2)
    return range(int(first), int(last) + 1)
