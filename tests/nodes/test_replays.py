"""Sessions of the stage on real nodes: the audit says what the model said, and nothing is left behind."""

import json
import subprocess
import sys

import pytest

from lab.replays.feats import FEATS
from lab.sessions.session import Session, encode
from tests.nodes.conftest import ROOT, Cluster

AHEAD = ("publish.2", "n2.acquire")
HELD = ("n1: hold", "step", "n2: insert t (1, 1)", "n1: delete t (1)", "n1: deliver", "n1: flush", "step", "step")


def statement(node: str, write: str) -> tuple[str, ...]:
    return tuple(f"{node}.{step}" for step in ("begin", "read.1", f"write.{write}", "commit"))


def replayed(cluster: Cluster, *steps: str) -> dict[str, object]:
    return outcome_of(cluster, Session("one-jump", steps=steps))


def outcome_of(cluster: Cluster, session: Session) -> dict[str, object]:
    command = [sys.executable, "manage.py", "lab", "replay", "--json", encode(session, len(session.steps))]
    done = subprocess.run(command, cwd=ROOT, env=cluster.environ(), capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 3), done.stderr + done.stdout
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def sandboxes_left(cluster: Cluster) -> int:
    with cluster.store() as store:
        row = store.execute(
            "SELECT count(*) FROM catalog_table t WHERE t.sandbox_of IS NOT NULL AND t.state <> 'dropped'"
            " AND NOT EXISTS (SELECT FROM changes_change c WHERE c.table_id = t.id AND c.statement LIKE 'DROP%')"
        ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.usefixtures("worker")
@pytest.mark.soak
def test_the_missing_entry_on_live_nodes(cluster: Cluster) -> None:
    """n1 keeps a transaction of v1 open and inserts; v2 is public meanwhile: found by table, not by index."""
    outcome = replayed(cluster, *AHEAD, *statement("n1", "insert.1.1"))
    assert (outcome["result"], outcome["model"], outcome["cluster"], outcome["agree"]) == (
        "compared",
        ["C4"],
        ["C4"],
        True,
    )
    assert sandboxes_left(cluster) == 1, "kept for a look"
    with cluster.store() as store:
        row = store.execute("SELECT done, times FROM lab_replay ORDER BY id DESC LIMIT 1").fetchone()
    assert row is not None
    assert len(row[1]) == row[0] > 0
    assert row[1] == sorted(row[1])


@pytest.mark.soak
@pytest.mark.usefixtures("worker")
def test_a_statement_that_waits_for_its_own_session_ends_the_replay(cluster: Cluster) -> None:
    """In the model both insert row 1, the first commit wins; a node takes the row at once, and nobody else may."""
    both = ("n1.begin", "n1.read.1", "n1.write.insert.1.1", "n2.begin", "n2.read.1", "n2.write.insert.1.2")
    outcome = replayed(cluster, "publish.2", "n2.acquire", *both, "n1.commit")
    assert (outcome["result"], outcome["why"]) == ("unable", "waits"), outcome
    assert sandboxes_left(cluster) == 0


@pytest.mark.usefixtures("worker")
def test_the_orphan_on_live_nodes(cluster: Cluster) -> None:
    """News is withheld from n1, which deletes a row whose entry it does not know."""
    outcome = replayed(cluster, *AHEAD, *statement("n2", "insert.1.1"), *statement("n1", "delete.1.0"))
    assert (outcome["result"], outcome["cluster"], outcome["agree"]) == ("compared", ["C5"], True), outcome
    assert sandboxes_left(cluster) == 1, "kept for a look"
    assert cluster.read("SELECT count(*) FROM leases_withheldnews") == [(0,)]


@pytest.mark.usefixtures("worker")
def test_news_that_is_held_on_live_nodes(cluster: Cluster) -> None:
    """v2 is out, n2 writes under it, n1 under v1, and the change waits until n1 has heard."""
    outcome = outcome_of(cluster, Session("news", steps=HELD))
    assert (outcome["result"], outcome.get("ends"), outcome.get("agree")) == (
        "compared",
        {"model": "public", "cluster": "public"},
        True,
    ), outcome
    assert sandboxes_left(cluster) == 1, "kept for a look"


@pytest.mark.soak
@pytest.mark.usefixtures("worker")
def test_a_change_whose_news_is_lost_on_live_nodes(cluster: Cluster) -> None:
    """It takes until both nodes have renewed their leases, at half of 30 s."""
    session = FEATS["lost-news"].replay
    assert session is not None
    outcome = outcome_of(cluster, session)
    assert (outcome["result"], outcome.get("ends"), outcome.get("agree")) == (
        "compared",
        {"model": "public", "cluster": "public"},
        True,
    ), outcome
    assert cluster.read("SELECT count(*) FROM leases_withheldnews") == [(0,)]


@pytest.mark.usefixtures("worker")
@pytest.mark.soak
def test_an_old_version_that_is_not_the_first_on_live_nodes(cluster: Cluster) -> None:
    """n1 uses delete-only before it keeps a transaction open under it: v3 waits until it has heard of v2."""
    session = FEATS["missing-entry-delete-only"].replay
    assert session is not None
    outcome = outcome_of(cluster, session)
    assert (outcome["result"], outcome["cluster"], outcome["agree"]) == ("compared", ["C4"], True)
    assert sandboxes_left(cluster) == 1, "kept for a look"
