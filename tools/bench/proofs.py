"""The explorer on the two models whose size is fixed: a new index, two or three nodes, everything that may happen."""

from dataclasses import replace

from lab.explorer.model import Model, kinds_described
from lab.explorer.variant import stages
from lab.explorer.verdict import Verdict, explore
from tests.harness.cluster import RunningCluster
from tools.bench.report import Figure

ROUNDS = 3
NEW_INDEX = Model(stages=stages("absent,delete-only,write-only,public"), operations=4, **kinds_described("index"))


def measure(_cluster: RunningCluster) -> list[Figure]:
    return [
        figure("explorer, small model (2 nodes)", "under 1 s", NEW_INDEX),
        figure(
            "explorer, standard model (3 nodes)",
            "under 30 s, at 20 k states/s or with fewer states",
            replace(NEW_INDEX, nodes=3),
        ),
    ]


def figure(what: str, goal: str, explored: Model) -> Figure:
    answers = [explore(explored) for _ in range(ROUNDS)]
    assert all(answer.verdict is Verdict.PROVED for answer in answers), answers
    best = min(answer.seconds for answer in answers)
    return Figure(
        what,
        goal,
        f"proved in {best:.2f} s: {answers[0].states} states, {answers[0].states / best / 1000:.0f} k states/s",
        f"Best of {ROUNDS}, one process. A state is a distinct configuration checked against all clauses; "
        "symmetric ones count once.",
    )
