"""Limits of a value and of the work with it. A node holds rows of many clients, so a value has at most
`VALUE_BYTES_MAX` (PostgreSQL: 1 GB), refused before its memory is taken. Characters looked at are counted from one row
to the next (`begin_anew`), since one expression is computed without a break."""

from collections.abc import Sequence
from contextvars import ContextVar
from decimal import Decimal
from typing import Any

from catalog.values import numerics
from catalog.values.arrays import ELEMENTS_MAX, TOO_MANY_ELEMENTS
from expressions.errors import PROGRAM_LIMIT, STATEMENT_TOO_COMPLEX, SqlError

VALUE_BYTES_MAX = 2**20
TOO_LONG = f"a value may have at most {VALUE_BYTES_MAX} bytes"
NUMBER_BYTES = 16
"""Of a numeric or an interval in an array, that count as no more than an element."""
GROWN_ELEMENTS_MAX = 2**14
"""For an array that is made of a number."""
GROWN_TOO_FAR = f"an array may grow by at most {GROWN_ELEMENTS_MAX} elements at once"

CHARS_AT_ONCE_MAX = 2**22
"""Characters looked at one by one, some tenth of a microsecond each, before others have their turn."""
SHORT_CHARS = 4096
"""Texts that are not worth counting: an expression has at most 100,000 parts."""
AT_ONCE = 32
"""Characters that a search or a copy passes while one is looked at."""

_left: ContextVar[list[int] | None] = ContextVar("characters left", default=None)


def begin_anew() -> None:
    """Resets the count, between two rows, when other work could run. Code that never calls this is not counted."""
    left = _left.get()
    if left is None:
        _left.set([CHARS_AT_ONCE_MAX])
    else:
        left[0] = CHARS_AT_ONCE_MAX


def look_at(chars: int) -> None:
    if chars > SHORT_CHARS:
        _count(chars)


def pass_chars(chars: int) -> None:
    """Count characters that a search or a copy passes. Raises 54001."""
    if chars > SHORT_CHARS:
        _count(chars // AT_ONCE)


def _count(chars: int) -> None:
    left = _left.get()
    if left is None:
        return
    left[0] -= chars
    if left[0] < 0:
        message = f"the expressions of one row look at more than {CHARS_AT_ONCE_MAX} characters of its texts"
        raise SqlError(STATEMENT_TOO_COMPLEX, message, hint="ask for less at once, or of shorter texts")


def too_many_elements() -> SqlError:
    return SqlError(PROGRAM_LIMIT, TOO_MANY_ELEMENTS, hint="send them in several statements")


def refuse_growth(count: int) -> None:
    """Raises 54000 where an array would get more elements than may come of a number."""
    if count > GROWN_ELEMENTS_MAX:
        raise SqlError(PROGRAM_LIMIT, GROWN_TOO_FAR, hint="put arrays together with ||")


def refuse_array(items: Sequence[Any]) -> None:
    """Raises 54000 for an array of too many elements, or of more than a value may have altogether."""
    if len(items) > ELEMENTS_MAX:
        raise too_many_elements()
    if _bytes_beyond_numbers(items) > VALUE_BYTES_MAX:
        raise SqlError(PROGRAM_LIMIT, TOO_LONG)


def look_over(items: Sequence[Any]) -> None:
    look_at(len(items) + _bytes_beyond_numbers(items))


def _bytes_beyond_numbers(items: Sequence[Any]) -> int:
    """The bytes of texts, and those of numerics that are longer than numbers usually are."""
    size = 0
    for item in items:
        if isinstance(item, str):
            size += len(item) if item.isascii() else len(item.encode())
        elif isinstance(item, bytes):
            size += len(item)
        elif isinstance(item, Decimal):
            size += max(numerics.packed_bytes_max(item) - NUMBER_BYTES, 0)
    return size
