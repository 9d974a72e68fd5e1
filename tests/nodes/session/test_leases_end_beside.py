"""What a client is told when its node may not use a table, or loses the store, in the middle of something."""

import psycopg
import pytest

from tests.nodes.conftest import Cluster


@pytest.mark.soak
def test_a_parameterised_statement_on_a_draining_node_names_the_reason(cluster: Cluster) -> None:
    """Its types are asked for first, in the open block: that said "internal error" where a plain statement did not."""
    held, other = cluster.table("id bigint PRIMARY KEY"), cluster.table("id bigint PRIMARY KEY")
    cluster.start("n3")
    try:
        with cluster.connect("n3") as client, cluster.store() as store:
            client.execute("BEGIN")
            client.execute(f"SELECT * FROM {held}")
            store.execute("SELECT node_drain('n3', true)")
            with pytest.raises(psycopg.errors.CannotConnectNow, match="draining"):
                ask_in_blocks(client, f"SELECT * FROM {other} WHERE id = %s")
    finally:
        cluster.stop("n3")


def ask_in_blocks(client: "psycopg.Connection", query: str) -> None:
    """Often enough for the node to have heard that it drains."""
    for _ in range(100):
        client.execute(query, (1,))
        client.execute("ROLLBACK")
        client.execute("BEGIN")
