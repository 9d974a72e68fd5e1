"""`manage.py nodes [--json]`: the nodes, where they listen, and what they lease."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from leases import selectors


class Command(BaseCommand):
    help = "The nodes: address, state, and the versions they lease."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the nodes as JSON")

    def handle(self, *args: Any, json: bool, **options: Any) -> None:
        nodes = selectors.nodes()
        if json:
            self.stdout.write(as_json(nodes))
        elif not nodes:
            self.stdout.write("no node was ever started")
        for node in [] if json else nodes:
            leased = ", ".join(f"{lease.table}@{lease.version}" for lease in node.leases) or "nothing"
            self.stdout.write(f"{node.name}  {node.state}  {node.host}:{node.port}  leases {leased}")


def as_json(nodes: list[selectors.NodeWithLeases]) -> str:
    return json.dumps([selectors.node_json(node) for node in nodes], indent=2)
