"""`manage.py nodes [--json]`: the nodes, where they listen, their leases, and waits that last longer than a lease."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from leases import selectors
from leases.redis.samples import read_all


class Command(BaseCommand):
    help = "The nodes: address, state, and the versions they lease."
    requires_system_checks = ("settings",)  # the other checks import every page

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
            self.stdout.write(f"{node.name}  {node.state}  {node.host}:{node.port}  leases {leased}{_waits(node.name)}")


def _waits(node: str) -> str:
    waits = waits_of([node])[node]
    if not waits["long"]:
        return ""
    return f"  under way for longer than a lease: {waits['long']}, the oldest for {waits['longest_s']:.0f} s"


def as_json(nodes: list[selectors.NodeWithLeases]) -> str:
    waits = waits_of([node.name for node in nodes])
    return json.dumps([selectors.node_json(node) | {"waits": waits[node.name]} for node in nodes], indent=2)


def waits_of(nodes: list[str]) -> dict[str, dict[str, float]]:
    newest = {node: samples[0] for node, samples in read_all(nodes).items()}
    found = {node: (one.long_waits, one.longest_wait_s) for node, one in newest.items()}
    return {node: dict(zip(("long", "longest_s"), found.get(node, (0, 0.0)), strict=True)) for node in nodes}
