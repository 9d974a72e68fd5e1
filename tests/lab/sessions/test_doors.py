"""Every door leads into the situation that it is for."""

import pytest

from lab.sessions.doors import DOORS, door_to
from lab.sessions.replay import show
from lab.sessions.session import BadSession
from lab.sessions.shown import Shown


def behind(situation: str) -> Shown:
    return show(door_to(situation))


def refusals(position: Shown) -> dict[str, str]:
    return {offer.id: str(offer.why_not) for offer in position.offers if offer.why_not}


@pytest.mark.parametrize("situation", DOORS)
def test_its_steps_can_all_be_taken(situation: str) -> None:
    assert behind(situation).refused is None


def test_a_lease_refuses_the_third_version() -> None:
    assert "n1 still leases v1" in refusals(behind("lease"))["publish.3"]


def test_a_dead_nodes_lease_is_waited_for() -> None:
    assert "n1 still leases v1" in str(behind("dead-node").trace[-1].text)
    assert [node.condition for node in behind("dead-node").cluster.nodes] == ["down", "running"]


def test_a_frozen_nodes_transaction_is_waited_for() -> None:
    position = behind("open-transaction")
    assert [node.condition for node in position.cluster.nodes] == ["frozen", "running"]
    assert position.cluster.nodes[0].transactions


@pytest.mark.parametrize(("situation", "state"), [("delete-only", "delete-only"), ("write-only", "write-only")])
def test_the_newest_version_is_in_the_state_that_is_asked_about(situation: str, state: str) -> None:
    newest = behind(situation).cluster.versions[-1]
    assert [element.state for element in newest.elements] == [state]


def test_two_rows_wait_for_one_entry() -> None:
    rows = [pair for pair in behind("duplicates").cluster.pairs if pair.sort == "row"]
    assert len(rows) == 2


def test_an_unknown_situation_is_named() -> None:
    with pytest.raises(BadSession, match="there is no situation nope; situations are: lease"):
        door_to("nope")
