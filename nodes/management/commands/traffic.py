"""`manage.py traffic`: steady load on the nodes, so that "online" can be seen. With `--run N` it is the process of a
run that was started from the page: it stores what it does and its figures there."""

import json
import logging
import time
from dataclasses import asdict
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection

from catalog.selectors import live_tables, newest_descriptor, table_named
from catalog.text.mistakes import in_words
from leases.models import Node
from nodes.models import TrafficRun
from nodes.traffic import runs
from nodes.traffic.book import WRITES_PERCENT, NotSuitable, Shape, shape_of
from nodes.traffic.meter import Meter
from nodes.traffic.running import END_AT_ONCE_S_MAX, END_S_MAX, Running, address_of, remain, start_clients

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Reads and writes on the nodes, each answer checked; exit 1 when an error was seen. Ctrl-C stops it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--nodes", default="all", help="names with commas between them (default: all that are up)")
        parser.add_argument("--table", default="flights", help="with one integer key (default: flights)")
        parser.add_argument("--columns", default="", help="names with commas between them (default: all but the key)")
        parser.add_argument("--rate", type=float, default=60.0, help="statements a second in all; 0: as many as go")
        parser.add_argument("--seconds", type=float, help="how long (default: until Ctrl-C)")
        parser.add_argument("--clients", type=int, default=1, help="clients for each node (default: 1)")
        parser.add_argument("--writes", type=int, default=WRITES_PERCENT, help="share of writes, in percent")
        parser.add_argument(
            "--keep", action="store_true", help="leave the rows there (default: delete them at the end)"
        )
        parser.add_argument("--json", action="store_true", help="print the summary as JSON and no lines")
        parser.add_argument("--run", type=int, help="the run of this number that was started from the page")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["run"] is not None:
            self._follow(options["run"])
            return
        if options["rate"] < 0 or options["clients"] < 1 or not 0 <= options["writes"] <= 100:
            raise CommandError("--rate must be 0 or more, --clients at least 1, --writes from 0 to 100", returncode=2)
        if options["seconds"] is not None and not options["seconds"] > 0:
            raise CommandError("--seconds must be more than 0", returncode=2)
        running = self._start(
            self._shape(options["table"], [name for name in options["columns"].split(",") if name]),
            self._addresses(options["nodes"]),
            each=options["clients"],
            rate=options["rate"],
            writes_percent=options["writes"],
            keep_rows=options["keep"],
        )
        meter, seconds = self._watch(running, options["seconds"], quiet=options["json"])
        summary = meter.to_json(seconds)
        if options["json"]:
            self.stdout.write(json.dumps(summary, indent=2))
        else:
            self.stdout.write(", ".join(f"{name} {value}" for name, value in summary.items() if name != "shown"))
            for message in meter.shown:
                self.stdout.write(f"error: {message}")
        if meter.errors:
            raise CommandError(f"{meter.errors} errors were seen", returncode=1)

    def _start(self, shape: Shape, addresses: list[str], **options: Any) -> Running:
        try:
            return start_clients(shape, addresses, **options)
        except NotSuitable as error:
            raise CommandError(str(error), returncode=2) from None
        except psycopg.OperationalError as error:
            raise CommandError(f"no node answers: {error}") from None

    def _addresses(self, names: str) -> list[str]:
        known = {node.name: node for node in Node.objects.filter(port__gt=0)}  # a bulk load is a node without a port
        chosen = [n.name for n in known.values() if n.state == "up"] if names == "all" else names.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown or not chosen:
            there = ", ".join(sorted(known)) or "none; start them with manage.py up"
            raise CommandError(f"no such node: {', '.join(unknown) or 'none is up'} (there are: {there})", returncode=2)
        return [address_of(known[name].host, known[name].port) for name in chosen]

    def _shape(self, name: str, only: list[str]) -> Shape:
        table = table_named(name)
        descriptor = None if table is None else newest_descriptor(table.pk)
        if descriptor is None:
            known = ", ".join(one.name for one in live_tables()) or "none"
            hint = "; the demo's tables are loaded after the start, the Cluster page says how far it is"
            message = f"there is no table {name}; there are: {known}{hint if name == 'flights' else ''}"
            raise CommandError(message, returncode=2)
        try:
            return shape_of(descriptor, only)
        except NotSuitable as error:
            raise CommandError(str(error), returncode=2) from None

    def _watch(self, running: Running, seconds: float | None, *, quiet: bool) -> tuple[Meter, float]:
        began, before = time.monotonic(), Meter()
        try:
            while seconds is None or time.monotonic() - began < seconds:
                running.stop.wait(1.0 if seconds is None else min(1.0, max(0.0, began + seconds - time.monotonic())))
                running.look()
                now = running.meter()
                if not quiet:
                    self.stdout.write(now.line(time.monotonic() - began, before))
                    self.stdout.flush()
                before = now
        except KeyboardInterrupt:
            if not quiet:
                self.stdout.write("")  # behind the terminal's ^C
        left = remain(running.end())
        if left:
            self.stderr.write(left)
        return running.meter(), time.monotonic() - began

    # --- the process of a run that was started from the page

    def _follow(self, number: int) -> None:
        try:
            run = runs.begin(number)
        except runs.TrafficRefused as refused:
            raise CommandError(str(refused), returncode=2) from None
        why = ""
        try:
            why = self._carry_out(run)
        except KeyboardInterrupt:
            why = runs.CLUSTER_STOPPED
        except Exception as error:
            why = in_words(error)
            raise
        finally:
            try:
                runs.finish(run, why or "its process ended")
            except DatabaseError as error:  # it does not report any more: the timetable ends it
                log.warning("that traffic has ended is not stored: %s", error)
        self.stdout.write(f"traffic on {run.table_name} ended: {why}")

    def _carry_out(self, run: TrafficRun) -> str:
        running, seconds_max, why = self._start_run(run), END_AT_ONCE_S_MAX, ""
        try:
            while not why:
                running.stop.wait(1.0)
                why = self._store_figures(run, running)
            seconds_max = END_S_MAX
        except KeyboardInterrupt:
            why = runs.CLUSTER_STOPPED
        finally:
            left = remain(running.end(seconds_max=seconds_max, looked=lambda: self._store_figures(run, running)))
        return "; ".join(filter(None, (why, left)))

    def _start_run(self, run: TrafficRun) -> Running:
        """A client's own node may be down now: it goes there when it is back."""
        there = Node.objects.filter(port__gt=0, heartbeat_at__isnull=False).order_by("name")
        addresses = [address_of(node.host, node.port) for node in there]
        if not addresses:
            raise CommandError("no node has joined")
        each, rate = run.clients, float(run.clients * len(addresses) * runs.STATEMENTS_PER_S)
        shape = self._shape(run.table_name, [])
        return self._start(shape, addresses, each=each, rate=rate, writes_percent=run.writes_percent)

    def _store_figures(self, run: TrafficRun, running: Running) -> str:
        """Store the figures of the last second; why it is to end, or an empty text."""
        second, total = running.look(), running.meter()
        figures = asdict(second) | asdict(total) | {"away": running.away(), "all": len(running.clients)}
        try:
            return runs.report(run, figures)
        except DatabaseError as error:  # its clients go on, as they would anywhere
            log.warning("figures of traffic are not stored: %s", error)
            connection.close()
            return ""
