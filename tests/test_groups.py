"""Tests that share something slow to start run in one process."""

from pathlib import Path

from tests.groups import FIRST, group_of

TESTS = Path(__file__).parent


def files_with(*words: str) -> list[str]:
    """The files of tests in which all these words are, by their path from the root."""
    files = sorted(file for file in TESTS.rglob("test_*.py") if file != Path(__file__))
    return [str(file.relative_to(TESTS.parent)) for file in files if all(word in file.read_text() for word in words)]


def test_whoever_uses_the_product_or_nodes_is_in_a_group() -> None:
    product = files_with("cluster: RunningCluster")
    nodes = files_with("from tests.nodes.conftest import", "Cluster")
    assert product
    assert nodes
    assert {group_of(file) for file in product} == {"product"}
    assert {group_of(file) for file in nodes} == {"nodes-1", "nodes-2"}


def test_a_file_beside_them_is_a_group_of_its_own() -> None:
    assert group_of("tests/nodes/wire/test_scram.py::test_x[a]") == "tests/nodes/wire/test_scram.py"
    assert group_of("tests/lab/test_scripts.py::test_y") not in FIRST
