"""The command line of a storm, and the seed it is told by."""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

MINUTES, NODES, LEASE_S = 10.0, 3, 6.0
SABOTAGES = ("row", "entry", "acknowledged")


@dataclass(frozen=True, slots=True)
class Options:
    """`sabotage` is a fault made on purpose, which must be found; `is_calm`: no strikes."""

    minutes: float = MINUTES
    seed: int = 0
    nodes: int = NODES
    lease_s: float = LEASE_S
    keep: Path | None = None
    as_json: bool = False
    is_calm: bool = False
    sabotage: str = ""


def parse(arguments: list[str] | None = None) -> Options:
    """The options asked for; bad usage ends the process with 2 and one clear line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description="A storm over a whole cluster and an independent judge. Exit code 0: clean, 1: a rule was broken.",
    )
    parser.add_argument("--minutes", type=positive, default=MINUTES, help=f"how long it lasts (default: {MINUTES:g})")
    parser.add_argument("--seed", type=int, default=None, help="the chance of all actors (default: a new one)")
    parser.add_argument("--nodes", type=int, choices=range(1, 10), default=NODES, metavar="N", help="1 to 9 nodes")
    parser.add_argument("--lease", type=positive, default=LEASE_S, metavar="S", help="length of a lease in seconds")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the logs there in any case")
    parser.add_argument("--calm", action="store_true", help="strike nothing: clients and schema changes alone")
    parser.add_argument("--sabotage", choices=SABOTAGES, default="", help="make a fault that must be found")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args(arguments)
    return Options(
        minutes=given.minutes,
        seed=random.randrange(10**6) if given.seed is None else given.seed,
        nodes=given.nodes,
        lease_s=given.lease,
        keep=given.keep,
        as_json=given.json,
        is_calm=given.calm,
        sabotage=given.sabotage,
    )


def positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 10_000:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 10000")
    return number
