"""PostgreSQL's names for keys, sequences, indexes and constraints without one: flights, (origin, day), idx gives
flights_origin_day_idx, flights_origin_day_idx1 .. At most 63 bytes: the longer of table and columns is cut."""

from collections.abc import Callable, Iterable
from itertools import chain, count

NAME_BYTES_MAX = 63


def object_name(table: str, columns: str, word: str) -> str:
    """table_columns_word, or table_word without columns."""
    first, second = table.encode(), columns.encode()
    room = NAME_BYTES_MAX - len(word) - 1 - bool(second)
    second = second[: max(room - len(first), room // 2)]
    parts = (part.decode(errors="ignore") for part in (first[: room - len(second)], second))
    return "_".join((*filter(None, parts), word))


def free_name(table: str, columns: Iterable[str], word: str, is_taken: Callable[[str], object]) -> str:
    """The first free name: with the word, then word1, word2 .."""
    joined = "_".join(columns)
    words = chain([word], (f"{word}{number}" for number in count(1)))
    return next(name for one in words if not is_taken(name := object_name(table, joined, one)))
