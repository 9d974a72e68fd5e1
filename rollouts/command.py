"""`python -m rollouts check FILE`: is this order of deploys safe?

Needs Python and the parser only (`requirements-rollouts.txt`).
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rollouts.file import FileMistake, rollout_of
from rollouts.findings import BROKEN, PROVED, Answer, answer_of
from rollouts.repairs import Repair, repair_of
from rollouts.report import as_markdown, as_text
from rollouts.search import SECONDS_MAX, WORLDS_MAX, Budget
from rollouts.statements.errors import NotModelled

EXIT_PROVED, EXIT_BROKEN, EXIT_FILE, EXIT_BOUNDS, EXIT_NOT_MODELLED = 0, 1, 2, 3, 4


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    main = argparse.ArgumentParser(
        prog="python -m rollouts", description="Explore a rollout of schema and application."
    )
    commands = main.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="explore every schedule of a rollout's file")
    check.add_argument("file", help="the rollout, a TOML file; - reads standard input")
    check.add_argument("--rows", type=int, choices=(1, 2), help="how many rows (default: as many as matter)")
    check.add_argument("--worlds", type=int, default=WORLDS_MAX, help="stop after so many worlds")
    check.add_argument(
        "--seconds", type=float, default=SECONDS_MAX, help="stop after so many seconds of processor time"
    )
    check.add_argument("--repair", action="store_true", help="look for a change of the order that is safe")
    shape = check.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print the answer as JSON")
    shape.add_argument("--markdown", action="store_true", help="print it for a pull request")
    return main


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 0 proved, 1 broken, 2 file wrong, 3 bounds reached, 4 not modelled."""
    options = parser().parse_args(arguments)
    return check(options)


def check(options: argparse.Namespace) -> int:
    """Explore the file and print the answer."""
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print(f"cannot read {options.file}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return EXIT_FILE
    budget = Budget(options.worlds, options.seconds)
    try:
        rollout = rollout_of(text)
        answer = answer_of(rollout, rows=options.rows, budget=budget)
        repair = repair_of(answer, budget) if options.repair and answer.verdict == BROKEN else None
    except FileMistake as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return EXIT_FILE
    except NotModelled as error:
        print(f"{options.file}: not modelled: {error}", file=sys.stderr)
        return EXIT_NOT_MODELLED
    print(_printed(answer, repair, options))
    return {PROVED: EXIT_PROVED, BROKEN: EXIT_BROKEN}.get(answer.verdict, EXIT_BOUNDS)


def _printed(answer: Answer, repair: Repair | None, options: argparse.Namespace) -> str:
    if options.json:
        body = answer.to_json()
        if options.repair:
            body["repair"] = repair.to_json() if repair else None
        return json.dumps(body, indent=2, ensure_ascii=False)
    write = as_markdown if options.markdown else as_text
    return write(answer, repair, searched=options.repair)
