"""A transaction that takes its snapshot and pins a version before it enters: fence, lock and snapshot (T2, T3). The
four variants in which one of them is left out are in `test_table` and `test_verdicts`."""

import pytest

from lab.explorer.contents.effects import Effects
from lab.explorer.model import BadModel, Model
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import sorted_nodes
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.search import search
from lab.explorer.variant import DROP_INDEX
from tests.lab.explorer.models import model, whys

LATE = {"rows": 1, "ranges": 1, "late_enter": True}
FROZEN = ["n1.begin", "n1.pin", "n1.expire", "n2.expire", "publish.2"]


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(model(values=1, operations=1, crashes=0, **LATE), id="added"),
        pytest.param(model(states=DROP_INDEX, values=1, operations=1, **LATE), id="dropped"),
        pytest.param(model(values=1, operations=2, **LATE), id="added, two transactions", marks=pytest.mark.soak),
    ],
)
def test_with_lock_and_fence_and_the_snapshot_asked_nothing_breaks(of: Model) -> None:
    found = search(Plain(Effects(of), fused=True), least=sorted_nodes)
    assert (found.faults, str(found.why_unknown)) == ((), "")


def test_the_fence_stops_what_has_pinned_a_version_and_not_entered() -> None:
    frozen = [*FROZEN, "publish.3"]
    assert whys(model(**LATE), frozen)["n1.enter"] == "version 1 is below the fence (2)"
    assert whys(model(broken=frozenset({Broken.NO_CHECK}), **LATE), frozen)["n1.enter"] == ""
    assert whys(model(broken=frozenset({Broken.STALE_FENCE}), **LATE), frozen)["n1.enter"] == ""


def test_the_lock_is_held_from_the_enter_on() -> None:
    assert whys(model(**LATE), FROZEN)["publish.3"] == ""
    assert whys(model(**LATE), [*FROZEN, "n1.enter"])["publish.3"] == "a transaction of v1 is still open"
    unlocked = model(broken=frozenset({Broken.NO_LOCK}), **LATE)
    assert whys(unlocked, [*FROZEN, "n1.enter"])["publish.3"] == ""


def test_a_version_that_the_snapshot_does_not_hold_is_refused() -> None:
    newer = ["n1.begin", "publish.2", "n1.acquire", "n1.pin"]
    assert whys(model(**LATE), newer)["n1.enter"] == "version 2 is not in the transaction's snapshot"
    assert whys(model(broken=frozenset({Broken.NEWER_VERSION}), **LATE), newer)["n1.enter"] == ""


def test_a_late_enter_is_of_one_table_with_leases() -> None:
    with pytest.raises(BadModel, match="late enter is of one table with leases"):
        model(coordination="hash", **LATE)
    with pytest.raises(BadModel, match="snapshots that are older than their enter"):
        model(broken=frozenset({Broken.STALE_FENCE}))
