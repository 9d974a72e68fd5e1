"""to_char of dates and times: a pattern that is known beforehand becomes pieces of the engine's language.

    'DD.MM.YYYY'      strftime(x, '%d') || '.' || strftime(x, '%m') || '.' || strftime(x, '%Y')
    'FMDay, DDth'     dayname(x) || ', ' || ..

What is not here (eras, Julian days, Roman months, a pattern that is no constant) is `writing_by_patterns`'.
"""

from expressions.dates.patterns import Part, parts_of

_DAY, _MONTH = "dayname({0})", "monthname({0})"


def _text(code: str) -> str:
    return f"strftime({{0}}, '{code}')"


def _number(expression: str, digits: int) -> str:
    return f"lpad(CAST({expression} AS VARCHAR), {digits}, '0')"


_SHORT_DAY, _SHORT_MONTH = f"{_DAY}[1:3]", f"{_MONTH}[1:3]"
PIECES = {
    "YYYY": _text("%Y"), "YYY": f"right({_text('%Y')}, 3)", "YY": f"right({_text('%Y')}, 2)",
    "Y": f"right({_text('%Y')}, 1)", "IYYY": _text("%G"), "IW": _text("%V"), "ID": _number("isodow({0})", 1),
    "MM": _text("%m"), "DDD": _text("%j"), "DD": _text("%d"), "D": _number("dayofweek({0}) + 1", 1),
    "Q": _number("quarter({0})", 1), "WW": _number("(dayofyear({0}) - 1) // 7 + 1", 2),
    "W": _number("(day({0}) - 1) // 7 + 1", 1), "CC": _number("(year({0}) + 99) // 100", 2),
    "HH24": _text("%H"), "HH12": _text("%I"), "HH": _text("%I"), "MI": _text("%M"), "SS": _text("%S"),
    "MS": _number("millisecond({0}) % 1000", 3), "US": _number("microsecond({0}) % 1000000", 6),
    "SSSSS": "CAST(hour({0}) * 3600 + minute({0}) * 60 + second({0}) AS VARCHAR)",
    "AM": _text("%p"), "PM": _text("%p"), "am": f"lower({_text('%p')})", "pm": f"lower({_text('%p')})",
    "DAY": f"rpad(upper({_DAY}), 9, ' ')", "Day": f"rpad({_DAY}, 9, ' ')", "day": f"rpad(lower({_DAY}), 9, ' ')",
    "DY": f"upper({_SHORT_DAY})", "Dy": _SHORT_DAY, "dy": f"lower({_SHORT_DAY})",
    "MONTH": f"rpad(upper({_MONTH}), 9, ' ')", "Month": f"rpad({_MONTH}, 9, ' ')",
    "month": f"rpad(lower({_MONTH}), 9, ' ')",
    "MON": f"upper({_SHORT_MONTH})", "Mon": _SHORT_MONTH, "mon": f"lower({_SHORT_MONTH})",
}  # fmt: skip
_CASED = frozenset(word for word in PIECES if word.upper() in {"DAY", "DY", "MONTH", "MON", "AM", "PM"})
PIECES_MAX = 200
_NAMES = {word.upper() for word in _CASED}


def date_pattern(pattern: str) -> str | None:
    """The template of to_char(x, pattern); None where the engine has no words for it."""
    written: list[str] = []
    for part in parts_of(pattern):
        piece = _piece(part) if part.kind == "field" else _literal(part.text)
        if piece is None:
            return None
        written.append(piece)
    if len(written) > PIECES_MAX:
        return None
    return f"({' || '.join(written)})" if written else "CASE WHEN {0} IS NOT NULL THEN NULL END"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''").replace("{", "{{").replace("}", "}}") + "'"


def _piece(part: Part) -> str | None:
    word = part.text
    key = word if word in _CASED else word.upper()
    known = PIECES.get(key)
    if known is None or word.upper() in _NAMES - {key.upper()}:
        return None
    if part.fills:
        known = f"rtrim({known}, ' ')" if key in _CASED else f"CAST(CAST({known} AS INTEGER) AS VARCHAR)"
    return _ordinal(known, is_upper=part.ending == "TH") if part.ending.upper() == "TH" else known


def _ordinal(number: str, *, is_upper: bool) -> str:
    """A number with its ending: 1st, 2nd, 3rd, 11th."""
    last = f"CAST({number} AS INTEGER)"
    ending = (
        f"CASE WHEN {last} % 100 BETWEEN 11 AND 13 THEN 'th' WHEN {last} % 10 = 1 THEN 'st' WHEN {last} % 10 = 2"
        f" THEN 'nd' WHEN {last} % 10 = 3 THEN 'rd' ELSE 'th' END"
    )
    return f"{number} || {f'upper({ending})' if is_upper else ending}"
