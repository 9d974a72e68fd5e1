"""`manage.py change submit "DDL" [--wait]`, `list`, `show ID`, `wait ID`, `pause ID`, `resume ID`, `cancel ID`, `retry
ID [--names-now] [--wait]`, `throttle ID ROWS|off`, `target ID MS PERCENT`, `approve ID`, `reject ID --why TEXT`. Exit
code 0: done; 1: refused, failed or cancelled; 2: bad usage or statement, no such change; 3: not known yet."""

import getpass
import json
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from changes import notices, selectors, services
from changes.executor.interventions import NoRate, rows_per_s_in
from changes.management.refusals import refusals, statement_of
from changes.models import ENDED, Change, Status
from changes.pages.change_page import tables
from changes.pages.plan_json import expected_json
from changes.plan.model import plan_from_json
from changes.records import paces
from changes.submission import approval

UNKNOWN = 3
LIST_MAX = 50
INTERRUPTED = 130
GOES_ON = "not waited for any longer; change {id} goes on: change wait {id}, change cancel {id}"
MARKS = {"current": "now", "todo": ""}


def _rows(word: str) -> int | None:
    try:
        return None if word == "off" else rows_per_s_in(word)
    except NoRate as error:
        raise ArgumentTypeError(f"{error}, and not off") from error


class Command(BaseCommand):
    help = "Submit a schema change, look at changes, wait for one, pause, resume, throttle, cancel or approve it."
    requires_system_checks = ("settings",)  # the other checks import every page

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        submit = actions.add_parser("submit", help="submit a statement")
        submit.add_argument("statement", nargs="?", metavar="DDL")
        submit.add_argument("--file", metavar="F", help="read the statement from a file")
        retry = actions.add_parser("retry", help="submit the statement of a failed or cancelled change again")
        retry.add_argument("id", type=int, metavar="ID")
        retry.add_argument("--names-now", action="store_true", help="mean the elements that have its names now")
        for one in (submit, retry):
            one.add_argument("--wait", action="store_true", help="print its steps, and end when it ends")
            one.add_argument("--timeout", type=float, metavar="S", help="wait at most so many seconds")
        actions.add_parser("list", help="the newest changes").add_argument(
            "--open", action="store_true", help="only open"
        )
        for action in ("show", "wait", "pause", "resume", "cancel"):
            one = actions.add_parser(action, help=f"{action} a change")
            one.add_argument("id", type=int, metavar="ID")
            if action == "wait":
                one.add_argument("--timeout", type=float, metavar="S", help="wait at most so many seconds")
        throttle = actions.add_parser("throttle", help="limit the rows per second of its reorganisation")
        throttle.add_argument("id", type=int, metavar="ID")
        throttle.add_argument("rows", type=_rows, metavar="ROWS|off", help="at most so many; off: as fast as it may be")
        throttle.add_argument("--why", default="", metavar="TEXT", help="what the page says of it")
        target = actions.add_parser("target", help="say what others may feel of its reorganisations")
        target.add_argument("id", type=int, metavar="ID")
        target.add_argument("slower_ms", type=int, metavar="MS", help="statements may take so much longer")
        target.add_argument("kept_percent", type=int, metavar="PERCENT", help="so many of them must be left")
        for action in ("approve", "reject"):
            one = actions.add_parser(action, help=f"{action} a change of somebody else that awaits it")
            one.add_argument("id", type=int, metavar="ID")
            one.add_argument("--why", default="", metavar="TEXT", help="what its page says of it; a rejection needs it")
        for one in actions.choices.values():
            one.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if action == "submit":
            statement = statement_of(options["statement"], options["file"])
            with refusals(statement), services.answered_in_time("nothing was stored"):
                change = services.submit(statement, who=getpass.getuser())
            self._submitted(change, options)
        elif action == "retry":
            self._retry(options)
        elif action == "list":
            self._list(options)
        else:
            self._one(action, options)

    def _retry(self, options: dict[str, Any]) -> None:
        old = Change.objects.filter(pk=options["id"]).first()
        if old is None:
            raise CommandError(f"there is no change {options['id']}", returncode=2)
        with refusals(old.statement):
            try:
                change = services.retry(old.pk, who=getpass.getuser(), names_now=options["names_now"])
            except services.OtherElements as others:
                anyway = f"`change retry {old.pk} --names-now` submits it for the elements that have these names now"
                raise CommandError(f"{others}; {anyway}", returncode=1) from others
        self._submitted(change, options)

    def _submitted(self, change: Change, options: dict[str, Any]) -> None:
        if not options["json"]:
            self.stdout.write(f"change {change.pk} submitted")
        if options["wait"]:
            self._wait(change.pk, options)
        elif options["json"]:
            self._print_json(change.pk)

    def _list(self, options: dict[str, Any]) -> None:
        lines = selectors.changes_in_flight() if options["open"] else selectors.recent_changes(LIST_MAX)
        if options["json"]:
            self.stdout.write(json.dumps(lines, indent=2))
        elif not lines:
            self.stdout.write("no change is under way" if options["open"] else "there was no change yet")
        for line in [] if options["json"] else lines:
            self.stdout.write(f"{line['id']:5}  {line['status']:12}  {tables(line):20}  {line['statement']}")

    def _one(self, action: str, options: dict[str, Any]) -> None:
        change_id = options["id"]
        if not Change.objects.filter(pk=change_id).exists():
            raise CommandError(f"there is no change {change_id}", returncode=2)
        interventions: dict[str, Callable[..., None]] = {
            "pause": services.pause,
            "resume": services.resume,
            "cancel": services.cancel,
        }
        if action in interventions:
            with refusals():
                interventions[action](change_id, who=getpass.getuser())
        if action == "throttle":
            with refusals():
                services.throttle(change_id, options["rows"], who=getpass.getuser(), why=options["why"])
        if action == "target":
            aim = (options["slower_ms"], options["kept_percent"])
            with refusals():
                services.move_target(change_id, *aim, who=getpass.getuser())
        if action in ("approve", "reject"):
            with refusals():
                decide = approval.approve if action == "approve" else approval.reject
                decide(change_id, who=getpass.getuser(), why=options["why"])
        if action == "wait":
            self._wait(change_id, options)
        elif options["json"]:
            self._print_json(change_id)
        elif action == "show":
            self._show(selectors.change_snapshot(change_id))
        elif action == "throttle":
            limit = "no limit" if options["rows"] is None else f"a limit of {options['rows']} rows per second"
            self.stdout.write(f"change {change_id} has {limit}")
        elif action == "target":
            allowed = f"at most {options['slower_ms']} ms slower, at least {options['kept_percent']} %"
            self.stdout.write(f"change {change_id} lets others be {allowed}")
        elif action in ("approve", "reject"):
            self.stdout.write(f"change {change_id} is {action}{'d' if action == 'approve' else 'ed'}")
        else:
            self.stdout.write(f"{action} of change {change_id} is requested")

    def _wait(self, change_id: int, options: dict[str, Any]) -> None:
        """Prints the story as it happens; the end decides the exit code."""
        deadline = None if options.get("timeout") is None else time.monotonic() + options["timeout"]
        try:
            for event in notices.follow(change_id, until=deadline):
                if not options["json"]:
                    self.stdout.write(event["sentence"])
        except KeyboardInterrupt:
            raise CommandError(GOES_ON.format(id=change_id), returncode=INTERRUPTED) from None
        if options["json"]:
            self._print_json(change_id)
        change = Change.objects.get(pk=change_id)
        if change.status not in ENDED:
            message = f"change {change_id} has not ended after {options['timeout']} s: it is {change.status}"
            raise CommandError(message, returncode=UNKNOWN)
        if change.status != Status.DONE:
            why = f": {change.error['message']}" if change.error else ""
            raise CommandError(f"change {change_id} {change.status}{why}", returncode=1)

    def _print_json(self, change_id: int) -> None:
        shown = selectors.change_snapshot(change_id)
        shown["plan"] |= expected_json(plan_from_json(Change.objects.get(pk=change_id).plan), paces.observed())
        self.stdout.write(json.dumps(shown, indent=2))

    def _show(self, seen: dict[str, Any]) -> None:
        self.stdout.write(f"change {seen['id']} by {seen['who']}: {seen['statement']}")
        if seen["status"] == "awaiting":
            self.stdout.write(f"awaits approval by somebody other than {seen['who']}: `change approve {seen['id']}`")
        elif seen["approval"]:
            decided = "approved" if seen["approval"]["is_approved"] else "rejected"
            why = f": {seen['approval']['why']}" if seen["approval"]["why"] else ""
            self.stdout.write(f"{decided} by {seen['approval']['who']}{why}")
        self.stdout.write(f"{seen['status']}" + (f": {seen['error']['message']}" if seen["error"] else ""))
        for direction, steps in seen["roads"].items():
            for step in (step for step in steps if step["when"] != "never"):
                mark = MARKS.get(step["when"], step["when"])
                waited = f" (waited {step['waited_s']:.1f} s)" if step["waited_s"] else ""
                tries = f" ({step['tries']} tries)" if step["tries"] > 1 else ""
                self.stdout.write(f"{direction:8} {mark:5} {step['text']}{waited}{tries}")
        for blocker in seen["blockers"]:
            where = (
                f"{blocker['table']} v{blocker['version']}" if seen["plan"]["partners"] else f"v{blocker['version']}"
            )
            self.stdout.write(f"blocked by {blocker['node']} on {where}, at most until {blocker['until']}")
            for one in blocker["sessions"]:
                application = f" ({one['application']})" if one["application"] else ""
                self.stdout.write(f"  session {one['session']} of {one['user']}{application}: {one['statement']}")
        if seen["undo"]:
            self.stdout.write(f"undo: {seen['undo']['statement']}")
        if seen["no_undo"]:
            self.stdout.write(seen["no_undo"])
        for other in seen["behind"]:
            self.stdout.write(f"waits behind change {other}")
        for other in seen["needless"]:
            self.stdout.write(f"makes change {other} needless: `change cancel {other}`, and it need not wait for that")
