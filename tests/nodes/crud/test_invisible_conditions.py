"""No condition, update or order of a request sees an element that is not public."""

from dataclasses import replace

import pytest

from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from tests.nodes.conftest import Cluster

HIDDEN = [State.DELETE_ONLY, State.WRITE_ONLY]
REQUESTS = {
    "select": "select('{t}', '[[\"=\", \"{e}\", 1]]')",
    "count": "count('{t}', '[[\"=\", \"{e}\", 1]]')",
    "update": "update('{t}', '1', '[[\"=\", \"{e}\", 1]]')",
    "a key": "delete('{t}', '{{\"{e}\": 1}}')",
    "fields": "get('{t}', '1', '{{\"fields\": [\"{e}\"]}}')",
    "min": "min('{t}', '{e}')",
}


@pytest.mark.parametrize("state", HIDDEN)
def test_what_is_not_public_is_as_if_it_were_not_there(cluster: Cluster, state: State):
    """The answer has the class and the code of one about an element that nobody ever made."""
    table = cluster.table("id int PRIMARY KEY, a int")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, 10)")
        now = cluster.descriptor(table)
        column = Column(ColumnId(3), "hidden_c", SqlType.INTEGER, state=state, default="7")
        index = Index(IndexId(1), "hidden_i", (IndexColumn(ColumnId(2)),), state=state)
        cluster.publish(replace(now.with_index(index), version=now.version + 1,
                                columns=(*now.columns, column), next_column_id=ColumnId(4)))  # fmt: skip
        for request in REQUESTS.values():
            for element in ("hidden_c", "hidden_i"):
                asked = [f"SELECT crud.{request.format(t=table, e=name)}" for name in (element, "absent_x")]
                hidden, absent = (connection.execute(one).fetchone()[0] for one in asked)  # type: ignore[index]
                assert (hidden["class"], hidden["code"]) == (absent["class"], absent["code"]), hidden
        assert connection.execute(f"SELECT crud.get('{table}', '1')").fetchone()[0]["rows"] == [[1, 10]]  # type: ignore[index]
