"""`manage.py storages list`, `add`, `remove`, `spread [COUNT] [--table T] [--wait]`. Exit code 0: done; 1: refused, or
a change failed; 2: bad usage; 3: not known yet."""

import getpass
import json
import time
from argparse import ArgumentTypeError
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from changes import notices, services
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.management.refusals import exit_code, refusals
from changes.models import ENDED, Change, Status
from changes.submission import storages
from changes.submission.rate_limits import TooFast
from storage.buckets import STORAGES_MAX
from storage.postgres import storages_there

UNKNOWN = 3
MB = 1024 * 1024


def _count(word: str) -> int:
    if not word.isascii() or not word.isdigit() or not 1 <= int(word) <= STORAGES_MAX:
        raise ArgumentTypeError(f"{word!r} is not a whole number from 1 to {STORAGES_MAX}")
    return int(word)


class Command(BaseCommand):
    help = "Show the storages, add one, remove the last one, or spread tables over as many as there are."
    requires_system_checks = ("settings",)  # the other checks import every page

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="the storages, and which tables have rows there")
        actions.add_parser("add", help="add a storage; new tables use it, others when they are spread")
        actions.add_parser("remove", help="remove the last storage, when no table uses it")
        spread = actions.add_parser("spread", help="change the tables to use so many storages (all there are)")
        spread.add_argument("count", nargs="?", type=_count, metavar="COUNT")
        spread.add_argument("--table", action="append", metavar="T", help="only this table; may be given again")
        spread.add_argument("--wait", action="store_true", help="print their steps, and end when they have ended")
        spread.add_argument("--timeout", type=float, metavar="S", help="wait at most so many seconds for all of them")
        for one in actions.choices.values():
            one.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        with refusals():
            if action == "list":
                self._list(as_json=options["json"])
            elif action == "spread":
                self._spread(options)
            else:
                act = storages.add_storage if action == "add" else storages.remove_storage
                self._changed(act(who=getpass.getuser()), action, as_json=options["json"])

    def _list(self, *, as_json: bool) -> None:
        shown = storages.storages_shown()
        if as_json:
            self.stdout.write(json.dumps([asdict(one) for one in shown], indent=2))
            return
        for one in shown:
            first, last = one.buckets
            tables = ", ".join(one.tables) or "no table"
            name = f"storage_{one.number}"
            self.stdout.write(f"{name:12} buckets {first:5} to {last:5}  {one.size / MB:9.1f} MB  {tables}")

    def _changed(self, number: int, action: str, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"storage": number, "action": action}))
        elif action == "add":
            left = len(storages.unspread(number))
            self.stdout.write(f"storage_{number} was added; new tables use it")
            if left:
                tables = "1 table does not yet" if left == 1 else f"{left} tables do not yet"
                self.stdout.write(f"{tables}: manage.py storages spread")
        else:
            self.stdout.write(f"storage_{number} was removed")
            if storages.left_over() is not None:
                self.stdout.write("tables of it that are still read go with the next: manage.py storages remove")

    # --- all tables

    def _spread(self, options: dict[str, Any]) -> None:
        with connection.cursor() as cursor:
            count = options["count"] or storages_there(cursor)
        wanted = self._wanted(count, options["table"])
        submitted, refused, code = [], {}, 1
        for one in wanted:
            try:
                submitted.append((one, self._submit(one.statement)))
            except (DdlError, services.ChangeError, NothingToDo) as why:
                refused[one.table] = str(why)
                code = max(code, exit_code(why) if isinstance(why, DdlError) else 1)
        for one, change in [] if options["json"] else submitted:
            self.stdout.write(f"change {change.pk}: {one.table}, from {one.storages} storages to {count}")
        if not wanted and not options["json"]:
            self.stdout.write(f"every table is spread over {count} storages already")
        if options["wait"]:
            self._wait([change for _, change in submitted], options)
        if options["json"]:
            ids = [change.pk for _, change in submitted]
            found = {row["id"]: row["status"] for row in Change.objects.filter(pk__in=ids).values("id", "status")}
            answer = [{"id": c.pk, "table": one.table, "status": found[c.pk]} for one, c in submitted]
            answer += [{"table": table, "refused": why} for table, why in refused.items()]
            self.stdout.write(json.dumps(answer, indent=2))
        if refused:
            why = "; ".join(f"{table}: {words}" for table, words in refused.items())
            raise CommandError(f"tables that are not spread: {why}", returncode=code)

    def _wanted(self, count: int, tables: list[str] | None) -> list[storages.Unspread]:
        found = storages.unspread(count)
        if tables is None:
            return found
        known = set(storages.table_names())
        for name in tables:
            if name not in known:
                raise CommandError(f"there is no table {name}; there are: {', '.join(sorted(known))}", returncode=2)
        return [one for one in found if one.table in tables]

    def _submit(self, statement: str) -> Change:
        """Waits for the rate limit: each change is meant."""
        while True:
            try:
                with services.answered_in_time("nothing was stored"):
                    return services.submit(statement, who=getpass.getuser(), may_change_all=True)
            except TooFast as limit:
                if not limit.left_s:
                    raise
                self.stderr.write(f"{limit.message}; going on in {limit.left_s} s")
                time.sleep(limit.left_s)

    def _wait(self, changes: list[Change], options: dict[str, Any]) -> None:
        until = None if options["timeout"] is None else time.monotonic() + options["timeout"]
        try:
            for number, change in enumerate(changes, 1):
                for event in notices.follow(change.pk, until=until):
                    if not options["json"]:
                        self.stdout.write(f"[{number}/{len(changes)}] {event['sentence']}")
        except KeyboardInterrupt:
            raise CommandError(
                "not waited for any longer; the changes go on: change list --open", returncode=130
            ) from None
        ended = {one.pk: one for one in Change.objects.filter(pk__in=[change.pk for change in changes])}
        open_ = [str(pk) for pk, one in ended.items() if one.status not in ENDED]
        failed = [str(pk) for pk, one in ended.items() if one.status in ENDED and one.status != Status.DONE]
        if open_:
            raise CommandError(f"changes that have not ended: {', '.join(open_)}", returncode=UNKNOWN)
        if failed:
            raise CommandError(f"changes that failed or were cancelled: {', '.join(failed)}", returncode=1)
