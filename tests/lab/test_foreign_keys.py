"""Foreign keys in the lab: what statements on either table owe the other one, and one publish over both (L11, C6)."""

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import NO_ACTION, RESTRICT, NodeId, State, TableId
from lab.cluster import consistency, node_statements
from lab.cluster.control_plane import LabError, Without
from lab.cluster.world import World
from tests.references import AIRPORTS, BY_CITY, CITY, TRIPS, airports, linked, trips

LAX, OSL = ["LAX", "Los Angeles", "LA"], ["OSL", "Oslo", "O"]


def linked_world(state: State = State.PUBLIC, **how: str) -> World:
    """Two airports, a trip to LAX, and the foreign key between the tables in `state`."""
    world = World()
    world.publish(airports())
    world.publish(trips())
    for row in (LAX, OSL):
        node_statements.insert(world, "n1", AIRPORTS, row)
    node_statements.insert(world, "n1", TRIPS, ["1", "LAX", "LA"])
    child, parent = linked(trips(), airports(), state, **how)  # type: ignore[arg-type]
    world.publish(child, parent)
    world.settle()
    return world


def refusal(world: World, *statement: object) -> str:
    """Why a statement of node n2 is refused."""
    verb, table, *rest = statement
    with pytest.raises(LabError) as refused:
        getattr(node_statements, str(verb))(world, "n2", table, *rest)
    return str(refused.value)


def test_a_row_that_refers_to_nothing_is_refused_from_write_only_on() -> None:
    world = linked_world(State.WRITE_ONLY)
    assert refusal(world, "insert", TRIPS, ["2", "XXX", None]) == (
        "row id = 2 with (code) = ('XXX') breaks constraint trips_code_fkey: no row of airports has (code) = ('XXX')"
        " (write-only in trips@2; 23503)"
    )
    assert "23503" in refusal(world, "update", TRIPS, ["1"], [("code", "XXX")])
    node_statements.insert(world, "n2", TRIPS, ["2", None, None])
    node_statements.update(world, "n2", TRIPS, ["2"], [("code", "OSL")])


@pytest.mark.parametrize("restrict", [False, True])
def test_a_row_that_is_referred_to_stays(restrict: bool) -> None:
    how = RESTRICT if restrict else NO_ACTION
    world = linked_world(on_delete=how, on_update=how)
    state = "23001" if restrict else "23503"
    who = "airports ('LAX') is needed by constraint trips_code_fkey: trips (1) refers to it"
    why = f"{who} (public in airports@2; {state})"
    assert refusal(world, "delete", AIRPORTS, ["LAX"]) == why
    assert refusal(world, "update", AIRPORTS, ["LAX"], [("code", "LOS")]) == why
    node_statements.update(world, "n2", AIRPORTS, ["LAX"], [("name", "Angeles")])
    node_statements.delete(world, "n2", AIRPORTS, ["OSL"])
    node_statements.delete(world, "n2", TRIPS, ["1"])
    node_statements.delete(world, "n2", AIRPORTS, ["LAX"])


def test_values_that_are_unique_by_an_index_are_found_by_it() -> None:
    world = World()
    world.publish(airports())
    world.publish(trips())
    node_statements.insert(world, "n1", AIRPORTS, LAX)
    child, parent = linked(trips(), airports(), column=trips().column_named("city").id, to=CITY)
    assert child.foreign_keys[0].index == BY_CITY.id
    world.publish(child, parent)
    node_statements.insert(world, "n1", TRIPS, ["1", None, "LA"])
    assert "23503" in refusal(world, "insert", TRIPS, ["2", None, "Rome"])
    assert "23503" in refusal(world, "update", AIRPORTS, ["LAX"], [("city", "Rome")])


def self_linked() -> Descriptor:
    """trips whose city refers to trips: by a key of its own type, the table's id standing in for both."""
    base = trips()
    child, parent = linked(base, base, column=base.column_named("id").id, to=base.column_named("id").id)
    both = child.constraints[0], parent.constraints[0]
    return base.next_version(constraints=both)


def test_a_table_that_refers_to_itself_sees_its_own_row() -> None:
    world = World()
    world.publish(trips())
    world.publish(self_linked())
    node_statements.insert(world, "n1", TRIPS, ["1", None, None])
    assert consistency.violations(world, TRIPS, world.control.newest(TRIPS)) == []


@pytest.mark.parametrize("first", ["child", "parent"])
def test_of_an_insert_that_refers_to_a_row_and_its_delete_one_is_refused(first: str) -> None:
    world = linked_world()
    for actor in ("n1", "n2"):
        node_statements.begin(world, actor)
    node_statements.insert(world, "n1", TRIPS, ["2", "OSL", None])
    node_statements.delete(world, "n2", AIRPORTS, ["OSL"])
    winner, loser = ("n1", "n2") if first == "child" else ("n2", "n1")
    node_statements.commit(world, winner)
    with pytest.raises(LabError, match="40001"):
        node_statements.commit(world, loser)
    assert consistency.violations(world, TRIPS, world.control.newest(TRIPS)) == []


def test_without_the_check_for_conflicts_both_succeed_and_c6_is_broken() -> None:
    world = linked_world()
    world.control.without.add(Without.CONFLICTS)
    for actor in ("n1", "n2"):
        node_statements.begin(world, actor)
    node_statements.insert(world, "n1", TRIPS, ["2", "OSL", None])
    node_statements.delete(world, "n2", AIRPORTS, ["OSL"])
    node_statements.commit(world, "n1")
    node_statements.commit(world, "n2")
    (broken,) = consistency.violations(world, TRIPS, world.control.newest(TRIPS))
    assert broken.clause == "C6"
    assert broken.why.endswith("breaks constraint trips_code_fkey: no row of airports has (code) = ('OSL')")


@pytest.mark.parametrize("held", [AIRPORTS, TRIPS])
def test_a_lease_on_either_table_holds_both_back_and_nothing_changes(held: TableId) -> None:
    world = linked_world(State.WRITE_ONLY)
    world.now = 100.0
    world.control.leases.clear()
    world.control.start_node(NodeId("n9"))
    world.control.published[held], kept = world.control.published[held][:1], world.control.published[held]
    world.control.acquire(held, NodeId("n9"), world.now)
    world.control.published[held] = kept
    newest = [world.control.newest(table) for table in (TRIPS, AIRPORTS)]
    child, parent = (one.next_version() for one in newest)
    name = world.control.newest(held).name
    why = f"cannot publish trips@3, airports@3: n9 still leases version 1 of {name} (expires in 30 s)"
    with pytest.raises(LabError) as refused:
        world.publish(child, parent)
    assert str(refused.value) == why
    assert [world.control.newest(table) for table in (TRIPS, AIRPORTS)] == newest
    assert world.control.fences == {TRIPS: 1, AIRPORTS: 1}
