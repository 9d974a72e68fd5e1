"""The short way of UPDATE .. FROM and DELETE .. USING: what is worked out once for a row of the other tables."""

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.typed import Context, render_parts
from nodes.sql.planner import make_plan
from nodes.sql.plans import DeletePlan
from nodes.sql.statements import parse

FLIGHTS = Descriptor(
    table_id=TableId(71),
    name="flights",
    version=1,
    columns=(Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True),),
    primary_key=(ColumnId(1),),
)


def test_chance_is_asked_for_each_joined_row() -> None:
    """DELETE .. AND random() < 0.1 removed all rows that one row of the other table names, or none of them."""
    [statement] = parse("DELETE FROM flights f USING (VALUES (1)) v(n) WHERE f.id = v.n AND v.n > 0 AND random() < 0.1")
    plan = make_plan(statement, {"flights": FLIGHTS}, Parameters())
    assert isinstance(plan, DeletePlan)
    assert plan.join is not None
    assert plan.join.lookup is not None
    gather, rest = (render_parts(parts, Context()) for parts in (plan.join.lookup.gather, plan.join.lookup.parts))
    assert "random()" not in gather
    assert "> 0" in gather
    assert "random()" in rest
