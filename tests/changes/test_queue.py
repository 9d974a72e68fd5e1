"""X1: whose turn it is, when changes move one table or several."""

import pytest

from changes.queue import Place, ahead_of, directly_behind, free_to_move

TRIPS, AIRPORTS, RUNS = 1, 2, 3


def queued(number: int, *tables: int) -> Place:
    return Place(number, frozenset(tables), is_moving=False)


def moving(number: int, *tables: int) -> Place:
    return Place(number, frozenset(tables), is_moving=True)


@pytest.mark.parametrize(
    ("places", "free"),
    [
        pytest.param([queued(1, TRIPS), queued(2, TRIPS)], [1], id="one change of a table at a time"),
        pytest.param([queued(1, TRIPS), queued(2, RUNS)], [1, 2], id="changes of different tables run side by side"),
        pytest.param([queued(1, TRIPS, AIRPORTS), queued(2, AIRPORTS)], [1], id="a shared partner is shared"),
        pytest.param(
            [moving(1, TRIPS), queued(2, TRIPS, AIRPORTS), queued(3, AIRPORTS), queued(4, RUNS)],
            [1, 4],
            id="nobody is overtaken",
        ),
        pytest.param([queued(2, TRIPS, AIRPORTS), queued(3, AIRPORTS), queued(4, TRIPS)], [2], id="both queues wait"),
        pytest.param([queued(3, AIRPORTS), queued(4, TRIPS)], [3, 4], id="an end may let two changes begin"),
        pytest.param(
            [queued(1, TRIPS, AIRPORTS), moving(2, AIRPORTS)],
            [2],
            id="what moves goes on, also when an older change has come to need its table",
        ),
    ],
)
def test_x1_who_may_move(places: list[Place], free: list[int]) -> None:
    assert free_to_move(places) == free


def test_x1_a_change_says_behind_which_others_it_waits() -> None:
    places = [moving(1, TRIPS), queued(2, RUNS), queued(3, AIRPORTS), queued(4, TRIPS, AIRPORTS), queued(5, TRIPS)]
    assert [ahead_of(one, places) for one in places] == [[], [], [], [1, 3], [1, 4]]


def test_a_change_names_those_that_it_waits_for_directly() -> None:
    places = [moving(1, TRIPS), queued(2, TRIPS), queued(3, TRIPS), queued(4, AIRPORTS), queued(5, TRIPS, AIRPORTS)]
    assert directly_behind(places) == {1: [], 2: [1], 3: [2], 4: [], 5: [3, 4]}
