"""What the benchmarks say of clients: nobody is left out, and only what ran in the time named is counted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.bench.report import percentile
from tools.bench.watchers import Missed, delays_of
from tools.bench.writers import Latencies, Statement


def test_of_statements_beside_a_fill_only_theirs_count() -> None:
    before, during, refused, after = (
        Statement(at=0.0, took_s=1.0, again=3),
        Statement(at=10.0, took_s=0.5, again=2),
        Statement(at=12.0, took_s=0.5, again=-1),
        Statement(at=30.0, took_s=1.0, again=-1),
    )
    seen = Latencies([before, during, refused, after], seconds=31.0)
    assert (seen.retries, seen.errors) == (5, 2)
    beside = seen.within([(9.0, 13.0)])
    assert (beside.statements, beside.retries, beside.errors, beside.seconds) == ([during, refused], 2, 1, 4.0)


def test_events_count_from_the_moment_when_all_clients_are_there() -> None:
    early, late = {5: 0.9, 6: 0.1, 7: 0.2}, {6: 0.3, 7: 0.4}
    assert sorted(delays_of([early, late], since=5)) == [0.1, 0.2, 0.3, 0.4]


def test_an_event_that_a_client_never_got_is_no_smaller_number_of_events() -> None:
    with pytest.raises(Missed, match=r"1 of 3 clients did not get all 2 events, one of them event 7"):
        delays_of([{6: 0.1, 7: 0.2}, {6: 0.1}, {6: 0.1, 7: 0.3}], since=5)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.5, 3), (0.95, 4), (1.0, 4)])
def test_a_percentile_is_one_of_the_values(share: float, expected: int) -> None:
    assert percentile([3, 1, 4, 2], share) == expected


def test_the_command_begins_without_any_setting() -> None:
    """`make bench` has an empty environment: nothing may want Django's settings as it is imported."""
    bare = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    subprocess.run(
        [sys.executable, "-c", "import tools.bench.__main__"], env=bare, check=True, cwd=Path(__file__).parents[2]
    )
