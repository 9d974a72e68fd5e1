"""`python -m tests.soak [--minutes 10] [--seed N]`: exit code 0 clean, 1 a rule was broken, 2 bad usage."""

import contextlib
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.harness.cluster import RunningCluster, running_cluster
from tests.soak import figures, options
from tests.soak.chronicle import LOG
from tests.soak.options import Options
from tests.soak.storm import Figures, Storm, to_stderr

LEFT_S_MAX = 15.0
READY_S_MAX = 300.0
CLOCKS = "n2=3600,n3=-3600"
"""Wall clocks that are wrong: nothing may be judged by them."""
RESULT = "result.json"


def main() -> int:
    chosen = options.parse()
    folder = chosen.keep or Path(tempfile.mkdtemp(prefix="schemalab-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    to_stderr(f"seed {chosen.seed}; {chosen.minutes:g} minutes; log: {folder / LOG}")
    seen = run(chosen, folder)
    (folder / RESULT).write_text(figures.as_json(seen, str(folder)))
    print(figures.as_json(seen, str(folder)) if chosen.as_json else figures.as_text(seen, str(folder)))
    if not seen.violation_count and chosen.keep is None:
        shutil.rmtree(folder)
    return 1 if seen.violation_count else 0


def run(chosen: Options, folder: Path) -> Figures:
    """The storm over a cluster of its own; what that leaves running is a violation, too."""
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell has made its background jobs deaf to it
        signal.signal(number, signal.default_int_handler)
    settings = {"LEASE_S": f"{chosen.lease_s:g}", "NODE_CLOCK_OFFSET_S": CLOCKS}
    with running_cluster(nodes=chosen.nodes, ready_s_max=READY_S_MAX, **settings) as cluster:
        home = str(cluster.locations.home)
        storm = Storm(cluster, chosen, folder, to_stderr)
        try:
            seen = storm.run()
        finally:
            keep_logs(cluster, folder)
    left = leftover_processes(home)
    if left:
        storm.chronicle.violation("end", f"processes are left: {'; '.join(left)}")
        seen.violations, seen.violation_count = storm.chronicle.violations, storm.chronicle.violation_count
    storm.chronicle.close()
    return seen


def keep_logs(cluster: RunningCluster, folder: Path) -> None:
    """The processes' own logs, and what `up` has said, beside the storm's."""
    (folder / "up.log").write_text("\n".join(cluster.output))
    with contextlib.suppress(OSError):
        shutil.copytree(cluster.locations.logs, folder / "logs", dirs_exist_ok=True)


def leftover_processes(home: str) -> list[str]:
    """Processes of this home that outlive `up`."""
    deadline = time.monotonic() + LEFT_S_MAX
    while (left := processes_of(home)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return left


def processes_of(home: str) -> list[str]:
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if one.environ().get("SCHEMALAB_HOME") == home or home in " ".join(one.cmdline()):
                found.append(f"{one.pid} {' '.join(one.cmdline())[:100]}")
    return found


if __name__ == "__main__":
    sys.exit(main())
