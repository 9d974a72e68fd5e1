"""The oids and numbers by which results name columns of tables and views: the shadow's, which a node has to learn
(`nodes.catalog_queries.shadow`). Views have negative numbers: their ids are other numbers than those of tables."""

from collections.abc import Iterable, Mapping


def view_number(view_id: int) -> int:
    return -view_id


_PLACES: dict[int, tuple[int, dict[int, int]]] = {}


def know(number: int, oid: int, columns: Mapping[int, int]) -> None:
    known = _PLACES.get(number)
    before = known[1] if known is not None and known[0] == oid else {}
    _PLACES[number] = oid, before | dict(columns)


def knows(number: int, columns: Iterable[int]) -> bool:
    known = _PLACES.get(number)
    return known is not None and all(column in known[1] for column in columns)


def forget_places() -> None:
    _PLACES.clear()


def place(number: int, column: int) -> tuple[int, int]:
    """The oid of a table or view and the number of its column, as the catalog has them; zeros where nobody knows."""
    oid, columns = _PLACES.get(number, (0, {}))
    return (oid, columns[column]) if column in columns else (0, 0)
