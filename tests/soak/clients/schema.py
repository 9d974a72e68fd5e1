"""Submits schema changes, through nodes or by command; pauses, resumes and cancels them."""

import contextlib
import json
import subprocess
import sys
from collections import Counter
from typing import Any

import psycopg

from tests.harness.cluster import ROOT, RunningCluster
from tests.soak.clients.actors import Actor, Stage
from tests.soak.clients.outcomes import Outcome
from tests.soak.clients.sessions import Session
from tests.soak.kinds import KINDS, REFUSALS, ROWS_FORBID

CHANGE_S_MAX = 300.0
COMMAND_S_MAX = 240.0
COMMAND_WAITS_S, COMMANDS_SHARE = 45.0, 0.15
OPEN = (
    "SELECT id, status, statement FROM changes_change WHERE status NOT IN ('done', 'failed', 'cancelled') ORDER BY id"
)


class Changer(Actor):
    """Changes one table's schema, one statement after the other, without knowing what others made of it."""

    pause_s = 1.0

    def __init__(self, table: str, stage: Stage, cluster: RunningCluster) -> None:
        super().__init__(f"schema of {table}", stage)
        self._kinds = [kind for kind in KINDS if kind.table == table]
        self._cluster = cluster
        self._is_there: Counter[str] = Counter()

    def act(self) -> None:
        kind = self.chance.choice(self._kinds)
        statement = kind.back if self._is_there[kind.name] else kind.there
        self.stage.chronicle.note(self.name, statement)
        if self.chance.random() < COMMANDS_SHARE:
            was_done = self._by_command(statement)
        else:
            was_done = self._through_node(statement)
        if was_done or self.chance.random() < 0.5:  # else it may have been done by somebody who never heard of it
            self._is_there[kind.name] ^= 1

    def _through_node(self, statement: str) -> bool:
        """Submitted as SQL; followed until it ends, or until the connection is lost."""

        def body(session: Session) -> None:
            session.ask(statement, limit_s=CHANGE_S_MAX)

        allowed = REFUSALS + ROWS_FORBID
        outcome, sqlstate = self.session.transact("schema change through a node", body, single=True, also=allowed)
        self.stage.chronicle.note(self.name, f"{outcome.value} {sqlstate or ''}: {statement}")
        return outcome is Outcome.DONE

    def _by_command(self, statement: str) -> bool:
        arguments = ("change", "submit", statement, "--wait", "--timeout", str(COMMAND_WAITS_S))
        return manage(self._cluster, self.stage, self.name, *arguments) == 0


class Operator(Actor):
    """Looks at what is open, and pauses, resumes or cancels some of it."""

    pause_s = 4.0

    def __init__(self, stage: Stage, cluster: RunningCluster) -> None:
        super().__init__("operator", stage)
        self._cluster = cluster
        self.counts: Counter[str] = Counter()

    def act(self) -> None:
        changes = open_changes(self._cluster)
        paused = [change_id for change_id, status, _ in changes if status == "paused"]
        if paused and self.chance.random() < 0.7:
            return self._command("resume", self.chance.choice(paused))
        if changes:
            action = self.chance.choices(("pause", "cancel", "resume"), (4, 3, 1))[0]
            self._command(action, self.chance.choice(changes)[0])
        return None

    def _command(self, action: str, change_id: int) -> None:
        code = manage(self._cluster, self.stage, self.name, "change", action, str(change_id))
        self.counts[action if code == 0 else f"{action} refused"] += 1


def open_changes(cluster: RunningCluster) -> list[tuple[int, str, str]]:
    """Changes that have not ended; nothing while the store is away."""
    with (
        contextlib.suppress(psycopg.OperationalError),
        psycopg.connect(cluster.database_url, autocommit=True, connect_timeout=5) as database,
    ):
        return [(row[0], row[1], row[2]) for row in database.execute(OPEN).fetchall()]
    return []


def manage(cluster: RunningCluster, stage: Stage, who: str, *arguments: str) -> int | None:
    """The exit code of a command, written down; None when it gave no answer in time."""
    with stage.waits.wait(who, f"manage.py {' '.join(arguments)}", limit_s=COMMAND_S_MAX + 10):
        try:
            done = subprocess.run(
                [sys.executable, "manage.py", *arguments],
                cwd=ROOT,
                env=cluster.env,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_S_MAX,
            )
        except subprocess.TimeoutExpired:
            stage.chronicle.violation(who, f"no answer within {COMMAND_S_MAX:g} s: manage.py {' '.join(arguments)}")
            return None
    last = " ".join(done.stderr.strip().splitlines()[-1:])
    stage.chronicle.note(who, f"manage.py {' '.join(arguments)}: {done.returncode} {last}")
    if "Traceback" in done.stderr and not is_store_away(done.stderr):
        stage.chronicle.violation(who, f"manage.py {' '.join(arguments)} ended in a traceback: {last}")
    return done.returncode


def is_store_away(stderr: str) -> bool:
    """True when a command says that the store was lost while it ran: it has nothing else to say then."""
    return "OperationalError" in stderr


def snapshot_of(cluster: RunningCluster, change_id: int) -> dict[str, Any]:
    """The output of `change show` for a change."""
    done = cluster.manage("change", "show", str(change_id), "--json", seconds_max=COMMAND_S_MAX)
    return dict(json.loads(done.stdout)) if done.stdout.startswith("{") else {"stderr": done.stderr[-2000:]}
