"""`python -m rollouts check FILE`: is this order of deploys safe? Needs requirements-rollouts.txt only."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rollouts.checks import NOT_MODELLED, WRONG, Report, check
from rollouts.findings import BROKEN, PROVED
from rollouts.report import as_markdown, as_text
from rollouts.templates import BY_NAME, NAIVE, PGROLL, SAFE, TEMPLATES, text_of
from rollouts.worlds.search import SECONDS_MAX, WORLDS_MAX, Budget

EXIT_PROVED, EXIT_BROKEN, EXIT_FILE, EXIT_BOUNDS, EXIT_NOT_MODELLED = 0, 1, 2, 3, 4
EXITS = {PROVED: EXIT_PROVED, BROKEN: EXIT_BROKEN, WRONG: EXIT_FILE, NOT_MODELLED: EXIT_NOT_MODELLED}


def parser(prog: str = "python -m rollouts") -> argparse.ArgumentParser:
    main = argparse.ArgumentParser(prog=prog, description="Explore a rollout of schema and application.")
    add_arguments(main)
    return main


def add_arguments(main: argparse.ArgumentParser) -> None:
    commands = main.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="explore every schedule of a rollout's file")
    check.add_argument("file", help="the rollout, a TOML file; - reads standard input")
    check.add_argument("--rows", type=int, choices=(1, 2), help="how many rows (default: as many as matter)")
    check.add_argument("--worlds", type=int, default=WORLDS_MAX, help="stop after so many worlds")
    check.add_argument(
        "--seconds", type=float, default=SECONDS_MAX, help="stop after so many seconds of processor time"
    )
    check.add_argument("--repair", action="store_true", help="look for a change of the plan that is safe")
    check.add_argument("--words", action="store_true", help="print the deploys in Alembic's and Django's words, too")
    shape = check.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print the answer as JSON")
    shape.add_argument("--markdown", action="store_true", help="print it for a pull request")
    templates = commands.add_parser("templates", help="list the templates, or print one")
    templates.add_argument("name", nargs="?", choices=[*BY_NAME], metavar="NAME", help="one of those listed")
    templates.add_argument("form", nargs="?", default=SAFE, choices=(NAIVE, SAFE), help="which form (default: safe)")
    templates.add_argument("--pgroll", action="store_true", help="print pgroll's recipe for it instead")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 proved, 1 broken, 2 file wrong, 3 bounds reached, 4 not modelled."""
    return run(parser().parse_args(arguments))


def run(options: argparse.Namespace) -> int:
    return checked(options) if options.command == "check" else templates(options)


def checked(options: argparse.Namespace) -> int:
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print(f"cannot read {options.file}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return EXIT_FILE
    budget = Budget(options.worlds, options.seconds)
    report = check(text, rows=options.rows, budget=budget, repair=options.repair)
    if options.json:
        _print(json.dumps(_json(report, options), indent=2, ensure_ascii=False))
    elif report.mistake is not None:
        kind = "not modelled: " if report.verdict == NOT_MODELLED else ""
        print(f"{options.file}: {kind}{report.mistake}", file=sys.stderr)
    elif options.markdown:
        _print(as_markdown(report, searched=options.repair))
    else:
        _print(as_text(report, searched=options.repair, words=options.words))
    return EXITS.get(report.verdict, EXIT_BOUNDS)


def _print(text: str) -> None:
    """A reader that stops early, such as `head`, changes neither the answer nor the exit code."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _json(report: Report, options: argparse.Namespace) -> dict[str, object]:
    body = report.to_json()
    if options.repair and report.mistake is None:
        body["repair"] = report.repair.to_json() if report.repair else None
    return body


def templates(options: argparse.Namespace) -> int:
    if options.name is None:
        width = max(map(len, BY_NAME))
        for one in TEMPLATES:
            print(
                f"{one.name:{width}}  {one.title}\n{'':{width}}  naive: {one.mistake}\n{'':{width}}  safe: {one.rule}"
            )
    elif options.pgroll:
        print(PGROLL.get(options.name, f"pgroll has no recipe of its own for {options.name}"))
    else:
        print(text_of(options.name, options.form), end="")
    return 0
