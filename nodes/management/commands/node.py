"""`manage.py node NAME`: one node, until it is told to stop."""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from ssl import SSLContext
from typing import Any, TypeVar

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, Error, InterfaceError, OperationalError, connection
from django.utils import timezone

from catalog import clock
from leases.services import leave_node, register_node
from nodes.clients.tls import BadCertificate, tls_context
from nodes.ending import LEAVE_S, end_now, end_soon, in_time
from nodes.server import CannotServe, Server, Settings, bind, is_loopback
from nodes.session.database_thread import StoreDown, in_database_thread
from nodes.session.open import Limits
from nodes.store.reader import MAY_READ_SQL
from storage.postgres import layout_mistake
from storage.reader.role import IS_HELD_SQL, READER

log = logging.getLogger(__name__)

STORE_S_MAX, STORE_PAUSE_S = 120.0, 0.2
T = TypeVar("T")


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
        set_wall_clock(settings.NODE_CLOCK_OFFSET_S.get(name, 0.0))
        chosen = Settings(
            name=name,
            host=host,
            port=port,
            dsn=settings.DATABASE_URL,
            shadow=settings.SHADOW_DATABASE_URL,
            redis_url=settings.REDIS_URL,
            lease_s=settings.LEASE_S,
            storages=settings.STORAGE_COUNT,
            buckets=settings.BUCKET_COUNT,
            password=settings.NODE_PASSWORD,
            secret_key=settings.SECRET_KEY,
            tls=(settings.NODE_TLS_CERT, settings.NODE_TLS_KEY),
            home=settings.HOME,
            limits=Limits(
                sessions_max_each=settings.NODE_SESSIONS_PER_USER,
                statement_s=settings.NODE_STATEMENT_S,
                idle_in_transaction_s=settings.NODE_IDLE_IN_TRANSACTION_S,
            ),
        )
        self.once_the_store_answers(name, lambda: refuse_another_layout(name))
        self.once_the_store_answers(name, lambda: refuse_without_reader(name))
        try:
            tls = tls_context(*chosen.tls)
            listener = bind(chosen)
        except (CannotServe, BadCertificate) as error:
            raise CommandError(str(error), returncode=2) from None
        taken = listener.getsockname()[1]
        registration = self.once_the_store_answers(
            name, lambda: register_node(name, host=host, port=taken, pid=os.getpid())
        )
        self.stdout.write(f"node {name} incarnation {registration.incarnation} on {host}:{taken}", ending="\n")
        self.stdout.flush()
        if not is_loopback(host) and tls is None:
            self.stderr.write(f"node {name}: {host} can be reached by others, and what is sent there is not encrypted")
        loop = uvloop.new_event_loop()  # `uvloop.run` would wait for threads at its end
        asyncio.set_event_loop(loop)
        code = 1
        try:
            code = loop.run_until_complete(serve(chosen, listener, registration.incarnation, tls))
        except Exception:
            log.exception("node %s could not end in good order", name)
        end_now(name, code, loop)

    def once_the_store_answers(self, name: str, work: Callable[[], T]) -> T:
        """Do it now, or when a store that is just recovering answers again: a node that ends would be started later."""
        deadline = time.monotonic() + STORE_S_MAX
        is_reported = False
        while True:
            try:
                return work()
            except (DatabaseError, InterfaceError) as error:
                is_away = isinstance(error, OperationalError | InterfaceError)
                if not is_away or time.monotonic() > deadline:
                    raise CommandError(f"node {name} cannot register: {error}") from None
                if not is_reported:
                    self.stderr.write(f"node {name} waits for the store: {error}")
                    is_reported = True
                time.sleep(STORE_PAUSE_S)
            finally:
                connection.close()


def set_wall_clock(offset_s: float) -> None:
    """A wrong clock, for tests: what Django stamps on rows included."""
    if offset_s:
        clock.set_offset(offset_s)
        timezone.now = clock.now


def refuse_another_layout(name: str) -> None:
    """A node that looks for rows elsewhere than they lie would lose them."""
    with connection.cursor() as cursor:
        mistake = layout_mistake(cursor, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT)
    if mistake:
        raise CommandError(mistake, returncode=2)


def refuse_without_reader(name: str) -> None:
    """Queries run as the reader role, so that pairs and hidden columns are out of their reach."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT CASE WHEN ({IS_HELD_SQL}) THEN ({MAY_READ_SQL}) END")
        (may_read,) = cursor.fetchone()
    if not may_read:
        what = f"node {name} cannot act as the role {READER}, as which PostgreSQL answers queries"
        raise CommandError(
            f"{what}: give the role of DATABASE_URL the attribute CREATEROLE, then run manage.py migrate", returncode=2
        )


async def serve(chosen: Settings, listener: Any, incarnation: int, tls: SSLContext | None) -> int:
    loop = asyncio.get_running_loop()
    code = await Server(chosen, listener, incarnation, lambda code: end_soon(chosen.name, code, loop), tls).run()
    if code == 0:
        await in_time(LEAVE_S, f"node {chosen.name} says that it leaves", leave(chosen.name, incarnation))
    return code


async def leave(name: str, incarnation: int) -> None:
    try:
        await in_database_thread(lambda: leave_node(name, incarnation=incarnation))
    except (Error, StoreDown) as error:
        log.warning("node %s could not say that it leaves: %s", name, error)
