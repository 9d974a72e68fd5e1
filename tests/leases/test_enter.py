"""The SQL function `enter` refuses what `leases.rules.why_not_enter` refuses, for any rows and fences (T2, T3)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from leases.rules import Refusal, why_not_enter
from storage import postgres
from tests.leases.rows import Connection, only

STORAGES = 2
OURS, OTHER = "0123456789abcdef", "fedcba9876543210"
SQLSTATES = {
    Refusal.BELOW_FENCE: postgres.BELOW_FENCE,
    Refusal.NOT_VISIBLE: postgres.VERSION_NOT_VISIBLE,
    Refusal.OTHER_SCHEMA: postgres.HASH_DIFFERS,
    Refusal.LEASE_OVER: postgres.LEASE_OVER,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A transaction whose snapshot shows `seen` of the `published` versions wants to use `version`."""

    version: int
    published: int
    seen: int
    fence: int | None
    hashes: tuple[str | None, str | None]
    left_s: float

    @property
    def is_same_schema(self) -> bool:
        return OTHER not in self.hashes


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    published = draw(st.integers(0, 5))
    hashes = st.sampled_from([OURS, OURS, OTHER, None])
    return Entry(
        version=draw(st.integers(1, 6)),
        published=published,
        seen=draw(st.integers(0, published)),
        fence=draw(st.none() | st.integers(1, 6)),
        hashes=(draw(hashes), draw(hashes)),
        left_s=draw(st.sampled_from([-5.0, 0.0, 0.0005, 5.0, 60.0])),
    )


class Door:
    """A table on real storages whose versions and fences are set as an example wants them."""

    def __init__(self, admin: Connection, connect: Callable[[], Connection]) -> None:
        self.admin, self.client = admin, connect()
        self.table_id = postgres.take_spare_table(admin.cursor())
        self.client.execute("SET default_transaction_isolation = 'serializable'")

    def refuses(self, entry: Entry) -> str | None:
        """With which SQLSTATE the transaction is refused; None: it may enter."""
        self._publish(range(1, entry.seen + 1), entry.fence)
        self.client.execute("BEGIN")
        try:
            self.client.execute("SELECT count(*) FROM storage_1.versions")  # the snapshot is taken here
            self._publish(range(entry.seen + 1, entry.published + 1), entry.fence)
            until = only(self.admin, "SELECT clock_timestamp() + make_interval(secs => %s)", entry.left_s)
            schema, sharding = entry.hashes
            door = {"schema_hash": schema, "sharding_hash": sharding, "expires_at": until}
            postgres.enter(self.client, STORAGES, self.table_id, entry.version, **door)
        except psycopg.Error as error:
            return error.sqlstate
        finally:
            self.client.execute("ROLLBACK")
            self._forget()
        return None

    def _publish(self, versions: range, fence: int | None) -> None:
        for version in versions:
            postgres.insert_version_copy(
                self.admin.cursor(), STORAGES, self.table_id, version, schema_hash=OURS, sharding_hash=OURS
            )
        for storage in range(1, STORAGES + 1):
            self.admin.execute(
                f"SELECT setval('storage_{storage}.fence_{self.table_id}', %s, %s)", (fence or 1, fence is not None)
            )

    def _forget(self) -> None:
        for storage in range(1, STORAGES + 1):
            self.admin.execute(f"DELETE FROM storage_{storage}.versions WHERE table_id = %s", (self.table_id,))


@pytest.fixture
def door(database: Connection, connect: Callable[[], Connection]) -> Iterator[Door]:
    made = Door(database, connect)
    yield made
    postgres.drop_table(database.cursor(), STORAGES, made.table_id)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entry=entries())
@example(Entry(version=2, published=3, seen=3, fence=2, hashes=(OURS, OURS), left_s=60.0))
@example(Entry(version=1, published=3, seen=3, fence=2, hashes=(OURS, OURS), left_s=60.0))
@example(Entry(version=3, published=3, seen=2, fence=2, hashes=(OURS, OURS), left_s=60.0))
@example(Entry(version=2, published=3, seen=3, fence=2, hashes=(OURS, OTHER), left_s=60.0))
@example(Entry(version=2, published=3, seen=3, fence=2, hashes=(OURS, OURS), left_s=0.0005))
@example(Entry(version=1, published=1, seen=1, fence=None, hashes=(OURS, OURS), left_s=60.0))
def test_the_store_refuses_whom_the_rule_refuses(door: Door, entry: Entry) -> None:
    refusal = why_not_enter(
        entry.version,
        fence=entry.fence,
        newest_visible=entry.seen,
        is_same_schema=entry.is_same_schema,
        left_s=entry.left_s,
    )
    assert door.refuses(entry) == (SQLSTATES[refusal] if refusal else None)
