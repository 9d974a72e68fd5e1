"""A case of a plan as an order of tiles: states of one element and its work."""

from collections.abc import Iterator

from lab.explorer.model import BadModel, Model, stage_name
from lab.explorer.plans.by_tiles import plan_in_order
from lab.explorer.plans.program import Do, program_of
from lab.ladders.order import BadOrder, Order

WORKS = {Do.FILL: "fill", Do.VERIFY: "verify", Do.DELETE: "delete"}


def order_of(model: Model) -> Order | None:
    """None if tiles cannot say it."""
    is_more = model.also or model.check or model.partial or model.apart or model.foreign_key or model.refers_to_itself
    if is_more or model.has_placements:
        return None
    order = Order(model.kind.value.replace(" ", "-"), stage_name(model.stages[0]), tuple(_tiles(model)))
    try:
        _ = plan_in_order(order.model)
    except (BadOrder, BadModel):
        return None
    return order


def _tiles(model: Model) -> Iterator[str]:
    stages = map(stage_name, model.stages[1:])
    for stop in program_of(model).stops:
        if stop.do is Do.END:
            return
        if stop.do is Do.PUBLISH:
            yield next(stages)
        elif stop.do in WORKS:
            yield WORKS[stop.do]
