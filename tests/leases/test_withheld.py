"""News of a sandbox is withheld from a node, for a while: of no other table, whoever asks, and never for long."""

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
from django.db import DatabaseError
from django.utils.timezone import now

from leases import withheld
from leases.asyncio.keeper import LeaseKeeper
from leases.models import WithheldNews
from tests.leases.rows import USERS, Connection, leased, make_table, publish, register, users
from tests.leases.stage import Stage, until

pytestmark = pytest.mark.django_db(transaction=True)
SANDBOX = 8
BOX = users(table_id=SANDBOX, name="sandbox")


@pytest.fixture
def stage(database: Connection, dsn: str, redis_url: str) -> Stage:
    """Node n1 is registered; there is a sandbox, and a table that is none."""
    register(database)
    make_table(database)
    database.execute(
        "INSERT INTO catalog_table (id, name, version, state, created_at, sandbox_of)"
        " VALUES (%s, 'to be made', 0, 'reserved', clock_timestamp(), 'ann')",
        [SANDBOX],
    )
    database.execute("UPDATE catalog_table SET name = 'sandbox', version = 1, state = 'live' WHERE id = %s", [SANDBOX])
    publish(database, BOX)
    return Stage(dsn, redis_url)


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(DatabaseError) as refused:
        act()
    cause = refused.value.__cause__
    assert isinstance(cause, psycopg.Error)
    return cause.sqlstate or ""


def test_of_no_other_table_whoever_asks(stage: Stage) -> None:
    """By the function, by a bare row, by a row that comes to speak of another table; nor of one that there is not."""
    withheld.withhold(SANDBOX, ["n1"], seconds=60)
    for table in (USERS, 99):
        assert refusal(lambda table=table: withheld.withhold(table, ["n1"], seconds=60)) == "SL201"
        row = WithheldNews(table_id=table, node="n1", until=now())
        assert refusal(row.save) == "SL201"
        assert refusal(lambda table=table: WithheldNews.objects.update(table_id=table)) == "SL201"
    assert [withheld.is_withheld(table) for table in (SANDBOX, USERS, 99)] == [True, False, False]


def test_a_row_for_another_table_that_came_by_force_withholds_nothing(stage: Stage, database: Connection) -> None:
    """Whoever reads asks for the mark again."""
    database.execute("SET session_replication_role = replica")
    database.execute("INSERT INTO leases_withheldnews (table_id, node, until) VALUES (%s, 'n1', 'infinity')", [USERS])
    assert not withheld.is_withheld(USERS)


def test_it_ends_by_itself(stage: Stage, database: Connection) -> None:
    """At most 150 s, whatever is asked for; what is over withholds nothing, and is forgotten with the next."""
    withheld.withhold(SANDBOX, ["n1"], seconds=100_000)
    assert WithheldNews.objects.get().until <= now() + timedelta(seconds=151)
    WithheldNews.objects.update(until=now() + timedelta(days=1))
    assert WithheldNews.objects.get().until <= now() + timedelta(seconds=151)
    WithheldNews.objects.update(until=now() - timedelta(seconds=2))
    assert not withheld.is_withheld(SANDBOX)
    withheld.withhold(SANDBOX, ["n2"], seconds=60)
    assert [one.node for one in WithheldNews.objects.all()] == ["n2"]


def test_who_is_not_told_goes_on_until_it_renews(stage: Stage, database: Connection) -> None:
    """The same heartbeat tells of the other table; the renewal tells of this one, and the older lease is given back."""
    withheld.withhold(SANDBOX, ["n1"], seconds=60)

    async def scene(keeper: LeaseKeeper) -> None:
        for table in (USERS, SANDBOX):
            keeper.unpin(await keeper.pin(table))
        for new in (users(2), users(2, table_id=SANDBOX, name="sandbox")):
            publish(database, new)
        await until(lambda: (USERS, 2, "n1", 1) in leased(database), "n1 hears of users@2")
        assert (SANDBOX, 1, "n1", 1) in leased(database)
        assert (SANDBOX, 2, "n1", 1) not in leased(database)
        await until(lambda: leased(database) == [(USERS, 2, "n1", 1), (SANDBOX, 2, "n1", 1)], "n1 learns as it renews")

    stage.play(scene, lease_s=4.0)
    assert stage.fatal == []


def test_when_it_is_spread_the_next_heartbeat_tells(stage: Stage, database: Connection) -> None:
    withheld.withhold(SANDBOX, ["n1", "n2"], seconds=60)
    publish(database, users(2, table_id=SANDBOX, name="sandbox"))
    with database.cursor() as cursor:
        tell = "SELECT count(*) FROM leases_news_withheld_now WHERE table_id = %s AND node = 'n1'"
        assert cursor.execute(tell, [SANDBOX]).fetchone() == (1,)
        withheld.spread(SANDBOX, ["n1"])
        assert cursor.execute(tell, [SANDBOX]).fetchone() == (0,)
    assert withheld.is_withheld(SANDBOX)
    withheld.spread(SANDBOX)
    assert not withheld.is_withheld(SANDBOX)
