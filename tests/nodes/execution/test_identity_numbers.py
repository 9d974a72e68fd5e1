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


def test_the_first_number_is_where_start_with_says_on_every_node(cluster: Cluster) -> None:
    table = cluster.table("id int GENERATED ALWAYS AS IDENTITY (START WITH 1000) PRIMARY KEY, name text")
    with cluster.connect("n1") as one, cluster.connect("n2") as other:
        insert = f"INSERT INTO {table} (name) VALUES ('a') RETURNING id"
        assert one.execute(insert).fetchone() == (1000,)
        many = f"INSERT INTO {table} (name) SELECT 'b' FROM generate_series(1, 120) RETURNING id"
        found = [number for (number,) in [*one.execute(many), *other.execute(many), *other.execute(insert)]]
        assert len({1000, *found}) == 242
        assert min(found) == 1001
        one.execute(f"SELECT setval('{table}_id_seq', 5000)")
        assert one.execute(insert).fetchone() == (5001,)
        shown = one.execute(
            "SELECT s.seqstart, i.start_value, c.identity_start FROM pg_sequence s,"
            " information_schema.sequences i, information_schema.columns c WHERE s.seqrelid = %s::regclass"
            " AND i.sequence_name = %s AND c.table_name = %s AND c.column_name = 'id'",
            [f"{table}_id_seq", f"{table}_id_seq", table],
        ).fetchone()
        assert shown == (1000, "1000", "1000")
