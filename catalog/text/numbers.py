"""Numbers as strangers type them, in a form, an address, a message; and as English counts with them."""


def counted(count: int, noun: str) -> str:
    """ "1 row", "2 rows"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def whole_number(typed: str, *, digits_max: int) -> int | None:
    """The whole number from 0 on that is typed in at most `digits_max` ASCII digits; None if it is something else.

    `str.isdigit` takes digits of every script, and `int` takes time that grows with the square of a text's length.
    """
    is_one = typed.isascii() and typed.isdigit() and len(typed) <= digits_max
    return int(typed) if is_one else None
