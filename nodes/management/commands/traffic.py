"""`manage.py traffic`: steady load on the nodes, so that "online" can be seen."""

import json
import random
import threading
import time
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from psycopg import sql
from psycopg.conninfo import make_conninfo

from catalog.selectors import newest_descriptor, table_named
from leases.selectors import nodes
from nodes.people.vouching import vouched_address
from nodes.traffic.book import FIRST_KEY, KEYS_PER_CLIENT, Book, NotSuitable, Row, Shape, first_free_range, shape_of
from nodes.traffic.client import Client
from nodes.traffic.meter import Meter

SAMPLES_MAX = 200
RANGES_APART_MAX = 30
"""Two runs begun in the same moment choose different ranges of keys, most likely."""


class Command(BaseCommand):
    help = "Reads and writes on the nodes, each answer checked; exit 1 when an error was seen. Ctrl-C stops it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--nodes", default="all", help="names with commas between them (default: all that are up)")
        parser.add_argument("--table", default="flights", help="with one integer key (default: flights)")
        parser.add_argument("--columns", default="", help="names with commas between them (default: all but the key)")
        parser.add_argument("--rate", type=float, default=60.0, help="statements a second in all; 0: as many as go")
        parser.add_argument("--seconds", type=float, help="how long (default: until Ctrl-C)")
        parser.add_argument("--clients", type=int, default=1, help="clients for each node (default: 1)")
        parser.add_argument(
            "--keep", action="store_true", help="leave the rows there (default: delete them at the end)"
        )
        parser.add_argument("--json", action="store_true", help="print the summary as JSON and no lines")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["rate"] < 0 or options["clients"] < 1:
            raise CommandError("--rate must be 0 or more and --clients at least 1", returncode=2)
        addresses = self._addresses(options["nodes"])
        shape = self._shape(options["table"], [name for name in options["columns"].split(",") if name])
        clients = start_clients(
            shape, addresses, each=options["clients"], rate=options["rate"], keep_rows=options["keep"]
        )
        meter, seconds = self._watch(clients, options["seconds"], quiet=options["json"])
        self._report(meter, seconds, as_json=options["json"])
        if meter.errors:
            raise CommandError(f"{meter.errors} errors were seen", returncode=1)

    def _addresses(self, names: str) -> list[str]:
        known = {node.name: node for node in nodes()}
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
            hint = "; the demo's tables are loaded after the start, the Cluster page says how far it is"
            raise CommandError(f"there is no table {name}{hint if name == 'flights' else ''}", returncode=2)
        try:
            return shape_of(descriptor, only)
        except NotSuitable as error:
            raise CommandError(str(error), returncode=2) from None

    def _watch(self, running: "Running", seconds: float | None, *, quiet: bool) -> tuple[Meter, float]:
        began, before = time.monotonic(), Meter()
        try:
            while seconds is None or time.monotonic() - began < seconds:
                running.stop.wait(1.0 if seconds is None else min(1.0, max(0.0, began + seconds - time.monotonic())))
                now = running.meter()
                if not quiet:
                    self.stdout.write(now.line(time.monotonic() - began, before))
                    self.stdout.flush()
                before = now
        except KeyboardInterrupt:
            if not quiet:
                self.stdout.write("")  # behind the terminal's ^C
        running.end()
        return running.meter(), time.monotonic() - began

    def _report(self, meter: Meter, seconds: float, *, as_json: bool) -> None:
        summary = meter.to_json(seconds)
        if as_json:
            self.stdout.write(json.dumps(summary, indent=2))
            return
        self.stdout.write(", ".join(f"{name} {value}" for name, value in summary.items() if name != "shown"))
        for message in meter.shown:
            self.stdout.write(f"error: {message}")


class Running:
    """The clients of one run."""

    def __init__(self, clients: list[Client], stop: threading.Event) -> None:
        self.clients, self.stop = clients, stop

    def meter(self) -> Meter:
        return sum((client.meter for client in self.clients), Meter())

    def end(self) -> None:
        self.stop.set()
        for client in self.clients:
            client.join(30)


def start_clients(shape: Shape, addresses: list[str], *, each: int, rate: float, keep_rows: bool) -> Running:
    """`each` clients for every node; a client turns to the next node when its own is gone."""
    samples, stop = sample_rows(shape, addresses), threading.Event()
    count = each * len(addresses)
    free = first_free_range(highest_key(shape, addresses)) + random.SystemRandom().randrange(RANGES_APART_MAX) * count
    clients = []
    for number in range(count):
        first = FIRST_KEY + (free + number) * KEYS_PER_CLIENT
        book = Book(first, samples, random.Random(first))
        own = number % len(addresses)
        order = addresses[own:] + addresses[:own]
        pause_s = count / rate if rate else 0.0
        clients.append(Client(shape, book, order, pause_s=pause_s, stop=stop, keep_rows=keep_rows))
    for client in clients:
        client.start()
    return Running(clients, stop)


def sample_rows(shape: Shape, addresses: list[str]) -> list[Row]:
    """Rows whose values traffic uses, so that it looks like the table's own; NULLs where the table is empty."""
    columns = sql.SQL(", ").join(map(sql.Identifier, shape.columns))
    query = sql.SQL("SELECT {} FROM {} LIMIT {}").format(columns, sql.Identifier(shape.table), SAMPLES_MAX)
    with psycopg.connect(addresses[0], autocommit=True) as connection:
        return connection.execute(query).fetchall() or [(None,) * len(shape.columns)]


def highest_key(shape: Shape, addresses: list[str]) -> int | None:
    """The greatest key among traffic's, which an earlier run may have left."""
    key, table = sql.Identifier(shape.key), sql.Identifier(shape.table)
    query = sql.SQL("SELECT max({}) FROM {} WHERE {} >= {}").format(key, table, key, sql.Literal(FIRST_KEY))
    with psycopg.connect(addresses[0], autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    return None if row is None else row[0]


def address_of(host: str, port: int) -> str:
    return make_conninfo(**vouched_address(settings.SECRET_KEY, host, port, name="traffic", application_name="traffic"))
