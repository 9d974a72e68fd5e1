"""Replays with a real change, on the whole product: its fill, and nodes that die or freeze and come back."""

import json

import pytest

from lab.replays.feats import FEATS
from lab.sessions.session import Session, encode
from schemalab.polling import wait_for
from tests.harness.cluster import RunningCluster


def replayed(cluster: RunningCluster, session: Session) -> dict[str, object]:
    done = cluster.manage("lab", "replay", "--json", encode(session, len(session.steps)), seconds_max=150)
    assert done.returncode == 0, done.stderr + done.stdout
    outcome: dict[str, object] = json.loads(done.stdout)
    return {key: outcome[key] for key in ("result", "agree", "ends", "cluster")}


AS_THE_MODEL = {"result": "compared", "agree": True, "ends": {"model": "public", "cluster": "public"}, "cluster": []}


@pytest.mark.soak
@pytest.mark.parametrize(
    "session",
    [
        FEATS["correct-run"].replay,
        Session("leases", steps=("n1: crash", "step", "tick 18 s", "step", "step")),
        Session("frozen-node", steps=("n1: freeze", "step", "tick 10 s", "step", "step")),
    ],
    ids=["the correct run", "killed", "frozen: its late commit is refused"],
)
def test_the_cluster_does_what_the_model_says(cluster: RunningCluster, session: Session) -> None:
    assert replayed(cluster, session) == AS_THE_MODEL
    wait_for(lambda: all_serve(cluster), what="all nodes", seconds_max=60)


def all_serve(cluster: RunningCluster) -> bool:
    found = json.loads(cluster.manage("nodes", "--json").stdout)
    return len(found) == 3 and {node["state"] for node in found} == {"up"}
