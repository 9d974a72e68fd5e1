"""How long somebody has to wait who was wrong: with a clock that the test moves."""

import pytest

from nodes.people.attempts import FORGOTTEN_S, Attempts, network_of, subjects_of

LEA = subjects_of("lea", "10.0.0.1")


def after(failures: int, subjects=LEA, *, attempts: Attempts | None = None) -> Attempts:
    attempts = attempts or Attempts()
    for _ in range(failures):
        attempts.failed(subjects, 0.0)
    return attempts


@pytest.mark.parametrize(("failures", "wait_s"), [(0, 0), (2, 0), (3, 1), (4, 2), (6, 8), (40, 60)])
def test_each_failure_after_the_first_two_doubles_the_wait(failures: int, wait_s: float) -> None:
    assert after(failures).wait_s(LEA, 0.0) == wait_s


def test_a_wait_ends_and_nobody_is_locked_out_for_good() -> None:
    assert after(1000).wait_s(LEA, 60.0) == 0


def test_the_right_password_ends_the_count() -> None:
    attempts = after(10)
    attempts.succeeded(LEA, 1.0)
    attempts.failed(LEA, 2.0)
    assert attempts.wait_s(LEA, 2.0) == 0


def test_failures_are_forgotten() -> None:
    attempts = after(10)
    attempts.failed(LEA, 1 + FORGOTTEN_S)
    assert attempts.wait_s(LEA, 1 + FORGOTTEN_S) == 0


def test_others_at_the_same_address_are_not_held_up_by_one() -> None:
    assert after(20).wait_s(subjects_of("sam", "10.0.0.1"), 0.0) == 0


def test_the_same_name_elsewhere_is_not_held_up_by_some() -> None:
    assert after(20).wait_s(subjects_of("lea", "10.0.0.2"), 0.0) == 0


def test_many_names_from_one_address_are_held_up_but_not_whoever_signed_in_from_there() -> None:
    attempts = Attempts()
    attempts.succeeded(LEA, 0.0)
    for number in range(40):
        attempts.failed(subjects_of(f"guess {number}", "10.0.0.1"), 1.0)
    assert attempts.wait_s(subjects_of("guess 41", "10.0.0.1"), 1.0) == 10
    assert attempts.wait_s(LEA, 1.0) == 0


def test_one_name_from_many_addresses_is_held_up_but_not_where_it_is_known() -> None:
    attempts = Attempts()
    attempts.succeeded(LEA, 0.0)
    for number in range(40):
        attempts.failed(subjects_of("lea", f"10.0.1.{number}"), 1.0)
    assert attempts.wait_s(subjects_of("lea", "10.0.2.1"), 1.0) == 10
    assert attempts.wait_s(LEA, 1.0) == 0


def test_memory_is_bounded() -> None:
    attempts = Attempts(size_max=100)
    for number in range(1000):
        attempts.failed(subjects_of(f"guess {number}" * 1000, f"10.0.{number // 250}.{number % 250}"), float(number))
    assert len(attempts._tallies) <= 100
    assert max(map(len, attempts._tallies)) < 400


@pytest.mark.parametrize(("address", "counted"), [
    pytest.param("10.0.0.1", "10.0.0.1", id="an address of IPv4"),
    pytest.param("::ffff:10.0.0.1", "10.0.0.1", id="IPv4 in the clothes of IPv6"),
    pytest.param("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", id="a customer has a whole network"),
    pytest.param("fe80::1%eth0", "fe80::/64", id="with a zone"),
    pytest.param("", "", id="none"),
])  # fmt: skip
def test_what_counts_as_one_address(address: str, counted: str) -> None:
    assert network_of(address) == counted
