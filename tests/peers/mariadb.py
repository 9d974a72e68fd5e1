"""MariaDB with the tools of its world, on a server of its own: durable commits, a buffer that holds the table."""

import getpass
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schemalab.polling import wait_for
from tests.peers import installed
from tests.peers.rows import NAMES, TABLE, write_csv
from tests.peers.tools import INDEX, TYPE, Tool
from tools.bench.writers import RETRIES_MAX, Latencies, paced

START_S_MAX, STOP_S_MAX, CHANGE_S_MAX = 60.0, 60.0, 3600.0
DATABASE = "bench"
COLUMNS = "id bigint PRIMARY KEY, name varchar(100), age integer, score double, note varchar(100), born date"
OPTIONS = (
    "--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G", "--innodb-flush-log-at-trx-commit=1",
    "--bind-address=127.0.0.1", "--local-infile=1", "--server-id=1", "--skip-name-resolve",
)  # fmt: skip
FOR_GH_OST = ("--log-bin", "--binlog-format=ROW")
MEETS_OTHERS = (1205, 1213)
"""Errors after which a correct client tries again: a lock that took too long, a deadlock."""
CHANGES = (
    (INDEX, "ADD INDEX bench_index (name)", "DROP INDEX bench_index"),
    (TYPE, "MODIFY age bigint", "MODIFY age integer"),
)
COPIED = "the number of rows copied; no row is compared"


@contextmanager
def tools(rows: int) -> Iterator[list[Tool]]:
    """Raises `Missing`."""
    with tempfile.TemporaryDirectory(prefix="schemalab-peers-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with server(folder) as socket:
            load(socket, write_csv(folder, rows))
            found = []
            for task, there, back in CHANGES:
                found.append(
                    _tool(socket, "pt-online-schema-change", task, there, back, COPIED, percona(socket, there))
                )
                if shutil.which("gh-ost"):
                    found.append(_tool(socket, "gh-ost", task, there, back, COPIED, gh_ost(folder, there)))
                plain = client(socket, f"ALTER TABLE {TABLE} {there}")
                checks = "what it builds is right by construction"
                found.append(_tool(socket, "MariaDB, ALTER TABLE", task, there, back, checks, plain))
            yield found


def _tool(socket: str, name: str, task: str, there: str, back: str, checks: str, command: list[str]) -> Tool:
    undo = client(socket, f"ALTER TABLE {TABLE} {back}")
    return Tool(name, task, f"`{there}`", checks, lambda: run(command), lambda: run(undo), socket, write)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The socket of a server that is ready."""
    base, data, socket = installed.base(), folder / "data", str(folder / "sql.sock")
    user = f"--user={getpass.getuser()}"
    here = ["--no-defaults", f"--basedir={base}", f"--datadir={data}", user]
    run(["mariadb-install-db", *here, "--auth-root-authentication-method=normal", "--skip-test-db"])
    messages = [f"--lc-messages-dir={base / 'share' / 'mysql'}", f"--plugin-dir={base / 'lib' / 'mysql' / 'plugin'}"]
    logs = FOR_GH_OST if shutil.which("gh-ost") else ()
    command = ["mariadbd", *here, *messages, *OPTIONS, *logs, f"--socket={socket}", f"--port={port_of(folder)}"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, env=installed.environment(), stdout=log, stderr=log)
        try:
            wait_for(lambda: is_ready(socket), what=f"MariaDB ({folder / 'server.log'})", seconds_max=START_S_MAX)
            yield socket
        finally:
            process.terminate()
            process.wait(STOP_S_MAX)


def port_of(folder: Path) -> int:
    """A port that is free, the same one for the same folder."""
    kept = folder / "port"
    if not kept.exists():
        import socket

        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            kept.write_text(json.dumps(one.getsockname()[1]))
    return int(kept.read_text())


def is_ready(socket: str) -> bool:
    command = client(socket, "SELECT 1", database="")
    return subprocess.run(command, env=installed.environment(), capture_output=True, check=False).returncode == 0


def load(socket: str, path: Path) -> None:
    run(client(socket, f"CREATE DATABASE {DATABASE}", database=""))
    run(client(socket, f"CREATE TABLE {TABLE} ({COLUMNS})"))
    fields = "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'"
    run(client(socket, f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {TABLE} {fields} ({', '.join(NAMES)})"))
    run(client(socket, f"ANALYZE TABLE {TABLE}"))


def client(socket: str, statement: str, database: str = DATABASE) -> list[str]:
    return [
        "mariadb",
        "--no-defaults",
        "--user=root",
        f"--socket={socket}",
        "--local-infile=1",
        f"--execute={statement}",
        *filter(None, [database]),
    ]


def percona(socket: str, alter: str) -> list[str]:
    quiet = ["--execute", "--no-version-check", "--recursion-method=none", "--charset=utf8mb4"]
    return ["pt-online-schema-change", *quiet, f"--alter={alter}", f"S={socket},u=root,D={DATABASE},t={TABLE}"]


def gh_ost(folder: Path, alter: str) -> list[str]:
    where = [
        "--host=127.0.0.1",
        f"--port={port_of(folder)}",
        "--user=root",
        f"--database={DATABASE}",
        f"--table={TABLE}",
    ]
    again = ["--initially-drop-ghost-table", "--initially-drop-old-table", "--ok-to-drop-table"]
    return ["gh-ost", *where, f"--alter={alter}", "--allow-on-master", *again, "--execute"]


def run(command: list[str]) -> None:
    done = subprocess.run(
        command, env=installed.environment(), capture_output=True, text=True, check=False, timeout=CHANGE_S_MAX
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def write(address: str, table: str, rows: int, per_s: float, stop: Any) -> Latencies:
    """The same client as that of `tools.bench.writers`, in MariaDB's protocol."""
    sys.path.insert(0, str(installed.client_folder()))
    import pymysql

    connection = pymysql.connect(unix_socket=address, user="root", database=DATABASE, autocommit=True)

    def update(row: int, name: str) -> int:
        for again in range(RETRIES_MAX):
            try:
                with connection.cursor() as cursor:
                    cursor.execute(f"UPDATE {table} SET name = %s WHERE id = %s", (name, row))
            except pymysql.err.MySQLError as error:
                if error.args[0] not in MEETS_OTHERS:
                    return -1
                continue
            return again
        return -1

    with connection:
        return paced(update, rows, per_s, stop)
