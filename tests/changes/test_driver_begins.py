"""A driver that cannot begin leaves nothing behind: no connection, and nobody who renews its lease for ever."""

import threading

import psycopg
import pytest

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


@pytest.mark.parametrize("step", ["Driver._database_time", "take_tables", "Ear", "Renewer.start"])
def test_a_beginning_that_fails_at_any_step_leaves_nothing(
    change: Change, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    opened: list[psycopg.Connection] = []
    real = driver.open_connection

    def noted(purpose: str) -> psycopg.Connection:
        opened.append(real(purpose))
        return opened[-1]

    def breaks(*_: object) -> None:
        raise psycopg.OperationalError("the database went away")

    monkeypatch.setattr(driver, "open_connection", noted)
    monkeypatch.setattr(f"changes.driver.driver.{step}", breaks)
    with pytest.raises(psycopg.OperationalError), driver.Driver(change.pk, "w1", lambda _: None):
        pass
    assert opened
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("renew")] == []
    assert all(connection.closed for connection in opened)
