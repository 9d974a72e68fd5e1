"""Arrays as texts, for statements: what is wrong with one is an error with its code (`catalog.values.arrays`)."""

from catalog.values import arrays
from catalog.values.arrays import ELEMENTS_MAX
from expressions.errors import SqlError
from expressions.limits import too_many_elements


def words_of(text: str) -> list[str | None]:
    """The elements of an array literal. Raises 22P02, and 54000 when there are too many of them."""
    try:
        return arrays.words_of(text)
    except arrays.NotAnArray as error:
        raise SqlError(error.sqlstate, str(error), detail=error.detail) from None


def vector_words(text: str) -> list[str]:
    """The elements of a vector of pg_catalog such as "1 2"."""
    words = text.split(maxsplit=ELEMENTS_MAX)
    if len(words) > ELEMENTS_MAX:
        raise too_many_elements()
    return words
