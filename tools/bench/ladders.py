"""A class of thirty that builds ladders: from *Run it* to the verdict, kept (worked out by the worker after the
release) and searched for (over first rows that are new to the explorer). Learners, server, explorer and database share
the machine's cores."""

import json
import random
import statistics
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import permutations
from typing import Any

from schemalab.polling import wait_for
from tests.harness.cluster import RunningCluster
from tools.bench.classroom import Browser, joined, make_course
from tools.bench.report import Figure, percentile

LEARNERS = 30
SECONDS = 60.0
THINK_S = (2.0, 6.0)
"""Between a verdict and the next order: a tile is moved meanwhile."""

TILES = ("delete-only", "fill", "public", "verify", "write-only")
PREDICTIONS = ("none", "orphan", "missing")
ELEMENT = "unique-index"
"""An index whose rows are verified, so it has all five tiles."""

ROWS = ([1, "-"], [2, "-"], ["-", 1], ["-", 2], [1, 1], [1, 2], [2, 1], [2, 2])
LOOK_S = 0.3
"""The page looks no sooner than this for an answer that was not there at once."""
PREPARED_S_MAX = 300.0


def measure(cluster: RunningCluster) -> list[Figure]:
    host = urllib.parse.urlsplit(cluster.address).netloc
    teacher = Browser(host)
    cluster.manage("users", "add", "ladders", "instructor")
    teacher.get(urllib.parse.urlsplit(cluster.manage("signin-link", "--user", "ladders").stdout.strip()).path)
    _, invitation = make_course(teacher)
    return figures(host, [joined(host, invitation) for _ in range(LEARNERS)])


def figures(host: str, browsers: Sequence[Browser]) -> list[Figure]:
    wait_for(lambda: _is_prepared(browsers[0]), what="the prepared orders", seconds_max=PREPARED_S_MAX)
    kept = _lesson(browsers, lambda chance: {"rows": None})
    searched = _lesson(browsers, lambda chance: {"rows": chance.choice(ROWS)})
    return [
        Figure(
            f"a ladder's verdict, {LEARNERS} learners at once",
            "p95 at most 300 ms",
            _seen(kept),
            f"POST lab/ladder/ for random orders of {', '.join(TILES)}, {SECONDS:.0f} s, {THINK_S[0]:g} to"
            f" {THINK_S[1]:g} s between two orders of a learner; the worker has worked all orders out before.",
        ),
        Figure(
            f"the same over first rows that were not worked out before, {LEARNERS} learners at once",
            "no limit: it says how many states were tried",
            _seen(searched),
            f"The order waits in the explorer's queue, and the page looks again after {1000 * LOOK_S:.0f} ms.",
        ),
    ]


def _lesson(browsers: Sequence[Browser], more: Any) -> list[float]:
    stop = threading.Event()
    with ThreadPoolExecutor(len(browsers)) as pool:
        building = [pool.submit(_build, browser, seed, more, stop) for seed, browser in enumerate(browsers)]
        wait(building, timeout=SECONDS, return_when="FIRST_EXCEPTION")
        stop.set()
        return [second for one in building for second in one.result()]


def _build(browser: Browser, seed: int, more: Any, stop: threading.Event) -> list[float]:
    """Runs random orders until the lesson is over. Seconds of each verdict."""
    chance, seconds = random.Random(seed), list[float]()
    orders = list(_orders())
    while not stop.wait(chance.uniform(*THINK_S)):
        began = time.perf_counter()
        answer = _verdict(
            browser, {"tiles": chance.choice(orders), "predicted": chance.choice(PREDICTIONS)} | more(chance)
        )
        seconds.append(time.perf_counter() - began)
        assert answer["verdict"] in ("proved", "violated", "unknown"), answer
    return seconds


def _verdict(browser: Browser, order: dict[str, Any]) -> dict[str, Any]:
    answer = browser.json("/lab/ladder/", {"element": ELEMENT, "ground": "absent"} | order)
    while answer["state"] != "done":
        time.sleep(max(answer.get("again_s") or 0.0, LOOK_S))
        answer = json.loads(browser.get(f"/lab/ladder/{answer['id']}/"))
    return answer


def _orders() -> Iterator[list[str]]:
    for length in range(2, len(TILES) + 1):
        yield from map(list, permutations(TILES, length))


def _is_prepared(browser: Browser) -> bool:
    last = {"element": ELEMENT, "ground": "absent", "tiles": list(list(_orders())[-1]), "predicted": "none"}
    answer = browser.json("/lab/ladder/", last | {"rows": None})
    return bool(answer.get("kept"))


def _seen(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    return (
        f"p50 {_ms(statistics.median(ordered))}, p95 {_ms(percentile(ordered, 0.95))}, worst {_ms(ordered[-1])}"
        f" ({len(ordered)} orders)"
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    from tests.harness.cluster import running_cluster

    with running_cluster() as cluster:
        for one in measure(cluster):
            print(one.what, one.seen, one.method, sep="\n")
