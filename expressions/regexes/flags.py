"""The options of a regular expression, by PostgreSQL's letters."""

from dataclasses import dataclass, replace

from expressions.errors import INVALID_PARAMETER_VALUE, SqlError, unsupported


@dataclass(frozen=True, slots=True)
class Flags:
    """The options of a regular expression. `is_global`: all matches count, not the first alone."""

    is_global: bool = False
    ignores_case: bool = False
    dot_stops: bool = False
    """A dot and what is not in brackets stop at a newline."""
    anchors_lines: bool = False
    is_expanded: bool = False
    is_literal: bool = False

    def with_letter(self, letter: str) -> "Flags":
        """Raises 22023, or 0A000."""
        if letter in ("b", "e"):
            raise unsupported(f'the option "{letter}" of regular expressions (basic and extended ones)')
        if letter not in LETTERS:
            raise SqlError(INVALID_PARAMETER_VALUE, f'invalid regular expression option: "{letter}"')
        return replace(self, **LETTERS[letter])


LETTERS: dict[str, dict[str, bool]] = {
    "g": {"is_global": True}, "i": {"ignores_case": True}, "c": {"ignores_case": False},
    **{letter: {"dot_stops": True, "anchors_lines": True} for letter in "mn"},
    "p": {"dot_stops": True, "anchors_lines": False}, "w": {"dot_stops": False, "anchors_lines": True},
    "s": {"dot_stops": False, "anchors_lines": False}, "x": {"is_expanded": True}, "t": {"is_expanded": False},
    "q": {"is_literal": True},
}  # fmt: skip


def flags_of(letters: str) -> Flags:
    flags = Flags()
    for letter in letters:
        flags = flags.with_letter(letter)
    return flags
