"""Every kind of change, walked from end to end beside statements of both versions, on both stores."""

from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from storage.buckets import storage_of
from storage.mutations import Op
from storage.pairs import after
from storage.postgres import kv
from storage.statements import WITHIN, bounds
from storage.store import MemoryStore
from tests.rounds import drawn
from tests.storage import pairs_sql
from tests.storage.postgres_store import PostgresStore
from tests.storage.stage import Stage, users
from tests.storage.walk import SCENARIOS, Failed, Move, Walk

KINDS = [*("insert", "update", "update", "delete", "move"), *("work", "work", "work")]
MOVES = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, 1),
        st.integers(0, 2),
        st.integers(0, 3),
        st.integers(0, 3),
        st.booleans(),
    ),
    min_size=28,
    max_size=84,
)

AS_FOUND = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failing walk is told as it was found: making it shorter takes minutes."""

ON_POSTGRES = ("partial index", "partial unique index", "required column and a partial index over it", "type change")
"""The walks that lean on the store most; the others, in the soak, differ in what is computed, not in what is stored."""
OTHERS = [pytest.param(name, marks=pytest.mark.soak) for name in SCENARIOS if name not in ON_POSTGRES]


def walked(walk: Walk, moves: list[Move]) -> str:
    try:
        walk.run(moves)
    except Failed as failed:
        return str(failed)
    return "done"


@pytest.mark.parametrize("scenario", SCENARIOS)
@drawn(few=8, many=25, phases=AS_FOUND)
@given(moves=MOVES)
def test_both_versions_stay_consistent_and_nothing_acknowledged_is_lost(scenario: str, moves: list[Move]) -> None:
    walked(Walk(SCENARIOS[scenario](users(7)), MemoryStore()), moves)


def test_a_row_that_moves_into_a_range_that_is_read_puts_its_unique_entry() -> None:
    """No range of the fill sees it. Of the ages, 17 lies on the second storage and 18 on the first."""
    walk = Walk(SCENARIOS["unique index of rows that move"](users(7)), MemoryStore())
    walk.statement("insert", walk.now, 1, 0, 0, is_late=False)
    walk.place = walk.previous = 2
    walk.statement("update", walk.now, 1, 1, 0, is_late=False)
    walk.start("fill")
    walk.read_range()
    assert walk.read == []
    walk.statement("update", walk.now, 1, 1, 1, is_late=False)
    assert walk.seen == set()
    walk.finish("fill")
    walk.judge(always=True)


class Shelf(PostgresStore):
    """A Postgres store with what a reorganisation does to it."""

    def fill(self, op: Op) -> None:
        storage = storage_of(op.bucket, self.storages, self.buckets)
        statement, params = pairs_sql.insert(storage, self.table_id, op.key, op.value)
        self._everywhere([f"{statement} ON CONFLICT DO NOTHING"], params)

    def clear_tombstones(self, key_prefix: bytes) -> None:
        self._remove(key_prefix, " AND v IS NULL")

    def delete_all(self, key_prefix: bytes) -> None:
        self._remove(key_prefix, "")

    def _remove(self, key_prefix: bytes, condition: str) -> None:
        tables = (kv(storage, self.table_id) for storage in range(1, self.storages + 1))
        statements = [f"DELETE FROM {table} WHERE {WITHIN}{condition}" for table in tables]
        self._everywhere(statements, [*bounds(key_prefix, after(key_prefix))])

    def _everywhere(self, statements: list[str], params: list[Any]) -> None:
        with self.connect() as opened:
            opened.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            for statement in statements:
                opened.execute(statement, params)


@pytest.mark.parametrize("scenario", [*ON_POSTGRES, *OTHERS])
@drawn(few=2, many=4, phases=AS_FOUND, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES)
def test_postgres_keeps_them_consistent_too(stage: Stage, scenario: str, moves: list[Move]) -> None:
    for storage in (1, 2):
        stage.sql(f"DELETE FROM {kv(storage, stage.table_id)}")
    shelf = Shelf(stage.connect, stage.table_id, idle=stage.idle)
    walked(Walk(SCENARIOS[scenario](users(stage.table_id)), shelf, judges_every_step=False), moves)
