"""A driver that cannot begin leaves nothing behind: nobody listens, and nobody renews its lease for ever."""

import threading

import pytest
from django.db import OperationalError, connection

from changes import services
from changes.driver import driver
from changes.models import Change

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]


@pytest.fixture
def change() -> Change:
    return services.submit("CREATE TABLE users (id bigint PRIMARY KEY)", who="ann")


STEPS = [
    "changes.driver.transitions.clock_ahead_s",
    "changes.driver.schema_change_lease.acquire",
    "changes.driver.driver.Listener",
    "changes.driver.driver.Renewal.start",
    "changes.driver.driver.Versions",
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.split(".", 3)[-1])
def test_a_beginning_that_fails_at_any_step_leaves_nothing(
    change: Change, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def breaks(*_: object) -> None:
        raise OperationalError("the database went away")

    monkeypatch.setattr(step, breaks)
    with pytest.raises(OperationalError), driver.Driver(change.pk, "w1", lambda _: None):
        pass
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("renew")] == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('application_name'), array(SELECT pg_listening_channels())")
        assert cursor.fetchone() == ("schemalab", [])
