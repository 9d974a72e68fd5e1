"""A node's counts since it began."""

import pytest

from leases.totals import BOUNDS_S, SQLSTATES_MAX, MalformedTotals, Totals, from_text
from nodes.metrics import Meter


def test_seconds_add_up() -> None:
    meter = Meter(began=0.0)
    for second in (1.0, 2.0):
        for latency in (0.0004, 0.004, 0.3, 60.0):
            meter.finished(latency, is_error=False)
        meter.retried()
        meter.take(second, at=second, open_transactions=0)
    meter.totals.refuse("23505")
    meter.totals.refuse("23505")
    totals = from_text(meter.totals.to_text(incarnation=7))
    assert (totals.incarnation, totals.statements, totals.retries, totals.refused) == (7, 8, 2, {"23505": 2})
    assert totals.seconds == pytest.approx(120.6, rel=0.04)
    counted = {bound: count for bound, count in zip((*BOUNDS_S, "more"), totals.latencies, strict=True) if count}
    assert counted == {0.001: 2, 0.005: 2, 0.5: 2, "more": 2}


def test_codes_without_number_take_no_room() -> None:
    totals = Totals()
    for number in range(SQLSTATES_MAX + 5):
        totals.refuse(f"{number:05}")
    assert (len(totals.refused), totals.refused["other"]) == (SQLSTATES_MAX + 1, 5)


@pytest.mark.parametrize("text", ["", "[]", '{"statements": 1, "unknown": 2}', '{"latencies": [1]}'])
def test_what_is_malformed(text: str) -> None:
    with pytest.raises(MalformedTotals):
        from_text(text)
