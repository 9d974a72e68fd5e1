"""Spark needs Java 17 or newer. PySpark alone says only JAVA_GATEWAY_EXITED, so we look first."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

VERSION_MIN = 17
ANSWER_S_MAX = 20


class NoJava(Exception):
    """No Java that Spark can use."""


def find_java_home(*, jvm_folder: Path = Path("/usr/lib/jvm")) -> Path:
    """JAVA_HOME, else the java on PATH, else the newest in /usr/lib/jvm."""
    seen = []
    for home in _candidates(jvm_folder):
        version = java_version(home)
        if version is not None and version >= VERSION_MIN:
            return home
        seen.append(f"{home} is {'not a Java' if version is None else f'version {version}'}")
    found = f" ({'; '.join(seen)})" if seen else ""
    raise NoJava(
        f"Spark needs Java {VERSION_MIN} or newer, none was found{found}. "
        "Debian: apt-get install openjdk-17-jre-headless; or set JAVA_HOME"
    )


def _candidates(jvm_folder: Path) -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    if jvm_folder.is_dir():
        yield from sorted((home for home in jvm_folder.iterdir() if (home / "bin" / "java").exists()), reverse=True)


def java_version(home: Path) -> int | None:
    """The feature version (17, 21 ..) of the Java in this folder; None when there is none."""
    try:
        answer = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=False, timeout=ANSWER_S_MAX
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(version[1]) if answer.returncode == 0 and version else None
