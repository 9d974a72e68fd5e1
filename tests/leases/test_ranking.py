"""What decides when the next step may go comes first."""

from dataclasses import dataclass

from catalog.elements import NodeId, TableId
from leases import rules
from leases.ranking import deciding_first, key


@dataclass(frozen=True)
class Lease:
    table: str
    version: int
    node: str
    remaining_s: float
    newest: int = 7
    table_id: int = 1
    incarnation: int = 1


IDLE = Lease("airports", 7, "n2", 30.0)
OLD_LONG = Lease("flights", 6, "n1", 25.0)
OLD_SHORT = Lease("flights", 6, "n3", 2.0)
OTHER_OLD = Lease("planes", 6, "n1", 29.0, table_id=2)


def test_whom_a_change_waits_for_comes_first_and_the_last_to_end_before_the_others() -> None:
    found = deciding_first([IDLE, OTHER_OLD, OLD_SHORT, OLD_LONG], {key(OLD_LONG), key(OLD_SHORT)})
    assert found == [OLD_LONG, OLD_SHORT, OTHER_OLD, IDLE]


def test_without_a_change_the_older_versions_come_first() -> None:
    assert deciding_first([IDLE, OLD_SHORT, OTHER_OLD, OLD_LONG]) == [OTHER_OLD, OLD_LONG, OLD_SHORT, IDLE]


def test_leases_in_nobodys_way_are_listed_by_table_and_node_however_long_they_last() -> None:
    leases = [Lease("b", 7, "n1", 1.0), Lease("a", 7, "n2", 9.0), Lease("a", 7, "n1", 3.0)]
    assert deciding_first(leases) == [leases[2], leases[1], leases[0]]


def test_in_the_way_is_what_publishing_and_draining_wait_for() -> None:
    """One rule for pages and publishers: whichever step comes next, it waits for exactly these."""
    leases = [rules.Lease(TableId(1), version, NodeId("n1"), 1, 60.0) for version in range(5, 8)]
    in_the_way = tuple(one for one in leases if rules.is_in_the_way(one.version, newest=7))
    publish = rules.publish_hindrance(leases, table=TableId(1), next_version=8, now=0.0)
    drain = rules.drain_hindrance(leases, table=TableId(1), version=7, now=0.0)
    assert publish is not None
    assert drain is not None
    assert publish.leases == drain.leases == in_the_way
