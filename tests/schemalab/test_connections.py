"""A database server has room for every connection that the cluster may open, and serializes as T6 asks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from nodes.store.pipeline import POOL_MAX
from schemalab.connections.reachable import shortcomings
from schemalab.embedded import postgres
from schemalab.embedded.locations import locations_of
from tests.embedded_services import running_services
from tests.harness.services import private_home


@pytest.mark.parametrize("nodes", [1, 3, 100])
def test_the_embedded_server_has_room_for_all_nodes(tmp_path: Path, nodes: int) -> None:
    argv = postgres.launch(locations_of(tmp_path), nodes=nodes).argv
    [given] = [int(word.partition("=")[2]) for word in argv if word.startswith("max_connections=")]
    assert given == postgres.connections_for(nodes) >= nodes * (POOL_MAX + 4) + 100


def test_the_server_of_these_tests_was_started_so(services: None) -> None:
    from django.conf import settings

    with psycopg.connect(settings.DATABASE_URL) as connection:
        assert connection.execute("SHOW max_connections").fetchone() == ("200",)


@pytest.fixture
def plain_server() -> Iterator[str]:
    """PostgreSQL as it comes."""
    defaults = {
        "max_connections": "100",
        "max_prepared_transactions": "0",
        "max_pred_locks_per_transaction": "64",
        "max_pred_locks_per_relation": "-2",
        "max_pred_locks_per_page": "2",
    }
    home = private_home("plain")
    with running_services(locations_of(home), defaults) as services:
        yield services.database_url
    shutil.rmtree(home)


def test_a_server_of_ones_own_that_is_set_too_low_is_named_in_one_line(plain_server: str) -> None:
    said = shortcomings(plain_server, nodes=3)
    assert said is not None
    assert said.endswith(
        " will refuse statements under load: max_connections is 100, not 200,"
        " max_prepared_transactions is 0, not 6000, max_pred_locks_per_transaction is 64, not 256,"
        " max_pred_locks_per_relation is 32, not 10000,"
        " max_pred_locks_per_page is 2, not 32 (or more)"
    )
    assert "\n" not in said


def test_a_server_that_is_set_as_it_should_be_is_not_talked_about(services: None) -> None:
    from django.conf import settings

    assert shortcomings(settings.DATABASE_URL, nodes=3) is None
    assert "max_connections is 200, not 410" in (shortcomings(settings.DATABASE_URL, nodes=10) or "")
