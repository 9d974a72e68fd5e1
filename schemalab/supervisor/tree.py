"""The cluster as a tree of processes: started in order, watched, stopped in reverse. Embedded services run unless a URL
names others. The control channel is open from the first process to the last."""

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from catalog.text.numbers import counted
from nodes.ending import KILL_S_MAX
from schemalab.connections.reachable import (
    check_database,
    check_layout,
    check_migrations,
    check_redis,
    shadow_mistake,
    shortcomings,
    weaker_reader,
)
from schemalab.embedded import postgres, redis
from schemalab.embedded.leftovers import end_leftovers
from schemalab.embedded.locations import prepare_folders
from schemalab.launch import readiness
from schemalab.launch.plan import Plan, reach
from schemalab.launch.procfile import ROOT, command_line, read_procfile
from schemalab.sources import RUNNING_FILE
from schemalab.supervisor import heartbeat, questions
from schemalab.supervisor.children import Launch
from schemalab.supervisor.control import ControlServer
from schemalab.supervisor.crash_events import CrashEvents
from schemalab.supervisor.process import Refused, Supervised
from schemalab.supervisor.questions import Question
from schemalab.supervisor.restarts import PAUSE_S_MAX_SERVICE
from schemalab.supervisor.terminal import Terminal
from schemalab.supervisor.watch import Watch

READY_S_MAX = 60.0
MIGRATE_S_MAX = 600.0
TRAFFIC_MAX = 3
TERMINAL_LOOK_S = 2.0
DEATH_SIGNALS = {"web": "SIGKILL", "beat": "SIGKILL"}
"""Of processes that have nothing to end in order: the kernel ends them when we die. Nodes end in their own time, and
workers as `schemalab.supervisor.end_with` says."""
# What is stopped together, first to last.
STOP_ORDER = (
    ("demo", "traffic"),
    ("node",),
    ("beat", "worker", "maintenance", "spark", "lab"),
    ("web",),
    ("migrate",),
    ("redis",),
    ("postgres",),
)


class UpFailed(Exception):
    """The cluster could not start."""


def signals_to_stop() -> list[signal.Signals]:
    """The signals that stop the cluster; SIGHUP unless ignored, as with nohup."""
    is_hangup_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if is_hangup_ignored else [signal.SIGHUP])]


class Cluster:
    def __init__(
        self, plan: Plan, terminal: Terminal, *, announce: Callable[[float], Awaitable[None]], is_verbose: bool = False
    ) -> None:
        self.plan = plan
        self._is_verbose = is_verbose
        self._terminal = terminal
        self._announce = announce
        self._processes: dict[str, Supervised] = {}
        self._commands = read_procfile((ROOT / "Procfile").read_text())
        self._crash_events = CrashEvents(self.say)
        self._watch = Watch(plan.lease_s)
        self._stop = asyncio.Event()
        self._given_up = threading.Event()

    def say(self, line: str) -> None:
        self._terminal.say("up", line)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in signals_to_stop():
            loop.add_signal_handler(number, self._asked_to_stop)
        running_file = self.plan.locations.home / RUNNING_FILE
        prepare_folders(self.plan.locations)
        running_file.write_text("".join(f"{name}={value}\n" for name, value in self.plan.chosen.items()))
        try:
            channel = ControlServer(
                self.plan.locations.control_socket, self._processes, self._crash_events.report, self._begin_traffic
            )
            async with channel, self._crash_events, self._watch:
                # start step by step; being asked to stop ends the starting too
                starting = asyncio.create_task(self._start_all())
                stopping = asyncio.create_task(self._stop_asked())
                await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
                if starting.done():
                    starting.result()
                    await stopping
                starting.cancel()
        finally:
            await self._stop_all()
            running_file.unlink(missing_ok=True)

    def _asked_to_stop(self) -> None:
        if self._stop.is_set():
            self.say("ending everything at once: the next start takes longer, the data are safe")
            for process in self._processes.values():
                process.forget()
                process.end_at_once()
        self._stop.set()
        self._given_up.set()

    async def _stop_asked(self) -> None:
        """Waits for a signal, or for the terminal to close: only its session's leader hears of that."""
        while not self._stop.is_set():
            if self._terminal.is_gone:
                self._asked_to_stop()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), TERMINAL_LOOK_S)

    # --- start

    async def _start_all(self) -> None:
        began = time.monotonic()
        self.say(f"starting; what the processes say is in {self.plan.locations.logs}")
        self.say(f"Spark: {self.plan.java}")
        await self._start_services()
        await self._migrate()
        self.say(f"starting the page, {counted(len(self.plan.node_ports), 'node')} and the workers")
        for kind in ("web", "node", "worker", "maintenance", "beat"):
            self._begin_kind(kind)
        missing = await readiness.wait_until_ready(self.plan, self._processes, seconds_max=READY_S_MAX)
        if missing:
            self.say(f"not ready after {READY_S_MAX:g} s: {', '.join(missing)}; going on")
        await self._announce(time.monotonic() - began)
        for kind in ("spark", "lab"):
            self._begin_kind(kind)
        if self.plan.with_demo and readiness.has_command("demo"):
            self.say("starting Spark, then loading the demo: half a minute, the first time")
            demo = self._begin("demo", "demo", self._python("manage.py", "demo", "load"), restart=False)
            await demo.ended()
            if demo.exit_code:
                self.say("the demo was not loaded, all else runs; to try again: ./manage.py demo load")
            else:
                self.say("all is there; your first change: docs/tutorial/first-change.md")

    async def _start_services(self) -> None:
        plan, places = self.plan, self.plan.locations
        if plan.is_database_embedded:
            if not postgres.is_prepared(places):
                self.say("making the database: the first start takes some seconds longer")
            await asyncio.to_thread(postgres.prepare, places)
            server = postgres.launch(places, nodes=len(plan.node_ports))
            clean_up = partial(end_leftovers, places, self.say)
            self._begin("postgres", "postgres", server, before=clean_up, pause_s_max=PAUSE_S_MAX_SERVICE)
            wait = partial(postgres.wait_until_ready, places, say=self.say, given_up=self._given_up)
            await asyncio.to_thread(wait)
        if plan.is_redis_embedded:
            self._begin("redis", "redis", redis.launch(places), pause_s_max=PAUSE_S_MAX_SERVICE)
            await asyncio.to_thread(redis.wait_until_ready, places)
        await asyncio.to_thread(check_database, plan.database_url)
        await asyncio.to_thread(check_migrations, plan.database_url)
        await asyncio.to_thread(check_layout, plan.database_url)
        short = await asyncio.to_thread(shortcomings, plan.database_url, nodes=len(plan.node_ports))
        if short is not None:
            self.say(short)
        await asyncio.to_thread(check_redis, plan.redis_url)

    async def _migrate(self) -> None:
        migrate = self._begin("migrate", "migrate", self._python("manage.py", "migrate", "--no-input"), restart=False)
        try:
            async with asyncio.timeout(MIGRATE_S_MAX):
                await migrate.ended()
        except TimeoutError:
            raise UpFailed(f"the migrations have not ended after {MIGRATE_S_MAX:g} s") from None
        if migrate.exit_code:
            raise UpFailed(f"the migrations failed, see {self.plan.locations.logs / 'migrate.log'}")
        if not self.plan.is_database_embedded:
            self.say(await asyncio.to_thread(weaker_reader, self.plan.database_url))
        mistake = await asyncio.to_thread(shadow_mistake, self.plan.database_url, settings.SHADOW_DATABASE_URL)
        if mistake is not None:
            self.say(mistake)

    def _begin_kind(self, kind: str) -> None:
        if kind == "node":
            for name, port in self.plan.node_ports.items():
                self._begin(name, kind, self._from_procfile(kind, NAME=name, NODE_PORT=str(port)))
        else:
            self._begin(kind, kind, self._from_procfile(kind))

    def _begin(self, name: str, kind: str, launch: Launch, **options: Any) -> Supervised:
        memory_mb = self.plan.memory_mb.get(kind)
        launch = replace(launch, memory_mb=memory_mb, env={**launch.env, heartbeat.VARIABLE: str(self._pulse(name))})
        heard = {"keep": None if self._is_verbose else self._terminal.keep, "report": self._crash_events.report}
        process = Supervised(name, launch, self._terminal.say, kind=kind, **heard, **options)
        self._processes[name] = process
        process.begin()
        self._watch.add(process, self._question(name, kind), memory_mb)
        return process

    def _pulse(self, name: str) -> Path:
        return self.plan.locations.sockets / f"{name}.heartbeat"

    def _question(self, name: str, kind: str) -> Question | None:
        plan = self.plan
        match kind:
            case "postgres":
                return questions.ask_postgres(plan.locations)
            case "redis":
                return questions.ask_redis(plan.redis_url)
            case "node":
                return questions.ask_node(reach(plan.node_host), plan.node_ports[name])
            case "web":
                return questions.ask_web(reach(plan.host), plan.port)
            case "worker" | "maintenance" | "spark" | "lab" | "beat":
                return questions.ask_heartbeat(self._pulse(name))
        return None

    def _from_procfile(self, kind: str, **values: str) -> Launch:
        argv = command_line(self._commands[kind], {**self.plan.env, **values})
        return Launch(argv=argv, env=self.plan.env, cwd=ROOT, death_signal=DEATH_SIGNALS.get(kind, ""))

    def _python(self, *arguments: str) -> Launch:
        return Launch(argv=(sys.executable, *arguments), env=self.plan.env, cwd=ROOT)

    def _begin_traffic(self, run: int) -> str:
        if self._stop.is_set():
            raise Refused("the cluster is stopping")
        former = {f"traffic-{number}": self._processes.get(f"traffic-{number}") for number in range(1, TRAFFIC_MAX + 1)}
        name = next((name for name, one in former.items() if one is None or one.state in ("ended", "down")), None)
        if name is None:
            raise Refused(f"{TRAFFIC_MAX} processes of traffic run already: stop one first")
        before = former[name]
        if before is not None:
            before.forget()
        self._watch.forget(name)
        launch = replace(
            self._python("manage.py", "traffic", "--run", str(run)), stop_signal="SIGINT", death_signal="SIGKILL"
        )
        self._begin(name, "traffic", launch, restart=False)
        return f"{name} is starting"

    # --- stop

    async def _stop_all(self) -> None:
        self.say("stopping; Ctrl-C again ends everything at once")
        for kinds in STOP_ORDER:
            group = [process for process in self._processes.values() if process.kind in kinds]
            limit = KILL_S_MAX if kinds == ("node",) else None
            await asyncio.gather(*(self._stop_one(process, limit) for process in group))
        self.say("stopped; the next start finds the data again")

    async def _stop_one(self, process: Supervised, seconds_max: float | None) -> None:
        await (process.stop(seconds_max=seconds_max) if seconds_max else process.stop())
