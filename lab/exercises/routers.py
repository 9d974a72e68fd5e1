"""Requests of a router with an old schema (chapter 10): version 2 exchanges the names of columns a and b."""

from collections.abc import Sequence

from catalog.elements import TableId
from changes.ddl.actions import CreateTable
from changes.ddl.statements import parse
from lab.cluster.requests import LabRequest, Routers, RowRequest, Stage
from lab.cluster.world import World
from lab.scripts.hand_made_versions import first_version, with_names_swapped

T = TableId(1)
TABLE = "create table t (id int primary key, a int, b int) with (coordination = 'both')"
GIVEN = {"a": "1", "b": "2"}
STEPS_MAX = 100


def stale(requests: int) -> tuple[Routers, list[LabRequest]]:
    routers = Routers(World())
    world = routers.world
    world.loses_news = True
    action = parse(TABLE).action
    assert isinstance(action, CreateTable)
    world.publish(first_version(action, T))
    made = [routers.begin("n1", "t", RowRequest("insert", {"id": str(n), **GIVEN})) for n in range(1, requests + 1)]
    world.publish(with_names_swapped(world.control.newest(T), "a", "b"))
    return routers, made


def finish(routers: Routers) -> list[str]:
    """Carries all requests to their end, each step of all before the next one; the steps, in order."""
    steps = list[str]()
    for _ in range(STEPS_MAX):
        if planned := routers.at(Stage.PLANNED):
            steps.append("plan")
            for request in planned:
                routers.send(request)
            steps.append("refused" if routers.at(Stage.WAITING) else "accepted")
        for request in routers.at(Stage.OPEN):
            routers.commit(request)
        for node, table in list(routers.loading):
            steps.append("reload")
            routers.read_catalog(node, table)
            routers.answer_reload(node, table)
        if not routers.loading and not routers.at(Stage.PLANNED):
            return steps
    raise AssertionError("a request never ends")


def way_of_request() -> list[str]:
    routers, _ = stale(1)
    return finish(routers)


def reloads_for(requests: int) -> int:
    routers, made = stale(requests)
    finish(routers)
    assert all(not request.batch.left for request in made)
    return routers.counts["reloads"]


def named_steps(steps: Sequence[str]) -> list[str]:
    """The steps by name; a repeated one ends in -again."""
    return [f"{step}-again" if step in steps[:at] else step for at, step in enumerate(steps)]
