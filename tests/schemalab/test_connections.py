"""A database server has room for every connection that the cluster may open, and serializes as T6 asks."""

from pathlib import Path

import psycopg
import pytest

from nodes.libpq import POOL_MAX
from schemalab.embedded import postgres
from schemalab.embedded.locations import locations_of


@pytest.mark.parametrize("nodes", [1, 3, 100])
def test_the_embedded_server_has_room_for_all_nodes(tmp_path: Path, nodes: int) -> None:
    argv = postgres.launch(locations_of(tmp_path), nodes=nodes).argv
    [given] = [int(word.partition("=")[2]) for word in argv if word.startswith("max_connections=")]
    assert given == postgres.connections_for(nodes) >= nodes * (POOL_MAX + 4) + 100


def test_the_server_of_these_tests_was_started_so(services: None) -> None:
    from django.conf import settings

    with psycopg.connect(settings.DATABASE_URL) as connection:
        assert connection.execute("SHOW max_connections").fetchone() == ("200",)
