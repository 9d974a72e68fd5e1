"""to_char of numbers: a pattern is laid over a number, sign by sign, as PostgreSQL lays it.

Each part of the pattern looks at the number's digits and at the columns that are left. The rules, odd ones among them,
are PostgreSQL's own.
"""

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from catalog.values import numerics
from expressions.errors import SqlError
from expressions.limits import look_at
from expressions.number_patterns.pattern import Pattern, Shape, pattern_of

DOUBLE_DIGITS, REAL_DIGITS = 15, 6
ROMAN_COLUMNS, ROMAN_MAX = 15, 3999
DIGITS = "0123456789"


class _Writer:
    """One number written by a pattern."""

    def __init__(self, pattern: Pattern, shape: Shape, digits: str, sign: str, spaces: int) -> None:
        self.parts, self.shape, self.options = pattern.parts, shape, shape.options
        self.digits, self.sign, self.spaces = digits, sign, spaces
        self.out: list[str] = []
        self.place = self.column = 0
        self.is_in = False
        self.relevant = self._last_relevant() if {"FM", "."} <= self.options else None
        if self.options & {"PL", "MI"}:
            self.sign_is_written = "MI" in self.options
        else:
            if sign != "-" and "FM" in self.options:
                self.options.discard("PR")
            self.sign_is_written = sign == "+" and "FM" in self.options and "S" not in self.options
            if shape.sign == "first" and shape.before == shape.before_sign:
                shape.sign = "last"
        self.count = shape.after + shape.before - 1
        if not self.sign_is_written and not spaces:
            self.count += 1

    def _last_relevant(self) -> int | None:
        """The place of the last decimal that is no zero, or the point; zeros that 0 asks for count."""
        point = self.digits.find(".")
        if point < 0:
            return None
        place = max(len(self.digits.rstrip("0")) - 1, point)
        if self.shape.zero_end > self.spaces:
            place = max(place, min(len(self.digits) - 1, self.shape.zero_end - self.spaces))
        return place

    def _char(self) -> str:
        return self.digits[self.place] if self.place < len(self.digits) else ""

    def written(self) -> str:
        for is_word, text in self.parts:
            if not is_word:
                self.out.append(text)
            else:
                self._word(text)
        return "".join(self.out).partition("\0")[0]

    def _word(self, text: str) -> None:
        word, fills = text.upper(), "FM" not in self.options
        match word:
            case "9" | "0" | "." | "D":
                self._column(word)
            case "," | "G":
                if self.is_in:
                    self.out.append(",")
                elif fills:
                    self.out.append(" ")
            case "L":
                self.out.append(" ")
            case "RN":
                roman = self.digits if text[0] == "R" else self.digits.lower()
                self.out.append(roman.rjust(ROMAN_COLUMNS) if fills else roman)
            case "TH":
                if not ("RN" in self.options or self.digits[:1] == "#" or self.sign == "-" or "." in self.options):
                    ending = _ending(self.digits)
                    self.out.append(ending.upper() if text[0] == "T" else ending)
            case "MI" | "PL":
                wanted = "-" if word == "MI" else "+"
                if self.sign == wanted:
                    self.out.append(wanted)
                elif fills:
                    self.out.append(" ")
            case "SG":
                self.out.append(self.sign)

    @property
    def _is_lone_zero(self) -> bool:
        """A zero before the point that is left out: `9.9` of 0.1 is `  .1`."""
        return "0" not in self.options and not self.place and self.digits[:1] == "0" and self.shape.after != 0

    @property
    def _relevant_is_point(self) -> bool:
        return self.relevant is not None and self.digits[self.relevant] == "."

    def _column(self, word: str) -> None:
        if "RN" in self.options:
            return
        shape, options = self.shape, self.options
        self.is_in = False
        has_begun = self.column >= self.spaces or ("0" in options and shape.zero_start == self.column)
        if not self.sign_is_written and has_begun and (not self._is_lone_zero or self._relevant_is_point):
            self._sign()
        if self.column < self.spaces and (shape.zero_start > self.column or "0" not in options):
            self.out.append(" " if "FM" not in options else "")
        elif self.column < self.spaces:
            self.out.append("0")
            self.is_in = True
        else:
            self._digit(word)
        end = self.count + (1 if self.spaces else 0) + (1 if "." in options else 0)
        if self.relevant is not None and self.relevant == self.place:
            end = self.column
        if self.column + 1 == end:
            if self.sign_is_written and "PR" in options:
                self.out.append(" " if self.sign == "+" else ">")
            elif "S" in options and shape.sign == "last":
                self.out.append(self.sign)
        self.column += 1

    def _sign(self) -> None:
        if "S" in self.options:
            if self.shape.sign == "first":
                self.out.append(self.sign)
                self.sign_is_written = True
            return
        if "PR" in self.options:
            self.out.append(" " if self.sign == "+" else "<")
        elif self.sign == "+":
            self.out.append(" " if "FM" not in self.options else "")
        else:
            self.out.append("-")
        self.sign_is_written = True

    def _digit(self, word: str) -> None:
        char = self._char()
        if char == ".":
            if not self._relevant_is_point or "FM" in self.options:
                self.out.append(".")
        elif self.relevant is not None and self.place > self.relevant and word != "0":
            pass
        elif self._is_lone_zero:
            if "FM" not in self.options:
                self.out.append(" ")
            elif self._relevant_is_point:
                self.out.append("0")
        else:
            self.out.append(char or "\0")
            self.is_in = True
        self.place += 1 if char else 0


def _ending(digits: str) -> str:
    last = digits[-1:]
    if last not in DIGITS:
        raise SqlError("22P02", f'"{digits}" is not a number')
    if digits[-2:-1] == "1":
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(last, "th")


def _laid_out(pattern: Pattern, shape: Shape, text: str) -> str:
    """A number's text by its pattern."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("+", text)
    before, spaces = len(digits.partition(".")[0]), 0
    if before < shape.before:
        spaces = shape.before - before
    elif before > shape.before:
        digits = "#" * shape.before + "." + "#" * shape.after
    return _Writer(pattern, shape, digits, sign, spaces).written()


_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
    (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip


def _roman(pattern: Pattern, number: float | Decimal) -> str:
    whole = int(number) if math.isfinite(number) else 0
    digits = ""
    rest = whole if 0 < whole <= ROMAN_MAX else 0
    for value, letters in _ROMAN:
        digits += letters * (rest // value)
        rest %= value
    shape = Shape(options=pattern.shape.options & {"FM", "RN"})
    return _Writer(pattern, shape, digits or "#" * ROMAN_COLUMNS, "", 0).written()


def _no_exponent(shape: Shape) -> str:
    """Columns of NaN and the infinities with an exponent."""
    signs = list(" " + "#" * (shape.before + shape.after + 5))
    signs[shape.before + 1] = "."
    return "".join(signs)


def rounded(number: Decimal, scale: int) -> Decimal:
    return number.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, numerics.CONTEXT)


def of_numeric(number: Decimal, text: str) -> str:
    pattern = pattern_of(text)
    shape = pattern.copied()
    look_at(len(number.as_tuple().digits) * 4)
    if not pattern.parts:
        return ""
    if "RN" in shape.options:
        return _roman(pattern, rounded(number, 0) if number.is_finite() else number)
    if "EEEE" in shape.options:
        return _scientific(number, shape) if number.is_finite() else _no_exponent(shape)
    if "V" in shape.options:
        number = number.scaleb(shape.shift, numerics.CONTEXT) if number.is_finite() else number
        shape.before += shape.shift
    if not number.is_finite():
        return _laid_out(pattern, shape, numerics.text_of(number))
    shown = rounded(number, shape.after)
    return _laid_out(pattern, shape, f"{shown or abs(shown):f}")


def _scientific(number: Decimal, shape: Shape) -> str:
    exponent = number.adjusted() if number else 0
    digits = rounded(number.scaleb(-exponent, numerics.CONTEXT), shape.after)
    text = f"{digits:f}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return text if text.startswith("-") else f" {text}"


def of_whole(number: int, text: str) -> str:
    return of_numeric(Decimal(number), text)


def of_integer(number: int, text: str) -> str:
    """An exponent is that of a double, whose halves go to even digits."""
    shape = pattern_of(text).shape
    return f"{float(number): .{shape.after}e}" if "EEEE" in shape.options else of_whole(number, text)


def of_float(digits_max: int) -> Callable[[float, str], str]:
    def written(number: float, text: str) -> str:
        pattern = pattern_of(text)
        shape = pattern.copied()
        if not pattern.parts:
            return ""
        if "RN" in shape.options:
            return _roman(pattern, round(number) if math.isfinite(number) else number)
        if "EEEE" in shape.options:
            if not math.isfinite(number):
                return _no_exponent(shape)
            return f"{number: .{shape.after}e}"
        if "V" in shape.options:
            number *= 10.0**shape.shift
            shape.before += shape.shift
        words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
        whole = words.get(str(number)) or f"{number:.0f}"
        before = len(whole.removeprefix("-"))
        shape.after = 0 if before >= digits_max else min(shape.after, digits_max - before)
        return _laid_out(pattern, shape, f"{number:.{shape.after}f}" if math.isfinite(number) else whole)

    return written
