"""One run of TLC: a module, a configuration, and the answer. Each has a folder of its own, since TLC unpacks modules
under fixed names. Runs end by the number of states, not by the clock, which other work slows down."""

import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spark_tasks.spark.java import find_java
from tools.tlc.jar import tlc_jar

SPECS = Path(__file__).parents[2] / "docs" / "spec"
HEAP = "2g"
RUN_S_MAX = 4 * 3600
"""A run that hangs ends here; one that is only slow does not come near."""


class TlcFailed(Exception):
    """A mistake in the module or in its configuration, or no memory."""


@dataclass(frozen=True, slots=True)
class Config:
    module: str
    specification: str
    constants: Mapping[str, str]
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    symmetry: str = ""
    view: str = ""
    workers: int = 1

    def text(self) -> str:
        """A constant that is a definition of the module is written `<-`."""
        lines = [f"SPECIFICATION {self.specification}", "CONSTANTS"]
        lines += [f"  {name} {value}" for name, value in self.constants.items()]
        lines += [f"SYMMETRY {self.symmetry}"] if self.symmetry else []
        lines += [f"VIEW {self.view}"] if self.view else []
        lines += [f"INVARIANTS {' '.join(self.invariants)}"] if self.invariants else []
        lines += [f"PROPERTIES {' '.join(self.properties)}"] if self.properties else []
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Result:
    """TLC's answer. `broken` is the failing invariant or property, "" if all hold; `trace` leads there. `cpu_s`
    includes the start of Java. A trace of liveness returns to its state number `again` (from 1), or ends (0)."""

    broken: str
    distinct: int
    trace: tuple[Mapping[str, str], ...] = field(repr=False)
    cpu_s: float = 0.0
    again: int = 0

    @property
    def events(self) -> int:
        return max(len(self.trace) - 1, 0)


def run(config: Config) -> Result:
    """Raises `TlcFailed`."""
    java, jar = find_java().home / "bin" / "java", tlc_jar()
    with tempfile.TemporaryDirectory(prefix="schema-lab-tlc-") as folder:
        for module in SPECS.glob("*.tla"):
            shutil.copy(module, folder)  # this TLC finds a configuration beside its module only
        Path(folder, f"{config.module}.cfg").write_text(config.text())
        command: list[str | Path] = [
            java,
            f"-Xmx{HEAP}",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Djava.io.tmpdir={folder}",
        ]
        command += [
            "-cp",
            jar,
            "tlc2.TLC",
            "-deadlock",
            "-nowarning",
            "-workers",
            str(config.workers),
            "-metadir",
            folder,
        ]
        command += ["-fp", "0", "-lncheck", "final", f"{config.module}.tla"]  # else another trace in each run
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_S_MAX,
            stdin=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return read(done.stdout, spent)


_BROKEN = re.compile(
    r"(?:Invariant (\w+) is violated|Action property (?:(\w+)|line .*) is violated|(Temporal properties) were violated)"
)
_STATE = re.compile(r"^(?:State )?(\d+): ?<(.*?)>$\n((?:^(?!\n).+$\n?)*)", re.MULTILINE)


def read(output: str, cpu_s: float) -> Result:
    """Raises `TlcFailed`."""
    counts = re.findall(r"([\d,]+) distinct states found", output)
    broken = _BROKEN.search(output)
    if not counts or not (broken or "No error has been found" in output):
        raise TlcFailed(output[-3000:])
    name = (
        ""
        if broken is None
        else broken[1] or broken[2] or ("Refines" if broken[0].startswith("Action") else "liveness")
    )
    trace = tuple(_variables(match[3]) for match in _STATE.finditer(output))
    again = re.search(r"^Back to state (\d+)", output, re.MULTILINE)
    return Result(name, int(counts[-1].replace(",", "")), trace, cpu_s, int(again[1]) if again else 0)


def _variables(text: str) -> dict[str, str]:
    parts = re.split(r"^/\\ (\w+) = ", text, flags=re.MULTILINE)[1:]
    return {name: " ".join(value.split()) for name, value in zip(parts[::2], parts[1::2], strict=True)}
