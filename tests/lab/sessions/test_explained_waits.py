"""Every door leads into the situation that it is for."""

import pytest

from lab.sessions.explained_waits import DOORS, door_to
from lab.sessions.replay import show
from lab.sessions.session import BadSession
from lab.sessions.shown import SessionView


def behind(situation: str) -> SessionView:
    return show(door_to(situation))


def refusals(position: SessionView) -> dict[str, str]:
    return {offer.id: str(offer.why_not) for offer in position.offers if offer.why_not}


@pytest.mark.parametrize("situation", DOORS)
def test_its_steps_can_all_be_taken(situation: str) -> None:
    assert behind(situation).refused is None


def test_a_lease_refuses_the_third_version() -> None:
    assert "n1 still leases v1" in refusals(behind("lease"))["publish.3"]


def test_a_dead_nodes_lease_is_waited_for() -> None:
    assert "n1 still leases v1" in str(behind("dead-node").trace[-1].text)
    assert [node.condition for node in behind("dead-node").cluster.nodes] == ["down", "running"]


@pytest.mark.parametrize(
    ("situation", "condition", "reasons"),
    [
        ("open-transaction", "running", "n1 still leases v1, a transaction of v1 is still open"),
        ("outlived-lease", "frozen", "a transaction of v1 is still open"),
    ],
)
def test_a_transaction_is_open_and_waited_for_with_or_without_its_lease(
    situation: str, condition: str, reasons: str
) -> None:
    position = behind(situation)
    assert [node.condition for node in position.cluster.nodes] == [condition, "running"]
    assert [str(one.did) for one in position.cluster.nodes[0].transactions] == ["has written: inserts row 1 with a = 1"]
    assert refusals(position)["publish.3"] == reasons


@pytest.mark.parametrize("situation", ["duplicates", "reference", "violation"])
def test_a_failure_is_that_of_a_verification(situation: str) -> None:
    position = behind(situation)
    assert str(position.trace[-1].text) == "verification fails: the change rolls back"


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
