"""The requests of chapter 10 are carried out, not told: by the router's machine, in the lab's cluster."""

import pytest

from lab.exercises import routers
from lab.exercises.observations import observe


@pytest.mark.parametrize("requests", [1, 2, 10, 99])
def test_however_many_are_refused_at_once_one_reload_serves_them(requests: int):
    assert observe(f"reloads for {requests} requests", None) == 1


def test_a_request_is_refused_before_it_writes_and_planned_once_more():
    assert routers.way_of_request() == ["plan", "refused", "reload", "plan", "accepted"]
    assert observe("steps of a request", None) == "plan refused reload plan-again accepted"
