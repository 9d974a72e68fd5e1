"""A real cluster for tests: `manage.py up --no-demo --nodes 3` in a home of its own, with short leases."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schemalab.connections.reachable import check_database
from schemalab.embedded.locations import Locations, locations_of
from schemalab.environment import SETTINGS
from schemalab.supervisor.children import Launch
from schemalab.supervisor.control import send
from tests.harness.services import LEASE_S, private_home

ROOT = Path(__file__).parents[2]
NODES = 3
READY_S_MAX = 90.0
STOP_S_MAX = 40.0
COMMAND_S_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    host: str
    port: int

    @property
    def dsn(self) -> str:
        """SQL through this node, as any client would connect."""
        return f"host={self.host} port={self.port} user=owner dbname=schemalab"


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """All that a test can know and do: addresses, SQL on the real database, manage.py, and its processes."""

    locations: Locations
    env: dict[str, str]
    sign_in_link: str
    nodes: dict[str, Node]
    up: "subprocess.Popen[str]"
    output: list[str]

    @property
    def address(self) -> str:
        return self.sign_in_link.split("/sign-in/")[0]

    @property
    def database_url(self) -> str:
        return self.locations.database_url

    @property
    def redis_url(self) -> str:
        return self.locations.redis_url

    def manage(self, *arguments: str, seconds_max: float = COMMAND_S_MAX) -> "subprocess.CompletedProcess[str]":
        """Run manage.py in the cluster's home; the exit code is the caller's to judge."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds_max,
        )

    def control(self, command: str, name: str) -> str:
        """kill, freeze, thaw or start a process through the control channel."""
        return str(send(self.locations.control_socket, command, name)["text"])

    def processes(self) -> dict[str, dict[str, object]]:
        """name -> {name, state, pid} of every process that `up` supervises."""
        return {process["name"]: process for process in send(self.locations.control_socket, "status")["processes"]}

    def new_sign_in_link(self) -> str:
        return self.manage("signin-link").stdout.strip()


def environment_of(home: Path, **settings: str) -> dict[str, str]:
    """The tests' environment without any of our settings, then these."""
    ours = {setting.name for setting in SETTINGS}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return {**inherited, "SCHEMALAB_HOME": str(home), "SCHEMALAB_ENV_FILE": os.devnull, "LEASE_S": LEASE_S, **settings}


@contextmanager
def running_cluster(
    *, nodes: int = NODES, ready_s_max: float = READY_S_MAX, **settings: str
) -> Iterator[RunningCluster]:
    """Start `up`, wait until it says that it is ready, end it, and remove its home."""
    home = private_home("cluster")
    env = environment_of(home, **settings)
    command = (sys.executable, "manage.py", "up", "--no-demo", "--nodes", str(nodes))
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    up = subprocess.Popen(command, text=True, **streams, **Launch(argv=command, env=env, cwd=ROOT).popen_options())
    listener = Listener(up)
    try:
        link, found = listener.wait_until_ready(nodes, ready_s_max)
        locations = locations_of(home)
        check_database(locations.database_url)
        yield RunningCluster(locations=locations, env=env, sign_in_link=link, nodes=found, up=up, output=listener.lines)
    finally:
        up.terminate()
        try:
            up.wait(STOP_S_MAX)
        finally:
            up.kill()
            listener.join()
            shutil.rmtree(home, ignore_errors=True)


class Listener:
    """Reads what `up` prints, so that it never waits for us, and knows when it is ready."""

    READY = re.compile(r"ready in [0-9.]+ s: (http\S+)")
    SQL = re.compile(r"SQL on (\w+): .* -h (\S+) -U \S+ -p (\d+) ")

    def __init__(self, up: "subprocess.Popen[str]") -> None:
        self._up = up
        self._news = threading.Condition()
        self._is_over = False
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._up.stdout is not None
        for line in self._up.stdout:
            with self._news:
                self.lines.append(line.rstrip())
                self._news.notify_all()
        with self._news:
            self._is_over = True
            self._news.notify_all()

    def wait_until_ready(self, nodes: int, seconds_max: float) -> tuple[str, dict[str, Node]]:
        """The sign-in link, and the nodes by name."""
        with self._news:
            in_time = self._news.wait_for(lambda: self._is_over or len(self._nodes()) == nodes, seconds_max)
            if not in_time or self._is_over:
                raise AssertionError("the cluster did not become ready:\n" + "\n".join(self.lines[-60:]))
            link = next(match[1] for line in self.lines if (match := self.READY.search(line)))
            return link, self._nodes()

    def _nodes(self) -> dict[str, Node]:
        found = [match for line in self.lines if (match := self.SQL.search(line))]
        return {match[1]: Node(name=match[1], host=match[2], port=int(match[3])) for match in found}

    def join(self) -> None:
        self._thread.join(STOP_S_MAX)
