"""L7: a control transaction that takes too long is named so, however its client hears that its session has ended."""

import time

import pytest
from django.db import OperationalError, connection

from catalog.services import OutOfTime, control_transaction

pytestmark = pytest.mark.django_db(transaction=True)
LOST = "sending query failed: server closed the connection unexpectedly"


def lost(after_s: float = 0.0) -> None:
    """The answer to a query that comes so late."""
    time.sleep(after_s)
    raise OperationalError(LOST)


def test_a_session_that_ended_while_its_client_computed_is_out_of_time() -> None:
    with pytest.raises(OutOfTime, match=r"not over within 0\.05 s"), control_transaction(0.05):
        lost(after_s=0.06)
    connection.close()


def test_a_server_that_went_away_is_not_out_of_time() -> None:
    with pytest.raises(OperationalError, match="sending query failed") as caught, control_transaction(30):
        lost()
    assert not isinstance(caught.value, OutOfTime)
    connection.close()
