"""The clients, in the versions that are pinned here: Python's in an environment of their own, others from npm, pgjdbc
from Debian's `libpostgresql-jdbc-java` or JDBC. The page names a runtime that is missing."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOM = Path(__file__).parent
HOME = ROOM.parents[1] / ".clients"
PYTHON = HOME / "venv" / "bin" / "python"
JDBC = Path(os.environ.get("JDBC", "/usr/share/java/postgresql.jar"))


class Missing(Exception):
    """A runtime, or a library that no registry of ours has, is not on this machine."""


@cache
def python() -> Path:
    """The interpreter that has the Python clients."""
    wanted, stamp = (ROOM / "requirements.txt").read_text(), HOME / "venv" / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
        pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--requirement", str(ROOM / "requirements.txt")], check=True)
        stamp.write_text(wanted)
    return PYTHON


@cache
def node_modules() -> Path:
    """The folder with the clients of Node.js. Raises `Missing`."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise Missing("Node.js and npm are not installed")
    wanted, folder = (ROOM / "package.json").read_text(), HOME / "js"
    stamp = folder / "installed.json"
    if not stamp.exists() or stamp.read_text() != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(wanted)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True)
        stamp.write_text(wanted)
    return folder / "node_modules"


@cache
def jdbc() -> Path:
    """pgjdbc's archive. Raises `Missing`."""
    if shutil.which("javac") is None:
        raise Missing("a JDK (17 or newer) is not installed")
    if not JDBC.exists():
        raise Missing("pgjdbc is not installed: Debian has it as libpostgresql-jdbc-java, or set JDBC to its archive")
    return JDBC


@cache
def compiled(folder: Path) -> Path:
    """The folder with the classes of what is written in Java in another."""
    classes = HOME / "java"
    sources = [str(source) for source in sorted(folder.glob("*.java"))]
    subprocess.run(["javac", "-d", str(classes), "-cp", str(jdbc()), *sources], check=True)
    return classes
