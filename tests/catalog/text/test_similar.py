"""A hint names what was probably meant, and nothing that is only somewhat alike."""

import time

import pytest

from catalog.text.similar import NAMES_MAX, letters_away, perhaps, similar

TABLES = ("airlines", "airports", "flights", "planes")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        pytest.param("fligths", "flights", id="two letters changed places"),
        pytest.param("flight", "flights", id="a letter is missing"),
        pytest.param("Flights", "flights", id="another case"),
        pytest.param("airprots", "airports", id="letters changed places, others are longer"),
        pytest.param("customers", None, id="nothing like it"),
        pytest.param("airxxxxs", None, id="four letters away"),
        pytest.param("planes", None, id="the name itself is no hint"),
    ],
)
def test_the_nearest_name_is_meant(name: str, meant: str | None) -> None:
    assert similar(name, TABLES) == meant


def test_of_several_that_are_as_near_none_is_named() -> None:
    assert similar("dest", ["desk", "rest"]) is None
    assert similar("dest", ["desk", "destx", "dest_"]) is None


def test_a_short_name_is_not_meant_by_a_word_of_other_letters() -> None:
    assert similar("ab", ["id", "to"]) is None


def test_a_hint_says_what_the_name_is_of() -> None:
    assert perhaps("table", "fligts", TABLES) == 'Perhaps you meant the table "flights".'
    assert perhaps("table", "nothing", TABLES) is None


@pytest.mark.parametrize(("a", "b", "away"), [("kitten", "sitting", 3), ("", "abc", 3), ("same", "same", 0)])
def test_letters_that_differ_are_counted(a: str, b: str, away: int) -> None:
    assert letters_away(a, b, 3) == away
    assert away == 0 or letters_away(a, b, away - 1) is None


def test_many_names_cost_little() -> None:
    """Whoever sends wrong names holds nobody up: no more than so many names are compared."""
    began = time.process_time()
    similar("x" * 63, (f"{n:063}" for n in range(100 * NAMES_MAX)))
    assert time.process_time() - began < 1.0
