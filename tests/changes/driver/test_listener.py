"""A sleep that ends when something is notified: nothing is lost, and what comes together wakes once."""

import time

import pytest
from django.db import connection

from changes.driver.listener import Listener

pytestmark = pytest.mark.django_db(transaction=True)
LEASE = "schemalab_lease"
SOON_S, NEVER_S = 10.0, 0.2


@pytest.fixture
def listener():
    made = Listener(LEASE, "schemalab_change")
    yield made
    made.close()


def notify(cluster, *notes: tuple[str, str]) -> None:
    """In one transaction, so that they come together."""
    with cluster.admin.transaction():
        for channel, payload in notes:
            cluster.admin.execute("SELECT pg_notify(%s, %s)", (channel, payload))


def test_what_is_wanted_is_heard_behind_what_is_not(cluster, listener):
    notify(cluster, (LEASE, "8"), ("schemalab_change", "1"), (LEASE, "7"))
    assert listener.wait({(LEASE, "7")}, SOON_S)


def test_nothing_that_is_wanted_is_a_wait_to_the_end(cluster, listener):
    notify(cluster, (LEASE, "8"))
    began = time.monotonic()
    assert not listener.wait({(LEASE, "7")}, NEVER_S)
    assert time.monotonic() - began >= NEVER_S


def test_a_hundred_leases_that_end_together_wake_once(cluster, listener):
    for number in range(100):
        notify(cluster, (LEASE, "7"), (LEASE, f"other {number}"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")  # the server hands over what it has before it answers
    assert listener.wait({(LEASE, "7")}, SOON_S)
    assert not listener.wait({(LEASE, "7")}, NEVER_S)
