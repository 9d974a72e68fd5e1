"""The numbers of an identity column end where its type does, under PostgreSQL's code."""

import psycopg
import pytest

from tests.nodes.conftest import Cluster


@pytest.mark.parametrize(("of", "greatest"), [("smallint", 2**15 - 1), ("integer", 2**31 - 1)])
def test_a_column_whose_numbers_are_used_up_takes_no_more_rows(cluster: Cluster, of: str, greatest: int) -> None:
    table = cluster.table(f"id {of} GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text")
    with cluster.store() as store:  # another node has taken all but the last three
        number = cluster.descriptor(table).table_id
        store.execute("SELECT nodes_take_identity(%s, 1, %s)", [number, greatest - 3])
    with cluster.connect() as node:
        node.execute(f"INSERT INTO {table} (name) VALUES ('a'), ('b')")
        node.execute(f"INSERT INTO {table} (name) SELECT 'c'")
        for names in ("VALUES ('d')", "SELECT 'd'", "VALUES ('d'), ('e')"):
            with pytest.raises(
                psycopg.Error, match=rf'maximum value of sequence "{table}_id_seq" \({greatest}\)'
            ) as end:
                node.execute(f"INSERT INTO {table} (name) {names}")
            assert end.value.sqlstate == "2200H"
        rows = node.execute(f"SELECT id - {greatest}, name FROM {table} ORDER BY id").fetchall()
        assert rows == [(-2, "a"), (-1, "b"), (0, "c")]
