"""The judges of `tests.soak` must be able to fail: each is shown what it has to find."""

import random

import pytest

from tests.soak import options
from tests.soak.clients.ledger import Ledger, Row
from tests.soak.clients.made import is_possible
from tests.soak.clients.outcomes import Outcome, is_expected, is_prepared_anew, outcome_of
from tests.soak.clients.transfers import balances_after, faults_of_balances, first_accounts
from tests.soak.faults import nemesis, recovery, victims
from tests.soak.judge.samples import fault_of_leases

RED, BLUE = ("red",), ("blue",)


def ledger() -> Ledger:
    """Rows 1 (certain), 2 (moved to 3 with unknown outcome)."""
    made = Ledger("client")
    made.acknowledge({1: RED, 2: BLUE})
    made.doubt("a move", {2: None, 3: BLUE})
    return made


@pytest.mark.parametrize(("found", "fault"), [
    pytest.param({1: RED, 2: BLUE}, None, id="the unknown transaction did nothing"),
    pytest.param({1: RED, 3: BLUE}, None, id="the unknown transaction did everything"),
    pytest.param({1: RED}, "neither before nor after", id="one of its effects alone is a fault"),
    pytest.param({1: RED, 2: BLUE, 3: BLUE}, "neither before nor after", id="the other one alone, too"),
    pytest.param({3: BLUE}, "row 1 was acknowledged", id="an acknowledged row is missing"),
    pytest.param({1: BLUE, 3: BLUE}, "row 1 was acknowledged", id="an acknowledged row has another value"),
    pytest.param({1: RED, 3: BLUE, 9: RED}, "row 9 was refused", id="a refused row is there"),
])  # fmt: skip
def test_what_is_found_is_held_against_what_was_answered(found: dict[int, Row], fault: str | None) -> None:
    faults = ledger().faults(found)
    assert len(faults) == (0 if fault is None else 1)
    assert fault is None or fault in faults[0]


def test_what_was_seen_to_take_effect_may_not_go_again() -> None:
    made = ledger()
    assert made.faults({1: RED, 2: BLUE}) == []
    assert made.faults({1: RED, 3: BLUE}) == []
    [fault] = made.faults({1: RED, 2: BLUE})
    assert "its effects were seen and are gone" in fault


def test_a_client_leaves_alone_what_is_in_doubt() -> None:
    assert ledger().keys_in_doubt == {2, 3}
    assert set(ledger().certain) == {1}


@pytest.mark.parametrize(("sqlstate", "was_commit_sent", "outcome"), [
    pytest.param(None, False, Outcome.REFUSED, id="lost before COMMIT was sent: nothing may be seen"),
    pytest.param(None, True, Outcome.UNKNOWN, id="lost at COMMIT"),
    pytest.param("08007", True, Outcome.UNKNOWN, id="the node says that it does not know"),
    pytest.param("57P01", True, Outcome.UNKNOWN, id="the node ends while it commits"),
    pytest.param("40001", True, Outcome.REFUSED, id="a serialization failure is final"),
])  # fmt: skip
def test_what_an_error_says_of_a_transaction(sqlstate: str | None, was_commit_sent: bool, outcome: Outcome) -> None:
    assert outcome_of(sqlstate, was_commit_sent=was_commit_sent) is outcome


def test_errors_that_nothing_explains_are_violations() -> None:
    assert [code for code in ("XX000", "42703", "22003", "40001", "08006") if not is_expected(code)] == [
        "XX000",
        "42703",
        "22003",
    ]
    assert is_expected("42P01", also=("42P01",))
    assert is_prepared_anew("0A000", "cached plan must not change result type")
    assert not is_prepared_anew("0A000", "arrays of arrays are not supported")


def test_half_a_transfer_is_found() -> None:
    transfers = [(1, 2, 30), (2, 3, 5)]
    balances = balances_after(transfers)
    assert sum(balances.values()) == sum(row[2] for row in first_accounts())
    assert faults_of_balances(balances, transfers) == []
    balances[2] += 5
    assert faults_of_balances(balances, transfers) == [
        "account 2 has 1030, its transfers make 1025: only a part took effect"
    ]


@pytest.mark.parametrize(("versions", "newest", "is_fault"), [
    pytest.param([4, 5], 5, False, id="the two newest"),
    pytest.param([4], 5, False, id="only the one before"),
    pytest.param([3, 5], 5, True, id="two that are not adjacent"),
    pytest.param([3, 4, 5], 5, True, id="three"),
    pytest.param([6], 5, True, id="one that does not exist"),
])  # fmt: skip
def test_live_leases_are_on_the_two_newest_versions(versions: list[int], newest: int, is_fault: bool) -> None:
    assert (fault_of_leases(versions, newest) is not None) == is_fault


@pytest.mark.parametrize(("outcome", "rows", "is_so"), [
    (Outcome.DONE, 3, True),
    (Outcome.DONE, None, False),
    (Outcome.REFUSED, None, True),
    (Outcome.REFUSED, 3, False),
    (Outcome.UNKNOWN, None, True),
    (Outcome.UNKNOWN, 3, True),
    (Outcome.UNKNOWN, 2, False),
])  # fmt: skip
def test_a_made_table_is_there_as_its_outcome_says(outcome: Outcome, rows: int | None, is_so: bool) -> None:
    assert is_possible(outcome, rows) is is_so


def test_every_strike_is_dealt_once_in_each_round() -> None:
    strikes = [nemesis.Strike("kill", victims.Victim(name, lambda _cluster: [])) for name in "abcd"]
    dealt = nemesis.deck(strikes, random.Random(7))
    for _ in range(3):
        assert sorted(str(next(dealt)) for _ in strikes) == sorted(map(str, strikes))


def test_a_strike_is_over_when_every_node_has_served_a_statement_begun_after_it() -> None:
    seen = recovery.Recovery(("n1", "n2"))
    seen.struck("kill n1", at=100.0)
    seen.served("n1", 99.0)
    seen.served("n2", 101.0)
    assert not seen.seconds
    seen.served("n1", 102.0)
    assert list(seen.seconds) == ["kill n1"]


@pytest.mark.parametrize("arguments", [["--minutes", "-1"], ["--nodes", "0"], ["--sabotage", "all"], ["--what"]])
def test_bad_usage_ends_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        options.parse(arguments)
    assert ended.value.code == 2
