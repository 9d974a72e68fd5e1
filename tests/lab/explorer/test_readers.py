"""A transaction that only reads (T4): its lease may end while it reads on; its lock blocks what could harm it."""

import pytest

from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Fault
from lab.explorer.model import Model
from lab.explorer.plans.program import Do
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import Config
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.hindrances import open_transactions
from lab.explorer.spaces.search import search
from tests.lab.explorer.models import model, whys

SMALL = {"rows": 1, "ranges": 1, "values": 1, "crashes": 0, "operations": 1}
READS_ON = ["publish.2", "n1.begin", "n1.expire"]
CHANGES_PAIRS = (Do.CLEAR, Do.FILL, Do.VERIFY, Do.DELETE, Do.PURGE)


class Outlived(Plain):
    """Transactions step by step; what a change did that should have waited for one of them is a fault."""

    reads_without_lease = 0

    def faults(self, config: Config) -> tuple[Fault, ...]:
        stop, found = self.stops[config.stop], []
        for one in open_transactions(config):
            (used,) = one.use
            self.reads_without_lease += one.statement is None and not one.held[0].live
            if used < stop.newest - 1:
                found.append(Fault("publish", used, f"v{stop.newest} is published beside v{used}"))
            if used < stop.newest and stop.do in CHANGES_PAIRS:
                found.append(Fault(stop.do.value, used, f"v{stop.newest} is not drained of v{used}"))
        return tuple(found)


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(model(**SMALL), id="added"),
        pytest.param(model(states="public,write-only,delete-only,absent", **SMALL), id="dropped"),
        pytest.param(model("placement", "public+absent,public+delete-only,public+write-only", **SMALL), id="spread"),
    ],
)
def test_the_publish_after_next_and_every_reorganisation_wait_for_a_reader_without_a_lease(of: Model) -> None:
    space = Outlived(Effects(of))
    assert search(space).faults == ()
    assert space.reads_without_lease


def test_with_leases_alone_they_do_not() -> None:
    space = Outlived(Effects(model(broken=frozenset({Broken.NO_LOCK}), **SMALL)))
    assert search(space).faults


def test_a_reader_reads_on_when_its_lease_has_ended_and_writes_nothing() -> None:
    of = model(rows=1, ranges=1)
    assert whys(of, READS_ON)["n1.read.1"] == ""
    after = whys(of, [*READS_ON, "n1.read.1"])
    assert after["n1.write.insert.1.1"] == "the lease of n1 has expired: its transaction writes nothing more"
    assert after["n1.rollback"] == ""
    assert whys(of, ["publish.2", "n1.begin", "n1.read.1"])["n1.write.insert.1.1"] == ""


def test_a_change_waits_for_a_reader_until_it_ends_or_is_ended() -> None:
    of = model(rows=1, ranges=1)
    waiting = ["n1.begin", "n1.expire", "n1.read.1", "publish.2", "n2.acquire"]
    after = whys(of, waiting)
    assert after["publish.3"] == "a transaction of v1 is still open"
    assert after["n1.end"] == ""
    assert whys(of, [*waiting, "n1.rollback"])["publish.3"] == ""
    assert whys(of, [*waiting, "n1.end"])["publish.3"] == ""


def test_what_has_been_written_before_the_lease_ended_is_committed_after_it() -> None:
    """The deadline ends stragglers; that nothing breaks when one comes through rests on the lock."""
    written = ["n1.begin", "n1.read.1", "n1.write.insert.1.1", "n1.expire"]
    assert whys(model(rows=1, ranges=1), written)["n1.commit"] == ""
