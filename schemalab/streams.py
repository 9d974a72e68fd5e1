"""Live parts for which the supervisor is asked as well: the nodes' rows, and the list of processes."""

from typing import Any

from catalog.live import snapshot
from catalog.story import PROCESSES
from leases.lanes import lanes
from leases.models import Node
from leases.selectors import lane_snapshot
from schemalab.operations.consequences import does
from schemalab.operations.faults import offered
from schemalab.supervisor.process_control import processes_for_a_page


def _nodes(_id: int) -> dict[str, Any]:
    """Nodes as the database knows them, with the state of their process and what may be done to it."""
    states = {process["name"]: process["state"] for process in processes_for_a_page()}
    nodes = lanes(lane_snapshot())["nodes"]
    return {
        "nodes": [
            node
            | {
                "process": states.get(node["name"]),
                "commands": offered(
                    states.get(node["name"]), node["state"] if node["port"] else None, name=node["name"]
                ),
            }
            for node in nodes
        ]
    }


def _processes(_id: int) -> dict[str, Any]:
    """The processes that the supervisor runs, without those that have done their work."""
    states = dict(Node.objects.values_list("name", "state"))
    return {
        "processes": [
            process
            | {
                "does": does(process["kind"]),
                "node_state": states.get(process["name"]),
                "commands": offered(process["state"], states.get(process["name"]), name=process["name"]),
            }
            for process in processes_for_a_page()
            if process["state"] != "ended"
        ]
    }


snapshot.register("cluster", "nodes", "parts/nodes.html", _nodes)
snapshot.register(PROCESSES, "processes", "parts/processes.html", _processes, is_sampled=True)
snapshot.register_stream(PROCESSES, lambda number: number == 0)
