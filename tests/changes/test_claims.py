"""X1 in the database: however two changes come to move, a table has room for one of them."""

import threading

import psycopg
import pytest
from django.db import IntegrityError

from changes.models import Change, Claim, Status
from tests.changes.cluster import control_transaction, open_connection

pytestmark = pytest.mark.django_db(transaction=True)
OLD = """
INSERT INTO changes_change (table_id, table_name, statement, plan, direction, status, step, who, wishes, created_at)
SELECT id, 't', '', '{}', 'forward', status, 0, 'ann', '[]', now()
FROM (VALUES (1, 'done'), (2, 'running'), (3, 'queued')) AS known (id, status)
"""
MOVE = "UPDATE changes_change SET status = 'running' WHERE id = %s"


def change(*table_ids: int, status: Status = Status.QUEUED) -> Change:
    return Change.objects.create(
        table_id=table_ids[0],
        table_ids=list(table_ids),
        table_name="t",
        statement="",
        plan={},
        who="ann",
        status=status,
    )


def move(one: Change, status: Status = Status.RUNNING) -> None:
    Change.objects.filter(pk=one.pk).update(status=status)


def claims() -> dict[int, int]:
    return dict(Claim.objects.values_list("table_id", "change_id"))


def test_x1_a_change_that_moves_has_a_claim_on_each_of_its_tables_to_its_end() -> None:
    one = change(2, 1)
    assert claims() == {}
    for status in (Status.RUNNING, Status.WAITING, Status.PAUSED, Status.ROLLING_BACK):
        move(one, status)
        assert claims() == {1: one.pk, 2: one.pk}
    move(one, Status.CANCELLED)
    assert claims() == {}


def test_x1_a_second_change_of_any_of_the_tables_cannot_move() -> None:
    first, second = change(1, 2, status=Status.RUNNING), change(2, 3)
    with pytest.raises(IntegrityError, match="changes_claim_pkey"):
        move(second)
    with pytest.raises(IntegrityError, match="changes_claim_pkey"):
        change(3, 1, status=Status.WAITING)
    assert claims() == {1: first.pk, 2: first.pk}
    move(first, Status.DONE)
    move(second)
    assert claims() == {2: second.pk, 3: second.pk}


def test_x1_of_two_that_begin_at_once_one_waits_and_is_refused() -> None:
    """The second one's claim waits for the first one's transaction: neither sees the other's before it commits."""
    first, second = change(1, 2), change(2, 3)
    refused: list[str] = []
    mine, theirs = open_connection("mine"), open_connection("theirs")

    def begin_second() -> None:
        try:
            with control_transaction(theirs) as cur:
                cur.execute(MOVE, (second.pk,))
        except psycopg.errors.UniqueViolation as error:
            refused.append(str(error.diag.constraint_name))

    rival = threading.Thread(target=begin_second)
    with control_transaction(mine) as cur:
        cur.execute(MOVE, (first.pk,))
        rival.start()
        rival.join(timeout=0.2)
        assert rival.is_alive()
        assert refused == []
    rival.join(timeout=10)
    assert refused == ["changes_claim_pkey"]
    assert claims() == {1: first.pk, 2: first.pk}
    mine.close()
    theirs.close()
