"""What estimates rest on: the reorganisations that ended lately, with what the nodes did meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.timezone import now

from changes.pages.estimates import Ended
from changes.plan.model import StepKind
from changes.records import paces
from leases.models import RecordedSecond
from spark_tasks.models import ReorgPulse, ReorgRun, RunState

pytestmark = pytest.mark.django_db


def ended(
    version: int, *, seconds: float = 20.0, rows: int = 50_000, throttle: float | None = None, **more: object
) -> None:
    """A fill that ended 100 s ago."""
    at = now() - timedelta(seconds=100)
    run = ReorgRun.objects.create(
        change_id=1, table_id=7, version=version, elements=[], ended_at=at,
        started_at=at - timedelta(seconds=seconds), **{"kind": "fill", "state": RunState.DONE, "attempt": 1} | more,
    )  # fmt: skip
    ReorgPulse.objects.create(run=run, rows_done=rows, rows_per_s_max=throttle)


def recorded(since_s: int, until_s: int, rate: float) -> None:
    """So many statements in each second from `since_s` until `until_s` ago."""
    at = int(now().timestamp())
    RecordedSecond.objects.bulk_create(
        RecordedSecond(at=at - ago, statements_per_s=rate, nodes=3) for ago in range(until_s, since_s)
    )


def test_a_reorganisation_is_seen_with_the_statements_beside_it() -> None:
    ended(2)
    recorded(150, 90, 800.0)
    recorded(5, 0, 40.0)
    seen = paces.observed()
    assert seen.ended == (Ended(StepKind.FILL, 50_000, 20.0, 800.0),)
    assert seen.statements_per_s == 40.0


def test_what_says_nothing_of_others_is_left_out() -> None:
    recorded(150, 90, 800.0)
    ended(2, rows=9_999)
    ended(3, throttle=500.0)
    ended(4, attempt=2)
    ended(5, state=RunState.FAILED)
    ended(6, kind="purge")
    assert paces.observed().ended == ()


def test_of_a_time_that_was_not_recorded_nothing_is_known() -> None:
    ended(2)
    assert (paces.observed().ended, paces.observed().statements_per_s) == ((), 0.0)
