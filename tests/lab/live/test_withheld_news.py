"""A replay withholds the news of its own sandbox, and of nothing else, and it ends with the replay."""

import time

import pytest
from django.utils.timezone import now

from changes import services
from changes.driver import versions
from lab.live.carry_out import Attempt
from lab.models import Replay
from lab.replays import actions
from lab.replays.actions import Script
from leases import withheld
from leases.models import Node
from tests.lab.live.boxes import box, done, ordinary
from tests.lab.live.test_lab_publish import sources_with

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tables of which news is sent."""
    tables: list[int] = []
    monkeypatch.setattr(versions, "publish_news", lambda table, _: tables.append(table))
    return tables


def index_on(name: str) -> None:
    done(services.submit(f"CREATE INDEX by_a_{name} ON {name} (a)", who="ann"))


def test_only_the_sandbox_is_published_without_news(told: list[int]) -> None:
    table, mine, other = ordinary(), box("ann"), box("bo")
    withheld.withhold(mine.table_id, ["n1"], seconds=60)
    told.clear()
    for one in (table, mine):
        index_on(one.name)
    done(services.submit(f"CREATE INDEX by_a_{other.name} ON {other.name} (a)", who="bo"))
    assert set(told) == {table.table_id, other.table_id}
    withheld.spread(mine.table_id)
    done(services.submit(f"DROP INDEX by_a_{mine.name}", who="ann"))
    assert mine.table_id in told


@pytest.mark.parametrize("is_broken", [False, True], ids=["in order", "a transaction cannot be closed"])
def test_it_ends_with_the_attempt(is_broken: bool) -> None:
    base = box("ann")
    replay = Replay.objects.create(owner="ann", link="", asked_at=now(), begun_at=now())
    attempt = Attempt(replay, Script((), ()), base, time.monotonic() + 60)
    attempt.nodes["one"] = Node(name="n1")
    attempt._do(actions.Withhold(("one",)))
    assert withheld.is_withheld(base.table_id)
    if is_broken:
        attempt.transactions[1] = None  # type: ignore[assignment]
        with pytest.raises(AttributeError):
            attempt.close()
    else:
        attempt.close()
    assert not withheld.is_withheld(base.table_id)


def test_only_replays_withhold() -> None:
    assert sources_with(r"\bwithheld\.withhold\(|import withhold\b") == {"lab/live/carry_out.py"}
    assert sources_with(r"\bWithheldNews\b") == {
        "leases/migrations/0001_schema.py",
        "leases/models.py",
        "leases/withheld.py",
    }
