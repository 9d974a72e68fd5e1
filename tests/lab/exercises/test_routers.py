"""The requests of chapter 10 are carried out, not told: by the router's machine, in the lab's cluster."""

import pytest

from lab.exercises import routers
from lab.exercises.observations import BadQuestion, observe


def test_values_are_exchanged_where_nobody_compares_versions_and_right_where_the_storages_do():
    assert observe("values of a request", None, given={"checked": False}) == "other"
    assert observe("values of a request", None, given={"checked": True}) == "own"
    with pytest.raises(BadQuestion, match="is given checked"):
        observe("values of a request", None)


@pytest.mark.parametrize("requests", [1, 2, 10, 99])
def test_however_many_are_refused_at_once_one_reload_serves_them(requests: int):
    assert observe(f"reloads for {requests} requests", None) == 1


def test_a_request_is_refused_before_it_writes_and_planned_once_more():
    assert routers.way_of_request() == ["plan", "refused", "reload", "plan", "accepted"]
    assert observe("steps of a request", None) == "plan refused reload plan-again accepted"
