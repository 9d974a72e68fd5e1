"""The tests that run in the same process, since they share something slow to start: the whole cluster (tests/product,
its browser late, its end last), a small cluster of nodes in two halves, one warm Spark session, the explorer's answers,
all modules parsed once (docs); each other file by itself.

`--dist loadgroup` of pytest-xdist 3.8 writes the group into a test's id, which pytest 9.2 no longer lets it do, so it
silently deals out single tests. Groups follow from the path, so that they are dealt out without collecting tests.
"""

from pathlib import PurePath
from typing import Any

from xdist.scheduler import LoadScopeScheduling

FIRST = ("product", "nodes-1", "nodes-2", "spark", "explorer")
"""The longest, so that all processes end together."""

PARTS = 20
"""So often a run says how far it is."""

ROOMS_WITH_NODES = {
    "clients": "nodes-1",
    "session": "nodes-1",
    "people": "nodes-1",
    "store": "nodes-1",
    "sql": "nodes-1",
    "copy": "nodes-2",
    "crud": "nodes-2",
    "execution": "nodes-2",
    "foreign_keys": "nodes-2",
}


def group_of(path: str) -> str:
    """The group of a test, or of a file of tests, by its path: "tests/nodes/wire/test_scram.py::test_x"."""
    file = path.split("::")[0]
    match PurePath(file).parts[1:]:
        case ("product", *_):
            return "product"
        case ("spark_tasks", *_):
            return "spark"
        case ("lab", "explorer", _):
            return "explorer"
        case ("docs", _):
            return "docs"
        case ("nodes", _):
            return "nodes-2"
        case ("nodes", room, _) if room in ROOMS_WITH_NODES:
            return ROOMS_WITH_NODES[room]
    return file


def position_of(path: str) -> tuple[int, int]:
    """The place of a test among all: of the product's, those in a browser come late, and its end at the end."""
    group = group_of(path)
    place = FIRST.index(group) if group in FIRST else len(FIRST)
    late = ("tests/product/browser/", "tests/product/test_the_end.py")
    return place, next((n for n, beginning in enumerate(late, 1) if path.startswith(beginning)), 0)


class GroupScheduling(LoadScopeScheduling):
    """Deals out whole groups, in the order in which they were collected."""

    done = 0

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Says how far the run is: nobody knows the number of tests of files that are not collected (`whole_files`)."""
        super().mark_test_complete(node, item_index, duration)
        self.done += 1
        files = len(self.collection or ())
        if self.done * PARTS // files > (self.done - 1) * PARTS // files:
            self.config.get_terminal_writer().line(f" {self.done} of {files} files")
