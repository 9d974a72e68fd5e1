"""Live parts for operators: nodes, processes, leases."""

from typing import Any

from catalog.live import snapshot
from catalog.story import LEASES, PROCESSES
from changes.streams import awaited
from leases.lanes import node_lines
from leases.models import Lease, Node
from leases.streams import lane_facts
from nodes.console.hold import holds
from schemalab.operations import hold_pages, lease_list
from schemalab.operations.consequences import does
from schemalab.operations.faults import offered
from schemalab.supervisor.process_control import is_supervisor_away, processes_for_a_page


def _nodes(back: str) -> dict[str, Any]:
    states = {process["name"]: process["state"] for process in processes_for_a_page()}
    return {
        "back": back,
        "is_supervisor_away": is_supervisor_away(),
        "nodes": [
            node
            | {
                "process": states.get(node["name"]),
                "commands": offered(
                    states.get(node["name"]), node["state"] if node["port"] else None, name=node["name"]
                ),
            }
            for node in node_lines(lane_facts()["nodes"])
        ],
    }


def _processes(_id: int) -> dict[str, Any]:
    states = dict(Node.objects.values_list("name", "state"))
    running = processes_for_a_page()
    return {
        "is_supervisor_away": is_supervisor_away(),
        "processes": [
            process
            | {
                "does": does(process["kind"]),
                "node_state": states.get(process["name"]),
                "commands": offered(process["state"], states.get(process["name"]), name=process["name"]),
            }
            for process in running
            if process["state"] != "ended"
        ],
    }


def _remedy(_id: int) -> dict[str, Any]:
    holder = next(iter(awaited()), None)
    if holder is None:
        return {"node": None}
    of = Lease.objects.filter(node=holder["node"], table_id=holder["table_id"], version=holder["version"])
    state = next((one["state"] for one in processes_for_a_page() if one["name"] == holder["node"]), None)
    return {
        "node": holder["node"],
        "is_down": holder.get("is_down", False),
        "who": next((one["application"] or one["user"] for one in holder["sessions"]), None),
        "until": holder["until"],
        "is_hold": holder["node"] in {one.node for one in holds()},
        "lease": of.values_list("pk", flat=True).first(),
        "commands": [one for one in offered(state, None, name=holder["node"]) if one in ("start", "thaw")],
    }


snapshot.register("cluster", "remedy", "parts/remedy.html", _remedy)
snapshot.register("cluster", "hold", "parts/hold.html", hold_pages.part)
snapshot.register("cluster", "nodes", "parts/nodes.html", lambda _id: _nodes("/"))
snapshot.register(PROCESSES, "processes", "parts/processes.html", _processes, is_sampled=True)
snapshot.register_stream(PROCESSES, lambda number: number == 0)
snapshot.register(LEASES, "held", "parts/leases_held.html", lambda _id: lease_list.held(), is_sampled=True)
snapshot.register(LEASES, "leases", "parts/leases_all.html", lambda _id: lease_list.every_lease())
snapshot.register(LEASES, "nodes", "parts/nodes.html", lambda _id: _nodes("/leases/"))
snapshot.register_stream(LEASES, lambda number: number == 0, may=lambda user: user.is_staff)
