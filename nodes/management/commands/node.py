"""`manage.py node NAME`: one node, until it is told to stop."""

import os
import sys
from typing import Any

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection

from leases.services import leave_node, register_node
from nodes.query import warm_up
from nodes.server import CannotServe, Server, Settings, bind
from storage.postgres import layout_mistake


class Command(BaseCommand):
    help = (
        "Serve as one node: SQL over PostgreSQL's protocol. SIGTERM ends it in good order; exit 75: it lost its leases."
    )
    requires_migrations_checks = False
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the node's name, such as n1")
        parser.add_argument("--host", default=settings.NODE_HOST, help="address to listen on")
        parser.add_argument(
            "--port", type=int, default=0, metavar="P", help="port (default: that of last time, or a free one)"
        )

    def handle(self, *args: Any, name: str, host: str, port: int, **options: Any) -> None:
        chosen = Settings(
            name=name,
            host=host,
            port=port,
            dsn=settings.DATABASE_URL,
            redis_url=settings.REDIS_URL,
            lease_s=settings.LEASE_S,
            storages=settings.STORAGE_COUNT,
            buckets=settings.BUCKET_COUNT,
            password=settings.NODE_PASSWORD,
            home=settings.HOME,
        )
        refuse_another_layout(name)
        warm_up()
        try:
            listener = bind(chosen)
            taken = listener.getsockname()[1]
            registration = register_node(name, host=host, port=taken, pid=os.getpid())
            connection.close()
        except CannotServe as error:
            raise CommandError(str(error), returncode=2) from None
        except DatabaseError as error:
            raise CommandError(f"node {name} cannot register: {error}") from None
        self.stdout.write(f"node {name} incarnation {registration.incarnation} on {host}:{taken}", ending="\n")
        self.stdout.flush()
        code = uvloop.run(serve(chosen, listener, registration.incarnation))
        if code == 0:
            leave_node(name, incarnation=registration.incarnation)
            connection.close()
        sys.stdout.flush()
        os._exit(code)  # threads that follow a change must not hold the exit up


def refuse_another_layout(name: str) -> None:
    """A node that looks for rows elsewhere than they lie would lose them."""
    try:
        with connection.cursor() as cursor:
            mistake = layout_mistake(cursor, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT)
    except DatabaseError as error:
        raise CommandError(f"node {name} cannot register: {error}") from None
    if mistake:
        raise CommandError(mistake, returncode=2)


async def serve(chosen: Settings, listener: Any, incarnation: int) -> int:
    return await Server(chosen, listener, incarnation).run()
