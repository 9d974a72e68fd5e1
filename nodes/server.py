"""A node's life: it registers, serves its port under its leases, and ends in good order or at once.

SIGTERM   clients get 57P01, transactions under way get a moment, leases are released, exit 0 (`nodes.ending`)
fatal     a lease cannot be renewed or another incarnation serves: everything ends at once, exit 75 (L10)
"""

import asyncio
import contextlib
import ipaddress
import json
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import Any

from catalog import clock
from expressions.errors import ADMIN_SHUTDOWN, SERIALIZATION_FAILURE, FatalError
from leases import holders
from leases.asyncio.keeper import FATAL_EXIT_CODE, LeaseKeeper
from leases.beats import BEAT_S
from leases.redis import beats, samples
from nodes.alarm import keep_alarm
from nodes.beside import run_beside
from nodes.catalog_queries.shadow import Shadow
from nodes.clients.protocols import Client, Session
from nodes.clients.registry import Clients
from nodes.clients.startup import Greeting
from nodes.context import Environment
from nodes.ending import CLIENTS_S, CLOSE_S, KEEPER_S, LEASES_S, NEW_TABLES_S, UNDO_S, in_time
from nodes.notifications.hub import Hub
from nodes.people.directory import People
from nodes.people.rights import Person
from nodes.people.sign_in import Admission
from nodes.session.open import NO_LIMITS, Limits, open_session
from nodes.session.schema.new_tables import announce_last
from nodes.store.name_cache import Directory
from nodes.store.pipeline import StorePool
from nodes.store.reader import reader_of
from nodes.store.refusals import HAD_TO_END
from nodes.wire.scram import verifier_of
from storage.postgres import session_options

log = logging.getLogger(__name__)

CONTROL_SESSIONS = 2
LOCK_SESSIONS = 20
"""Sessions at the store that hold, or wait for, advisory locks."""
STAGING_SESSIONS = 6
"""Sessions at the store that read the data of COPY."""
STAGING_USE, STAGING_HINT = " for the data of COPY", "send fewer COPY statements at once, or use another node"
STAGING_WAIT_S = 60.0
"""A COPY waits for its turn: those before it may have much to read."""
JUDGING_SESSIONS = 2
JUDGING_USE, JUDGING_HINT = " for judging statements that write", "send fewer new ones at once, or use another node"
"""Sessions at the store that judge statements which write."""
LOCK_OPTIONS = "-c default_transaction_isolation=read\\ committed -c client_connection_check_interval=1s"
"""What waits for a lock sees that its node is gone."""
BACKLOG = 200
KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}
"""Seconds of silence before the first probe, and between probes; their number."""


class CannotServe(Exception):
    """The node cannot start; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Settings:
    name: str
    host: str
    port: int
    dsn: str
    redis_url: str
    lease_s: float
    storages: int
    buckets: int
    shadow: str = ""
    password: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)
    home: Path | None = None
    tls: tuple[Path | None, Path | None] = (None, None)
    """Certificate and key; without them the node speaks no TLS."""
    limits: Limits = NO_LIMITS


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def bind(settings: Settings) -> socket.socket:
    """The node's port: the one asked for, the one it had last time, or any free one. Raises `CannotServe`."""
    wanted = [settings.port] if settings.port else [remembered_port(settings), 0]
    for port in wanted:
        listener = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keep_alive(listener)
        try:
            listener.bind((settings.host, port))
        except OSError as error:
            listener.close()
            if settings.port:
                raise CannotServe(f"port {port} of {settings.host} is not free: {error.strerror}") from None
        else:
            remember_port(settings, listener.getsockname()[1])
            return listener
    raise CannotServe(f"no port of {settings.host} is free")


def keep_alive(listener: socket.socket) -> None:
    """Have the system end connections whose other side is gone without a word; those accepted here inherit it."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        if hasattr(socket, option):
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def remembered_port(settings: Settings) -> int:
    try:
        return int(json.loads(_port_file(settings).read_text())["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def remember_port(settings: Settings, port: int) -> None:
    if settings.home is not None:
        _port_file(settings).parent.mkdir(parents=True, exist_ok=True)
        _port_file(settings).write_text(json.dumps({"port": port}))


def _port_file(settings: Settings) -> Path:
    return (settings.home or Path(os.devnull)) / "nodes" / f"{settings.name}.json"


class Server:
    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        incarnation: int,
        on_ending: Callable[[int], None] = lambda code: None,
        tls: SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self.settings, self.listener, self.incarnation = settings, listener, incarnation
        self._on_ending = on_ending
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._why = "terminating connection due to administrator command"

    async def run(self) -> int:
        """Serve until told to stop; the exit code."""
        settings = self.settings
        keeper = LeaseKeeper(
            node=settings.name,
            incarnation=self.incarnation,
            dsn=settings.dsn,
            redis_url=settings.redis_url,
            lease_s=settings.lease_s,
            on_fatal=self._fatal,
            on_end=lambda pin: self.env.end_holder(pin),
            stop_s_max=KEEPER_S,
        )
        self.env = environment(settings, self.incarnation, keeper)
        reader = await reader_of(self.env.pool)
        if reader is None:
            raise CannotServe(f"node {settings.name} may no longer act as the reader role")
        self.env.reader = reader
        people = People(self.env.directory.ask)

        def opened(client: Client, person: Person, parameters: dict[str, str]) -> Session:
            return open_session(self.env, client, person, parameters, settings.limits)

        greeting = Greeting(opened, admission(settings, people), settings.limits.sessions_max_each, self._tls)
        clients = Clients(greeting)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stop)
        async with keeper:
            serving = await asyncio.get_running_loop().create_server(
                clients.channel, sock=self.listener, backlog=BACKLOG
            )
            log.info("node %s incarnation %s serves port %s", settings.name, self.incarnation, self.port)
            beside = [
                self.run_beside("sending figures", self._send_samples(), is_vital=False),
                self.run_beside("sending beats", self._send_beats(), is_vital=False),
                self.run_beside("watching the rights of users", people.watch(clients.end_of), is_vital=True),
                self.run_beside("setting the alarm", keep_alarm(settings.lease_s), is_vital=True),
            ]
            code = await self._ended
            for task in beside:
                task.cancel()
            serving.close()
            ended = FatalError(ADMIN_SHUTDOWN, self._why)
            lost = None if code == 0 else FatalError(SERIALIZATION_FAILURE, f"{HAD_TO_END}{self._why}")
            await clients.end_all(ended, CLIENTS_S if code == 0 else 0.0, UNDO_S, lost)
            if code == 0:
                await self._drain(keeper)
        await announce_last(self.env, NEW_TABLES_S)
        await in_time(CLOSE_S, f"node {settings.name} closes its sessions at the store", self.env.close())
        return code

    def run_beside(self, what: str, work: Coroutine[Any, Any, None], *, is_vital: bool) -> "asyncio.Task[None]":
        """Do this while the node serves. Should it fail the log says so, and what is vital ends the node."""
        return run_beside(what, work, (lambda error: self._fatal(f"{what} failed: {error!r}")) if is_vital else None)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def stop(self) -> None:
        self._end(0)

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)
            self._on_ending(code)

    async def _drain(self, keeper: LeaseKeeper) -> None:
        what = f"node {self.settings.name} gives back its leases; what it cannot give back runs out"
        await in_time(LEASES_S, what, keeper.drain())

    async def _send_samples(self) -> None:
        """Every second what this node did in it, for people who watch; nobody listening costs nothing."""
        async with samples.open_client(self.settings.redis_url) as client:
            while True:
                await asyncio.sleep(1.0 - time.monotonic() % 1.0)
                sample = self.env.meter.take(
                    time.monotonic(),
                    at=clock.now().timestamp(),
                    open_transactions=self.env.open_transactions,
                    long_waits=self.env.long_waits(self.settings.lease_s),
                )
                held = holders.to_text(self.incarnation, self.env.holders())
                self.env.meter.totals.requests = self.env.router.report()
                totals = self.env.meter.totals.to_text(self.incarnation)
                await samples.publish(client, self.settings.name, sample, held, self.settings.lease_s, totals)

    async def _send_beats(self) -> None:
        """Four times a second how much was done, and how long it took: reorganisations give way by that."""
        meter, number = self.env.meter, 0
        async with samples.open_client(self.settings.redis_url) as client:
            while True:
                await asyncio.sleep(BEAT_S - time.monotonic() % BEAT_S)
                meter.beat(time.monotonic(), running=len(self.env.running))
                number += 1
                if not meter.beats.are_idle or number % beats.IDLE_EVERY == 0:
                    await beats.publish(client, self.settings.name, meter.beats)

    def _fatal(self, reason: str) -> None:
        self._why = f"this node stops serving: {reason}"
        self._end(FATAL_EXIT_CODE)


def admission(settings: Settings, people: People) -> Admission:
    return Admission(
        people=people,
        is_trusting=is_loopback(settings.host) and not settings.password,
        owner_password=verifier_of(settings.password) if settings.password else None,
        secret_key=settings.secret_key,
    )


def environment(settings: Settings, incarnation: int, keeper: LeaseKeeper) -> Environment:
    name = f"schemalab node {settings.name} {incarnation}"
    options = session_options(name)["options"]
    control = "-c default_transaction_isolation=read\\ committed -c timezone=UTC"
    directory = Directory(StorePool(settings.dsn, name, control, CONTROL_SESSIONS))
    return Environment(
        settings.name,
        incarnation,
        settings.storages,
        settings.buckets,
        StorePool(settings.dsn, name, options),
        directory,
        keeper,
        Hub(settings.dsn, name),
        StorePool(settings.dsn, name, LOCK_OPTIONS, LOCK_SESSIONS),
        StorePool(settings.dsn, name, options, STAGING_SESSIONS, STAGING_USE, STAGING_HINT, STAGING_WAIT_S),
        StorePool(settings.dsn, name, options, JUDGING_SESSIONS, JUDGING_USE, JUDGING_HINT),
        Shadow(settings.dsn, settings.shadow, name, directory),
    )
