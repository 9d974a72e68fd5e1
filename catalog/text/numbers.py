"""Numbers as people type them and as English counts."""


def counted(count: int, noun: str) -> str:
    """ "1 row", "2 rows"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def whole_number(typed: str, *, digits_max: int) -> int | None:
    """A whole number of at most `digits_max` ASCII digits, or None. `str.isdigit` takes all scripts' digits; `int`
    takes quadratic time."""
    is_one = typed.isascii() and typed.isdigit() and len(typed) <= digits_max
    return int(typed) if is_one else None
