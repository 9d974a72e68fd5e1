"""manage.py: our commands first, and bad usage in one line. `manage.py help --commands` lists Django's, too."""

import sys
from typing import NoReturn

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand, CommandParser

OVERVIEW = {
    "The cluster": {
        "up": "start everything in one terminal; Ctrl-C stops it",
        "nodes": "the nodes: address, state, what they lease",
        "leases": "who uses which version until when, and what waits for it",
        "node-control": "drain, kill, freeze, thaw or start a node",
        "processes": "all processes of the cluster; kill, freeze, thaw or start one",
        "check": "settings and the Java that Spark uses, checked",
        "signin-link": "a link that signs in once",
        "users": "the people: add one, roles, passwords",
    },
    "Schema changes": {
        "plan": "the steps of a change, its dangers, its proof; changes nothing",
        "change": "submit a change, watch, pause, cancel, approve or repeat it",
    },
    "Data": {
        "load": "CSV or Parquet into a table",
        "audit": "judge all data of a table",
        "traffic": "reads and writes on all nodes, each answer checked",
        "storages": "the storages: add, remove, spread tables over them",
        "demo": "load the demo's tables, or load them anew",
        "shadow": "the database that answers questions to the catalog: its state; make it anew",
    },
    "The lab": {
        "lab": "sandbox tables; replay a session of the stage on live nodes",
        "exercises": "list or check the chapters",
        "script": "run golden scripts",
        "explore": "every schedule of a small model of a change",
        "rollout": "every interleaving of releases, backfills and schema changes",
        "simulate": "runs of a cluster in memory, with faults, from seeds",
    },
}
OF_UP = frozenset({"node"})


class CommandLine(ManagementUtility):
    def main_help_text(self, commands_only: bool = False) -> str:
        if commands_only:
            return str(super().main_help_text(commands_only=True))
        lines = ["manage.py COMMAND ..; each says more with --help, docs/reference/commands.md says all"]
        for heading, commands in OVERVIEW.items():
            lines += ["", heading, *(f"  {name:13} {what}" for name, what in commands.items())]
        return "\n".join([*lines, "", "`manage.py help --commands` names Django's, too."])

    def fetch_command(self, subcommand: str) -> BaseCommand:
        try:
            return super().fetch_command(subcommand)
        except SystemExit:
            raise SystemExit(2) from None  # bad usage, as everywhere


def refuse(parser: CommandParser, message: str) -> NoReturn:
    sys.stderr.write(f"{parser.prog}: {message}; see {parser.prog} --help\n")
    raise SystemExit(2)


def run(arguments: list[str]) -> None:
    BaseCommand.suppressed_base_arguments = {
        "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
        "--skip-checks",
    }  # fmt: skip
    CommandParser.error = refuse  # type: ignore[method-assign]
    CommandLine(arguments).execute()
