"""The lab's stage: the time of a step, up to 200 steps, on models and on the lab's cluster, without a running cluster.
An answer is all that a page gets (`lab.sessions.shown.SessionView`) as JSON, at random positions of random sessions."""

import json
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace

from lab.sessions.as_json import to_json
from lab.sessions.random_step import random_step
from lab.sessions.replay import new_session, show
from lab.sessions.session import STEPS_MAX, Session
from lab.sessions.setup import MODEL, WORLD
from lab.sessions.setups import SETUPS
from tools.bench.report import Figure, percentile

SEEDS = (1, 2, 3)
ANSWERS = 50
"""Positions of each session at which the stage stands."""

KINDS = {MODEL: "models", WORLD: "the lab's cluster"}


def measure() -> list[Figure]:
    return [figure(kind) for kind in KINDS]


def figure(kind: str) -> Figure:
    """The answers in sessions of all set-ups of this kind that need no parameter."""
    names = [name for name, setup in SETUPS.items() if setup.kind == kind and name != "model"]
    sessions = [long_session(name, seed) for name in names for seed in SEEDS]
    seconds = sorted(second for session in sessions for second in answers(session))
    p95 = percentile(seconds, 0.95)
    steps = statistics.mean(len(session.steps) for session in sessions)
    return Figure(
        f"a step on the stage answered, sessions on {KINDS[kind]}",
        "p95 at most 50 ms",
        f"p50 {1000 * statistics.median(seconds):.1f} ms, p95 {1000 * p95:.1f} ms, worst {1000 * seconds[-1]:.0f} ms",
        f"{len(sessions)} sessions of {len(names)} set-ups, {steps:.0f} steps each on average (at most {STEPS_MAX}), "
        f"{ANSWERS} positions of each: everything shown, as JSON.",
    )


def long_session(name: str, seed: int) -> Session:
    """Random steps until the session is full, or no step can be taken."""
    session = new_session(name)
    while len(session.steps) < STEPS_MAX:
        offer = random_step(show(session), seed)
        if offer is None:
            break
        session = replace(session, steps=(*session.steps, *offer.takes)[:STEPS_MAX])
    return session


def answers(session: Session) -> Iterator[float]:
    choice = random.Random(len(session.steps))
    for _ in range(ANSWERS):
        at = choice.randrange(len(session.steps) + 1)
        began = time.perf_counter()
        json.dumps(to_json(show(session, at)))
        yield time.perf_counter() - began


if __name__ == "__main__":
    for one in measure():
        print(one.what, one.seen, one.method, sep="\n")
