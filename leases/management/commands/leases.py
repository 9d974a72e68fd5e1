"""`manage.py leases [TABLE] [--json]` and `manage.py leases revoke TABLE NODE`."""

import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.models import Table
from catalog.selectors import live_tables, table_named
from leases import selectors, services
from leases.ranking import deciding_first

USAGE = "usage: manage.py leases [TABLE] [--json], or manage.py leases revoke TABLE NODE"


class Command(BaseCommand):
    help = "Who may use which version of which table until when; revoke a node's leases on a table."
    requires_system_checks = ("settings",)  # the other checks import every page

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("words", nargs="*", metavar="TABLE | revoke TABLE NODE")
        parser.add_argument("--json", action="store_true", help="print the leases as JSON")

    def handle(self, *args: Any, words: list[str], json: bool, **options: Any) -> None:
        match words:
            case ["revoke", table, node]:
                self._revoke(_table(table), node)
            case []:
                self._show(None, as_json=json)
            case [table]:
                self._show(_table(table), as_json=json)
            case _:
                raise CommandError(USAGE, returncode=2)

    def _show(self, table: Table | None, *, as_json: bool) -> None:
        leases = deciding_first(selectors.held_leases(None if table is None else table.id))
        if as_json:
            self.stdout.write(json.dumps([selectors.lease_json(lease) for lease in leases], indent=2))
        elif not leases:
            self.stdout.write("nobody leases " + ("anything" if table is None else table.name))
        for name, version in [] if as_json else selectors.tables_without_leases(None if table is None else table.id):
            self.stdout.write(
                f"{name}@{version}  has no leases (coordination = 'hash'): the storages accept v{version} alone"
            )
        for lease in [] if as_json else leases:
            older = "" if lease.version == lease.newest else f"  (newest: {lease.newest})"
            self.stdout.write(f"{lease.table}@{lease.version}  {lease.node}  for {lease.remaining_s:.1f} s{older}")
            for holder in lease.holders:
                self.stdout.write(f"    held for {holder.for_s:.1f} s: {holder}")

    def _revoke(self, table: Table, node: str) -> None:
        try:
            services.check_node(node)
            revoked = services.revoke_lease(table.id, node, who=getpass.getuser())
        except services.UnknownNode as error:
            raise CommandError(str(error), returncode=2) from error
        except services.REFUSALS as error:
            raise CommandError(str(error)) from error
        for lease in revoked:
            self.stdout.write(
                f"revoked {table.name}@{lease.version} from {node}; sessions ended: {lease.sessions_ended}"
            )


def _table(name: str) -> Table:
    table = table_named(name)
    if table is None:
        known = ", ".join(table.name for table in live_tables()) or "none"
        raise CommandError(f"there is no table {name}; known: {known}", returncode=2)
    return table
