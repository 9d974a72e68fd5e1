"""Errors show the beginning of a value, however long it is."""

import pytest

from catalog.text.mistakes import VALUE_CHARS_MAX, cut, with_short_values

LONG = "7" * 240_000


@pytest.mark.parametrize("value", [LONG, f'a"b{LONG}', f"{LONG}\n{LONG}", "x y " * 99, '"' * 999])
@pytest.mark.parametrize(
    "message", ['invalid input syntax for type integer: "{}"', 'value "{}" is out of range for type integer']
)
def test_a_quoted_value_is_cut(message: str, value: str) -> None:
    assert with_short_values(message.format(value)) == message.format(f"{value[:VALUE_CHARS_MAX]}..")


def test_a_value_without_quotes_is_cut() -> None:
    assert with_short_values(f"row n = {LONG} has no place") == f"row n = {'7' * 62}.. has no place"


@pytest.mark.parametrize("message", ['column "a" of relation "b" does not exist', 'is "' + "x" * 60 + '"', ""])
def test_all_else_stays(message: str) -> None:
    assert with_short_values(message) == message


def test_the_beginning_of_a_value() -> None:
    assert (cut("x" * 60), cut("x" * 61)) == ("x" * 60, "x" * 60 + "..")
