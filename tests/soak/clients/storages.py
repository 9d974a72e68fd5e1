"""Adds and removes storages and spreads tables over them, by command; some commands are killed half-way."""

import contextlib
import signal
import subprocess
import sys
from collections import Counter

import psycopg

from tests.harness.cluster import ROOT, RunningCluster
from tests.soak.clients.actors import Actor, Stage
from tests.soak.clients.schema import manage
from tests.soak.kinds import TABLES

STORAGES_MAX = 4
"""More than what any kind of change asks for."""
KILLED_SHARE, KILLED_AFTER_S_MAX = 0.25, 4.0
EXISTING = "SELECT existing FROM storage_layout"


class StorageKeeper(Actor):
    """There is always work: a storage more, or one less where nothing uses it, and tables that move between them."""

    pause_s = 4.0

    def __init__(self, stage: Stage, cluster: RunningCluster) -> None:
        super().__init__("storages", stage)
        self._cluster = cluster
        self.counts: Counter[str] = Counter()

    def act(self) -> None:
        existing = storages_there(self._cluster)
        action = self.chance.choices(("add", "remove", "spread"), (3, 4, 3))[0]
        if existing is None or (action == "add" and existing >= STORAGES_MAX):
            return
        arguments = ["storages", action]
        if action == "spread":
            arguments += [str(self.chance.randint(1, existing)), "--table", self.chance.choice(TABLES)]
        if action != "spread" and self.chance.random() < KILLED_SHARE:
            self.counts[f"storages {action}: {self._killed(*arguments)}"] += 1
            return
        code = manage(self._cluster, self.stage, self.name, *arguments)
        self.counts[f"storages {action}: {'done' if code == 0 else 'refused' if code == 1 else code}"] += 1

    def _killed(self, *arguments: str) -> str:
        """The command is killed after a while, wherever it is then; the next one goes on from there."""
        with subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self._cluster.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.chance.random() * KILLED_AFTER_S_MAX)
            process.kill()
        how = "killed" if process.returncode == -signal.SIGKILL else "ended before"
        self.stage.chronicle.note(self.name, f"manage.py {' '.join(arguments)}: {how}")
        return how


def storages_there(cluster: RunningCluster) -> int | None:
    """The number of storages; None while the store is away."""
    with (
        contextlib.suppress(psycopg.OperationalError),
        psycopg.connect(cluster.database_url, autocommit=True, connect_timeout=5) as database,
    ):
        ((existing,),) = database.execute(EXISTING).fetchall()
        return int(existing)
    return None
