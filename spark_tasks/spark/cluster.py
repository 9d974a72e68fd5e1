"""A session on a standalone cluster of Spark (docs/how-to/run-on-a-spark-cluster.md).

Executors get a zip of our packages and connect to the database at DATABASE_URL by themselves. They call this machine
back, so the session listens where the master reaches it. SPARK_SECRET encrypts connections; it goes by a private file,
since arguments of a JVM are visible. A load reads its file at the same path on each machine.
"""

import os
import shlex
import socket
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

CODE = ("catalog", "expressions", "leases", "spark_tasks", "storage")
"""The packages that tasks import from, and with them whatever is in those."""
LOCAL_ADDRESS = "127.0.0.1"
PORT = 7077
CONNECT_S_MAX = 5.0
ANY_PORT = 9
"""No packet is sent to it."""


class NoMaster(Exception):
    """No master of the cluster takes a session."""


def is_cluster(master: str) -> bool:
    return master.startswith("spark://")


def address_of_master(master: str) -> str:
    """The host of the first master: spark://HOST:PORT,HOST:PORT."""
    return urlsplit(master.split(",")[0]).hostname or LOCAL_ADDRESS


def require_master(master: str) -> None:
    """Raises `NoMaster` at once, where Spark would try for a minute."""
    refusals = []
    for place in master.removeprefix("spark://").split(","):
        try:
            where = urlsplit(f"spark://{place}")
            with socket.create_connection((where.hostname or LOCAL_ADDRESS, where.port or PORT), CONNECT_S_MAX):
                return
        except (OSError, ValueError) as error:
            refusals.append(f"{place}: {getattr(error, 'strerror', None) or error}")
    raise NoMaster(f"SPARK_MASTER={master} cannot be reached ({'; '.join(refusals)})")


def refused(master: str) -> NoMaster:
    ask = "is SPARK_SECRET its secret, and its version of Spark ours? Its log has more"
    return NoMaster(f"SPARK_MASTER={master} took no session: {ask}")


def own_address(master: str) -> str:
    """This machine's address towards the master. Raises `OSError`."""
    family, kind, _, _, peer = socket.getaddrinfo(address_of_master(master), ANY_PORT, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as way:
        way.connect(peer)
        return str(way.getsockname()[0])


def configuration(*, address: str, python: str, executor_mb: int, secret: str) -> dict[str, str]:
    return {
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.pyspark.python": python,
        "spark.executor.memory": f"{executor_mb}m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.authenticate": "true" if secret else "false",
        "spark.network.crypto.enabled": "true" if secret else "false",
    }


def submit_arguments(scratch: Path, secret: str) -> str:
    if not secret:
        return "pyspark-shell"
    kept = scratch / "cluster.conf"
    kept.unlink(missing_ok=True)
    with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"spark.authenticate.secret={escaped(secret)}\n")
    return f"--load-spark-defaults --properties-file {shlex.quote(str(kept))} pyspark-shell"


def escaped(value: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else f"\\u{ord(c):04x}" for c in value)


def code_archive(root: Path, scratch: Path) -> Path:
    """The packages that tasks import, as one file."""
    archive = scratch / "schemalab.zip"
    unfinished = archive.with_suffix(".new")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as zipped:
        for package in CODE:
            for path in sorted((root / package).rglob("*.py")):
                zipped.write(path, path.relative_to(root))
    unfinished.replace(archive)
    return archive
