"""MariaDB and Percona Toolkit as Debian packages them, unpacked into `.peers` unless the machine has them: nothing is
installed on it. gh-ost, in no registry of ours, takes part where it is on PATH."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

HOME = Path(__file__).parents[2] / ".peers"
UNPACKED = HOME / "root"
PACKAGES = ("mariadb-server", "mariadb-client", "percona-toolkit")
PROGRAMS = ("mariadbd", "mariadb", "mariadb-install-db", "pt-online-schema-change")
CLIENT = "PyMySQL==1.1.2"


class Missing(Exception):
    """Something that a peer needs cannot be had here: what, and where it would be from."""


@cache
def environment() -> dict[str, str]:
    """The environment in which the programs are found. Raises `Missing`."""
    if all(shutil.which(program) for program in PROGRAMS):
        return dict(os.environ)
    unpack()
    libraries = [str(path) for path in (*UNPACKED.glob("usr/lib/*-linux-gnu*"), *UNPACKED.glob("lib/*-linux-gnu*"))]
    perl = [str(path) for path in (*UNPACKED.glob("usr/share/perl5"), *UNPACKED.glob("usr/lib/*/perl5/*"))]
    programs = [str(UNPACKED / folder) for folder in ("usr/bin", "usr/sbin")]
    return {
        **os.environ,
        "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "PERL5LIB": os.pathsep.join(perl),
    }


def base() -> Path:
    """The folder in which MariaDB finds its own files."""
    found = shutil.which("mariadbd", path=environment()["PATH"])
    assert found is not None, f"{HOME} has no mariadbd"
    return Path(found).parents[1]


def unpack() -> None:
    """Get what apt would install, and unpack it. Raises `Missing`."""
    stamp = HOME / "packages.txt"
    if stamp.exists() and stamp.read_text().split() == list(PACKAGES):
        return
    if shutil.which("apt-get") is None:
        raise Missing(f"{', '.join(PROGRAMS)}: put them on PATH, this machine has no apt-get to download them with")
    folder = HOME / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    simulated = output_of("apt-get", "--simulate", "--no-install-recommends", "install", *PACKAGES)
    output_of("apt-get", "download", *needed(simulated), cwd=folder)
    for package in sorted(folder.glob("*.deb")):
        output_of("dpkg-deb", "--extract", str(package), str(UNPACKED))
    stamp.write_text("\n".join(PACKAGES))


def needed(simulated: str) -> list[str]:
    """The packages that apt would install, by what it says of it."""
    return [line.split()[1] for line in simulated.splitlines() if line.startswith("Inst ")]


def output_of(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        raise Missing(f"{' '.join(command[:2])}: {last}; `apt-get update` first, perhaps")
    return done.stdout


@cache
def client_folder() -> Path:
    """The folder from which Python imports a client of MariaDB. Raises `Missing`."""
    folder = HOME / "python"
    stamp = folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != CLIENT:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        output_of(*pip, "--upgrade", "--target", str(folder), CLIENT)
        stamp.write_text(CLIENT)
    return folder


def version(*command: str) -> str:
    """The words of a program about its own version."""
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    return " ".join((done.stdout.strip().splitlines() or ["unknown"])[0].split())
