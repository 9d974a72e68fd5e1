"""to_number: a text is read by a pattern, as far as both go."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from catalog.values.types import SqlType
from expressions.errors import NUMBER_OUT_OF_RANGE, SqlError, unsupported
from expressions.limits import look_at
from expressions.number_patterns.pattern import Shape, pattern_of
from expressions.number_patterns.writing import DIGITS, rounded
from expressions.values.arithmetic import text_to
from expressions.values.numerics import multiply
from expressions.values.powers import power

_DATA = DIGITS + ".,+-"


class _Reader:
    """One text read by a pattern."""

    def __init__(self, shape: Shape, text: str) -> None:
        self.shape, self.options, self.text = shape, shape.options, text
        self.place = 0
        self.sign, self.digits = " ", ""
        self.before = self.after = 0
        self.has_point = False
        self.is_in = False

    @property
    def is_over(self) -> bool:
        return self.place >= len(self.text)

    def _at(self, ahead: int = 0) -> str:
        return self.text[self.place + ahead : self.place + ahead + 1]

    def read(self, parts: tuple[tuple[bool, str], ...]) -> str:
        for is_word, text in parts:
            if self.is_over:
                break
            if not is_word:
                self.place += 1
            else:
                self._word(text.upper())
        digits = self.digits.removesuffix(".")
        return f"{self.sign}{digits}"

    def _word(self, word: str) -> None:
        match word:
            case "9" | "0" | "." | "D":
                self._column(word)
                self.place += 1
            case "," | "G":
                if "FM" not in self.options and self._at() == ",":
                    self.place += 1
            case "L":
                self._skip(1)
            case "TH":
                if not (self.sign == "-" or "." in self.options):
                    self._skip(2)
            case "MI" | "PL" | "SG":
                if self._at() in {"MI": ("-",), "PL": ("+",), "SG": ("-", "+")}[word]:
                    self.sign = self._at()
                    self.place += 1
                else:
                    self._skip(1)

    def _skip(self, count: int) -> None:
        while count and not self.is_over and self._at() not in _DATA:
            self.place += 1
            count -= 1

    def _column(self, word: str) -> None:
        self.place += self._at() == " "
        if self.is_over:
            return
        if self.sign == " " and word in "90" and not self.before + self.after:
            is_locale = "S" in self.options and self.shape.sign == "first"
            signs = {"-": "-", "+": "+"} | ({} if is_locale or "PR" not in self.options else {"<": "-"})
            if self._at() in signs:
                self.sign = signs[self._at()]
                self.place += 1
        if self.is_over:
            return
        is_read = False
        if self._at() in DIGITS:
            if self.has_point and self.after == self.shape.after:
                return
            self.digits += self._at()
            self.before, self.after = self.before + (not self.has_point), self.after + self.has_point
            is_read = True
        elif "." in self.options and not self.has_point and self._at() == ".":
            self.digits += "."
            self.has_point = is_read = True
        if self.sign == " " and self.before + self.after:
            if "S" in self.options and is_read:
                if self._at(1) in ("+", "-"):
                    self.place += 1
                    self.sign = self._at()
            elif not is_read and "S" not in self.options and self.options & {"PL", "MI"} and self._at() in ("+", "-"):
                self.sign = self._at()


def to_number(text: str, pattern_text: str) -> Decimal | None:
    """Raises 42601, 22P02 and 22003."""
    pattern = pattern_of(pattern_text)
    look_at(len(text))
    shape = pattern.copied()
    if not pattern.parts:
        return None
    for word in ("EEEE", "RN"):
        if word in shape.options:
            raise unsupported(f'"{word}" for input')
    reader = _Reader(shape, text)
    digits = reader.read(pattern.parts)
    precision = shape.before + shape.shift + reader.after
    number: Decimal = _numeric_of(digits)
    if number and number.adjusted() >= precision - reader.after:
        raise SqlError(NUMBER_OUT_OF_RANGE, "numeric field overflow")
    number = rounded(number, reader.after)
    return powered(number, shape.shift) if "V" in shape.options else number


def powered(number: Decimal, shift: int) -> Decimal:
    """The number by 10 to the power of -shift, with the digits that PostgreSQL has of that."""
    found: Decimal = multiply(number, power(Decimal(10), Decimal(-shift)))
    return found


_numeric_of: Callable[[str], Any] = text_to(SqlType.NUMERIC)
