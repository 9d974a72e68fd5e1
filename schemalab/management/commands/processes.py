"""`manage.py processes [kill|freeze|thaw|start NAME]`: every process that `up` runs. It asks `up` alone, so it works
without database and page. Exit code 0: done; 1: refused, or no cluster runs; 2: no such process."""

import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from schemalab.supervisor.control import COMMANDS, CommandRefused, NotRunning
from schemalab.supervisor.process_control import control_process, processes


class Command(BaseCommand):
    help = "List the processes of the running cluster; kill, freeze, thaw or start one of them."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=COMMANDS)
        parser.add_argument("name", nargs="?", help="a process: postgres, redis, web, worker, n1 ..")
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")

    def handle(self, *args: Any, action: str | None, name: str | None, **options: Any) -> None:
        if action is not None and name is None:
            raise CommandError(f"name the process to {action}: processes {action} NAME", returncode=2)
        try:
            found = processes()
            if action is None or name is None:
                width = max(len(one["name"]) for one in found)
                lines = (f"{one['name']:{width}}  {one['state']:8}  {one['pid'] or '-'}" for one in found)
                self.stdout.write(json.dumps(found) if options["json"] else "\n".join(lines))
                return
            known = [process["name"] for process in found]
            if name not in known:
                raise CommandError(f"there is no process {name}; known: {', '.join(known)}", returncode=2)
            text = control_process(action, name, who=getpass.getuser())
        except (NotRunning, CommandRefused) as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(json.dumps({"ok": True, "text": text}) if options["json"] else text)
