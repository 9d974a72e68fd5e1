"""With `--whole-files` a worker of a whole run imports and collects a file when it comes to it: pytest-xdist lets each
worker collect everything first, in a fresh clone 40 s of a processor each. For runs that leave out no test by its
name."""

from itertools import pairwise
from pathlib import Path

import pytest


class LateModule(pytest.File):
    """Stands for a module of tests that is not imported yet."""

    def collect(self) -> list[pytest.Item]:
        return [WholeFile.from_parent(self, name="all")]


class WholeFile(pytest.Item):
    """All tests of a file."""

    def tests(self) -> list[pytest.Item]:
        assert self.parent is not None
        module = pytest.Module.from_parent(self.parent.parent, path=self.path)
        found = list(self.session.genitems(module))
        self.config.hook.pytest_collection_modifyitems(session=self.session, config=self.config, items=found)
        return found

    def runtest(self) -> None:
        """Of a file without tests, so that pytest tears down what the next item does not share."""
        pytest.skip("no test of this file is asked for")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole-files", action="store_true", help="collect each file of tests when its turn comes")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> LateModule | None:
    return LateModule.from_parent(parent, path=module_path) if parent.config.option.whole_files else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not isinstance(item, WholeFile):
        return None
    session, tests = item.session, item.tests()
    place = session.items.index(item)
    for test, following in pairwise([*tests, nextitem]):
        session.items[place] = test  # pytest-xdist compares a report with the item that it runs
        item.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        if session.shouldfail or session.shouldstop:
            break
    session.items[place] = item
    return bool(tests) or None
