"""A node whose wall clock is an hour wrong shows a wrong time, and nothing else is different."""

import re
import time
from pathlib import Path

from tests.nodes.conftest import ROOT, Cluster

WALL_CLOCK = re.compile(r"\btime\.time\(|datetime\.now\(|\butcnow\(|timezone\.now\(|import now\b")
KNOWN = {
    "catalog/clock.py",  # the clock itself
    "catalog/live/right_to_follow.py",  # whether a browser's session has expired, as Django asks at each page
    "catalog/live/snapshot.py",  # pages and the web's greeting
    "catalog/story_list/views.py",  # the name of a file to take away
    "catalog/templatetags/look.py",  # pages
    "changes/notifications/webhook.py",  # a signature's time, for whoever receives it
    "changes/proofs.py",  # page and lab worker
    "changes/records/keeping.py",  # which changes have been over for long enough to be drawn for good
    "changes/selectors.py",  # how long a run has been silent, for a page
    "changes/records/windows.py",  # whether a change ended too long ago for its leases to be kept
    "leases/admin.py",  # seconds that are left, for a page
    "nodes/console/hold.py",  # when a hold ends, on its page; its session ends by a timer
    "nodes/traffic/running.py",  # the second that a figure is of, on its page
    "nodes/traffic/runs.py",  # when a run of traffic ends, and whether it still reports
    "changes/submission/rate_limits.py",  # how many in a minute; a far clock's rows do not count
}
"""Where a wall clock is read. Whoever adds one says why nothing is judged by it."""


def test_every_use_of_a_wall_clock_is_known() -> None:
    packages = ("catalog", "expressions", "storage", "leases", "changes", "nodes")
    files = [file for package in packages for file in (ROOT / package).rglob("*.py")]
    found = {
        str(file.relative_to(ROOT))
        for file in files
        if WALL_CLOCK.search(Path(file).read_text()) and "migrations" not in file.parts
    }
    assert found == KNOWN


def test_a_node_with_a_wrong_clock_uses_renews_and_commits_as_others_do(cluster: Cluster) -> None:
    table = cluster.table("id bigint PRIMARY KEY, at timestamptz DEFAULT now()")
    cluster.start("late", lease_s=2.0, NODE_CLOCK_OFFSET_S="late=-3600")
    try:
        with cluster.connect("late") as client, cluster.store() as store:
            client.execute("BEGIN")
            client.execute(f"INSERT INTO {table} (id) VALUES (1)")
            time.sleep(2.2)  # beyond a lease: it is renewed, and the deadline moves with it
            client.execute("COMMIT")
            at = client.execute(f"SELECT at FROM {table}").fetchone()
            [(behind_s,)] = store.execute("SELECT extract(epoch FROM clock_timestamp() - %s)", at).fetchall()
            assert 3500 < behind_s < 3700
            [(left_s, silent_s)] = store.execute(
                "SELECT max(extract(epoch FROM l.expires_at - clock_timestamp())),"
                " max(extract(epoch FROM clock_timestamp() - n.heartbeat_at))"
                " FROM leases_lease l JOIN leases_node n ON n.name = l.node WHERE n.name = 'late'"
            ).fetchall()
            assert left_s <= 2.0
            assert silent_s < 60
        with cluster.connect("n1") as other:
            assert other.execute(f"SELECT id FROM {table}").fetchall() == [(1,)]
    finally:
        cluster.stop("late")
