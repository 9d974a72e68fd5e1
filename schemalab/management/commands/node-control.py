"""`manage.py node-control drain|kill|.. NAME`. Exit code 0: done; 1: refused, or no cluster runs; 2: no such node."""

import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leases.services import REFUSALS, UnknownNode, check_node, drain_node, undrain_node
from schemalab.supervisor.control import COMMANDS, CommandRefused, NotRunning
from schemalab.supervisor.process_control import control_process, processes

DRAINS = {"drain": drain_node, "undrain": undrain_node}


class Command(BaseCommand):
    help = "Drain or undrain a node; kill, freeze, thaw or start its process."
    requires_system_checks = ("settings",)  # the other checks import every page

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=(*DRAINS, *COMMANDS))
        parser.add_argument("name", help="a node: n1, n2 ..")
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")

    def handle(self, *args: Any, action: str, name: str, **options: Any) -> None:
        try:
            if action in DRAINS:
                check_node(name)
                DRAINS[action](name, who=getpass.getuser())
                text = f"{name}: {action} asked"
            else:
                known = [process["name"] for process in processes() if process["kind"] == "node"]
                if name not in known:
                    raise UnknownNode(f"there is no node {name}; known: {', '.join(known)}")
                text = control_process(action, name, who=getpass.getuser())
        except UnknownNode as unknown:
            raise CommandError(str(unknown), returncode=2) from None
        except (NotRunning, CommandRefused, *REFUSALS) as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(json.dumps({"ok": True, "text": text}) if options["json"] else text)
