"""The requirements and docs/dependencies.md name the same direct dependencies, each pinned and with a reason."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIRECT, INDIRECT = "# Direct", "# Indirect"


def requirement_lines() -> list[str]:
    return (ROOT / "requirements.txt").read_text().splitlines()


def java_lines() -> list[str]:
    return (ROOT / "requirements-java.txt").read_text().splitlines()


def direct_dependencies() -> list[str]:
    lines = requirement_lines()
    starts = [n for n, line in enumerate(lines) if line.startswith((DIRECT, INDIRECT))]
    section = [*lines[starts[0] + 1 : starts[1]], *java_lines()]
    return sorted((line.split("==")[0] for line in section if line and not line.startswith("#")), key=str.lower)


def documented() -> dict[str, str]:
    rows = re.findall(
        r"^\| (\S+) \| [^|]+ \| ([^|]+) \|$", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE
    )
    return {name: reason for name, reason in rows if name != "package"}


def test_every_direct_dependency_has_a_reason_and_every_reason_a_dependency() -> None:
    assert list(documented()) == direct_dependencies()


def test_everything_is_pinned_exactly() -> None:
    pin = re.compile(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*(; python_full_version < \"[0-9.]+\")?")
    lines = [line for line in requirement_lines() + java_lines() if line and not line.startswith("#")]
    loose = [line for line in lines if not pin.fullmatch(line)]
    assert loose == []
