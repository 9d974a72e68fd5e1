"""An order of tiles as a value (element, ground, tiles, rows), and the model that it is. Everything in it is bounded
and checked before it is explored, since anybody may send one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.text.message import Text
from lab.explorer.model import STAGES_MAX, WORK, BadModel, Model, kinds_described, stage_named

ELEMENT_CHARACTERS_MAX, TILE_CHARACTERS_MAX, NODES_MAX = 60, 60, 3


class BadOrder(ValueError):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


@dataclass(frozen=True, slots=True)
class Order:
    """`element` by its name in the explorer, `ground` its first state; `rows` are the first rows, none: the search
    chooses them."""

    element: str
    ground: str
    tiles: tuple[str, ...]
    rows: tuple[str | int, ...] = ()
    nodes: int = 2

    @property
    def model(self) -> Model:
        """Raises `BadOrder`."""
        try:
            states = (self.ground, *(tile for tile in self.tiles if tile not in WORK))
            stages = tuple(map(stage_named, states))
            return Model(stages=stages, tiles=self.tiles, nodes=self.nodes, **kinds_described(self.element))
        except BadModel as error:
            raise BadOrder(error.why) from error


def order_from_json(body: Mapping[str, Any]) -> Order:
    """Raises `BadOrder`."""
    element, ground = _text(body, "element", ELEMENT_CHARACTERS_MAX), _text(body, "ground", TILE_CHARACTERS_MAX)
    tiles, rows, nodes = body.get("tiles"), body.get("rows"), body.get("nodes", 2)
    if not isinstance(tiles, Sequence) or isinstance(tiles, str) or not 1 <= len(tiles) <= STAGES_MAX:
        raise BadOrder(Text("place 1 to {most} tiles", {"most": STAGES_MAX}))
    if not all(isinstance(tile, str) and len(tile) <= TILE_CHARACTERS_MAX for tile in tiles):
        raise BadOrder(Text("a tile is a state or a piece of work"))
    if type(nodes) is not int or not 2 <= nodes <= NODES_MAX:
        raise BadOrder(Text("an order runs on 2 to {most} nodes", {"most": NODES_MAX}))
    found = Order(element, ground, tuple(tiles), _rows(rows), nodes)
    _check_rows(found)
    return found


def _text(body: Mapping[str, Any], name: str, most: int) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise BadOrder(Text("an order has an {name}", {"name": name}))
    return value.strip()


def _rows(rows: object) -> tuple[str | int, ...]:
    if rows is None:
        return ()
    if not isinstance(rows, Sequence) or isinstance(rows, str) or len(rows) > STAGES_MAX:
        raise BadOrder(Text("the first rows are a list"))
    if not all(row == "-" or type(row) is int for row in rows):
        raise BadOrder(Text("a first row is its value, or - for none"))
    return tuple(rows)


def _check_rows(order: Order) -> None:
    model = order.model
    if order.rows and (len(order.rows) != model.rows or model.foreign_key):
        raise BadOrder(Text("this model has {n} rows", {"n": model.rows}))
    if any(isinstance(row, int) and not 1 <= row <= model.values for row in order.rows):
        raise BadOrder(Text("values are 1 to {n}", {"n": model.values}))
