"""`manage.py up`: the whole cluster in one terminal; Ctrl-C ends it."""

import asyncio
import errno
import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from schemalab.connections.reachable import Unusable
from schemalab.embedded.locations import UnsafeFolder, locations_of
from schemalab.embedded.postgres import ServiceFailed
from schemalab.environment import BadSetting, merge, parse_settings
from schemalab.launch import room
from schemalab.launch.lock import AlreadyRunning, hold
from schemalab.launch.plan import Plan
from schemalab.launch.ports import Ports, PortTaken
from schemalab.people import sign_in_links
from schemalab.polling import TookTooLong
from schemalab.sources import env_file, home, make_home, read_env_file
from schemalab.supervisor.terminal import Terminal
from schemalab.supervisor.tree import Cluster, UpFailed
from spark_tasks.spark.java import NoJava, find_java

DEMO_LEASE_S = "30"
MEMORY_OF = {
    "postgres": "POSTGRES",
    "redis": "REDIS",
    "web": "WEB",
    "worker": "WORKER",
    "maintenance": "WORKER",
    "lab": "WORKER",
    "beat": "WORKER",
    "spark": "SPARK",
    "node": "NODE",
}
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
TROUBLE = (AlreadyRunning, NoJava, room.NoRoom, PortTaken, ServiceFailed, TookTooLong, UnsafeFolder, Unusable, UpFailed)


class Command(BaseCommand):
    help = "Start the cluster: services, migrations, page, workers, nodes, demo data. Ctrl-C stops all of it."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--nodes", type=int, metavar="N", help="how many nodes (default: NODES, 3)")
        parser.add_argument("--port", type=int, metavar="P", help="port of the page (default: 8000 or the next free)")
        parser.add_argument("--verbose", action="store_true", help="show all that the processes say, as in their logs")
        parser.add_argument(
            "--class", action="store_true", dest="for_class", help="let a room reach the page; print its QR code"
        )
        parser.add_argument("--no-demo", action="store_true", help="no demo data and load; leases last 300 s")

    def handle(self, *args: Any, nodes: int | None, port: int | None, no_demo: bool, **options: Any) -> None:
        try:
            self.address = open_to_the_room() if options["for_class"] else ""
            with hold(make_home(home())), Ports() as ports:
                plan = plan_of(ports, nodes=nodes, port=port, with_demo=not no_demo)
                self._run(plan, is_verbose=options["verbose"])
        except BadSetting as bad:
            raise CommandError(str(bad), returncode=2) from None
        except TROUBLE as trouble:
            raise CommandError(str(trouble)) from None
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            where = error.filename or home()
            hint = "SCHEMALAB_HOME names another folder, df shows what is free"
            raise CommandError(f"cannot write {where}: {error.strerror} ({hint})") from None

    def _run(self, plan: Plan, *, is_verbose: bool) -> None:
        plan.locations.logs.mkdir(mode=0o700, exist_ok=True)
        terminal = Terminal(plan.locations.logs)

        async def announce(seconds: float) -> None:
            for line in await asyncio.to_thread(announcement, plan, seconds):
                terminal.say("up", line)
            for line in room.invitation(self.address, plan.port) if self.address else ():
                terminal.say("up", line)

        try:
            asyncio.run(Cluster(plan, terminal, announce=announce, is_verbose=is_verbose).run())
        finally:
            terminal.close()


def open_to_the_room() -> str:
    """Makes the page reachable at this machine's address, which it returns. Raises `NoRoom`."""
    values = merge(process=os.environ, env_file=read_env_file(env_file()), running={})
    address = room.own_address(values)
    os.environ.update(room.room_settings(values, address))
    return address


def plan_of(ports: Ports, *, nodes: int | None, port: int | None, with_demo: bool) -> Plan:
    values = merge(process=os.environ, env_file=read_env_file(env_file()), running={})
    if with_demo:
        values.setdefault("LEASE_S", DEMO_LEASE_S)
    values |= {name: str(value) for name, value in {"NODES": nodes, "PORT": port}.items() if value is not None}
    chosen = parse_settings(values)
    locations = locations_of(home())
    node_ports = ports.free_ports(chosen["NODE_HOST"], chosen["NODE_PORT"], count=chosen["NODES"])
    return Plan(
        locations=locations,
        database_url=chosen["DATABASE_URL"] or locations.database_url,
        redis_url=chosen["REDIS_URL"] or locations.redis_url,
        is_database_embedded=not chosen["DATABASE_URL"],
        is_redis_embedded=not chosen["REDIS_URL"],
        host=chosen["HOST"],
        port=ports.page_port(chosen["HOST"], chosen["PORT"]),
        node_host=chosen["NODE_HOST"],
        node_ports={f"n{number}": node_port for number, node_port in enumerate(node_ports, start=1)},
        lease_s=chosen["LEASE_S"],
        java=find_java(),
        with_demo=with_demo,
        is_behind_proxy=bool(chosen["PUBLIC_URL"]),
        memory_mb={kind: chosen[f"{setting}_MEMORY_MB"] for kind, setting in MEMORY_OF.items()},
    )


def announcement(plan: Plan, seconds: float) -> list[str]:
    psql = f"{psql_program()} -h {plan.node_host} -U {sign_in_links.OWNER} -p"
    try:
        token = sign_in_links.make_token(sign_in_links.owner())
    finally:
        connection.close()
    return [
        f"ready in {seconds:.1f} s: {plan.address}/sign-in/{token}/",
        "  (the link signs you in once; another: ./manage.py signin-link)",
        *(f"  SQL on {name}: {psql} {port} schemalab" for name, port in plan.node_ports.items()),
        "  Ctrl-C stops everything",
    ]


def psql_program() -> str:
    bundled = Path(sys.prefix) / "bin" / "psql"
    return str(bundled.relative_to(Path.cwd()) if bundled.is_relative_to(Path.cwd()) else bundled)
