"""The orders that are worked out after a release: all of an index, and of a unique index. Other elements have more
tiles than the few hundred orders of these, and wait in the queue."""

from collections.abc import Iterator
from itertools import permutations

from lab.ladders.elements import tiles_of
from lab.ladders.order import Order

ELEMENTS = ("index", "unique-index")


def orders_of(element: str, ground: str = "absent") -> Iterator[Order]:
    """Every order of some of the tiles of an element, the short ones first."""
    tiles = tiles_of(element, ground)
    for length in range(1, len(tiles) + 1):
        yield from (Order(element, ground, order) for order in permutations(tiles, length))


ORDERS = tuple(order for element in ELEMENTS for order in orders_of(element))
