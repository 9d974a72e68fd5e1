"""The version lanes of the Cluster page, from what the leases say."""

from __future__ import annotations

from typing import Any

from leases.lanes import LANES_MAX, lanes, node_lines

UNTIL = "2026-01-01T12:00:30+00:00"


def lease(node: str, version: int) -> dict[str, Any]:
    return {"table_id": 1, "table": "flights", "version": version, "node": node, "expires_at": UNTIL}


def node(name: str, *versions: int, state: str = "up") -> dict[str, Any]:
    where = {"incarnation": 1, "host": "127.0.0.1", "port": 1, "leases_end_at": UNTIL, "heartbeat_at": UNTIL}
    return where | {"name": name, "state": state, "leases": [lease(name, version) for version in versions]}


def version(number: int, *moving: dict[str, Any], nodes: tuple[str, ...] = ()) -> dict[str, Any]:
    published = {"published_at": UNTIL, "until": UNTIL, "state": "public"}
    phase = moving[0]["state"] if moving else "absent"
    return published | {"version": number, "phase": phase, "moving": list(moving), "nodes": list(nodes)}


def snapshot(nodes: list[dict[str, Any]], *versions: dict[str, Any]) -> dict[str, Any]:
    in_use = sorted({held["version"] for one in nodes for held in one["leases"]})
    newest = max(one["version"] for one in versions)
    table = {"id": 1, "name": "flights", "state": "live", "newest": newest, "in_use": in_use}
    return {"at": UNTIL, "nodes": nodes, "tables": [table | {"versions": list(versions)}]}


INDEX = {"element": "index", "name": "by_dest", "state": "delete-only", "filling": False}


def test_a_table_on_which_all_agree_needs_no_lanes() -> None:
    shown = lanes(snapshot([node("n1", 3), node("n2", 3)], version(3), version(2)))
    assert shown["moving"] == []
    assert (shown["settled"][0]["holders"], shown["settled"][0]["alarm"]) == (["n1", "n2"], False)


def test_nodes_alone_are_as_they_are_beside_the_lanes() -> None:
    nodes = [node("n1", 3), node("n2", 2, 3, state="down")]
    assert node_lines(nodes) == lanes(snapshot(nodes, version(3), version(2)))["nodes"]


def test_each_node_has_a_cell_for_each_version() -> None:
    shown = lanes(snapshot([node("n1", 3), node("n2", 2, 3)], version(3, INDEX), version(2)))
    [table] = shown["moving"]
    held = {row["node"]: [bool(cell["expires_at"]) for cell in row["cells"]] for row in table["rows"]}
    assert held == {"n1": [False, True], "n2": [True, True]}
    assert [row["is_behind"] for row in table["rows"]] == [False, True]
    assert [one["phase"] for one in table["versions"]] == ["absent", "delete-only"]


def test_a_third_version_is_shown_and_is_an_alarm() -> None:
    shown = lanes(snapshot([node("n1", 3), node("n2", 2), node("n3", 1)], version(3), version(2)))
    assert shown["alarm"]
    assert [one["version"] for one in shown["moving"][0]["versions"]] == [1, 2, 3]


def test_a_dead_nodes_lease_still_counts() -> None:
    shown = lanes(snapshot([node("n1", 3), node("n2", 2, state="down")], version(3), version(2)))
    dead = shown["moving"][0]["rows"][1]
    assert (dead["is_down"], dead["cells"][0]["expires_at"]) == (True, UNTIL)


def test_of_many_nodes_only_the_laggards_get_a_lane() -> None:
    crowd = [node(f"n{number:02}", 3) for number in range(LANES_MAX)] + [node("slow", 2)]
    shown = lanes(snapshot(crowd, version(3), version(2)))
    assert [row["node"] for row in shown["moving"][0]["rows"]] == ["slow"]
    assert [one["count"] for one in shown["moving"][0]["versions"]] == [0, 0]


def test_a_table_whose_index_was_dropped_is_at_rest() -> None:
    dropped = version(3) | {"phase": "absent"}
    assert lanes(snapshot([node("n1", 3)], dropped, version(2)))["moving"] == []
    dropping = version(3) | {"state": "delete-only", "phase": "delete-only"}
    assert lanes(snapshot([node("n1", 3)], dropping, version(2)))["settled"] == []


def test_a_version_before_or_after_the_way_of_one_element_names_it_too() -> None:
    """Else its column says "absent", or "everything public", and a reader asks what."""
    before, on_its_way, public = version(2), version(3, INDEX), version(3) | {"phase": "public"}
    [table] = lanes(snapshot([node("n1", 3), node("n2", 2)], on_its_way, before))["moving"]
    assert [(v["moving"][0]["name"], v["moving"][0]["state"]) for v in table["versions"]] == [
        ("by_dest", "absent"),
        ("by_dest", "delete-only"),
    ]
    [table] = lanes(snapshot([node("n1", 3), node("n2", 2)], public, version(2, INDEX)))["moving"]
    assert table["versions"][-1]["moving"] == [INDEX | {"state": "public"}]
    two = version(3, INDEX, INDEX | {"name": "by_origin"})
    [table] = lanes(snapshot([node("n1", 3), node("n2", 2)], two, before))["moving"]
    assert table["versions"][0]["moving"] == [], "of two, the state of neither is known"
