"""The asyncio shell of the reloads (`nodes.router.reloads` decides): one question for all requests that wait. A reload
takes a lease on the newest version of whichever table bears the name. The keeper holds it from then on, so that those
who waited find it there."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from expressions.errors import SqlError
from leases.rules import LeaseError, NotLeasable
from nodes.beside import run_beside
from nodes.router import reloads
from nodes.router.compiled import CompiledRequests
from nodes.router.counters import Counters
from nodes.router.reloads import Known, Outcome, Reloads, Wake
from nodes.store.name_cache import Directory

if TYPE_CHECKING:
    from leases.asyncio.keeper import LeaseKeeper

log = logging.getLogger(__name__)

NAMES_MAX = 1000
LOAD_S_MAX = 5.0


@dataclass(eq=False)
class Router:
    """The reloads of one node, by the name of the table, the counts of its requests, and what is compiled of them."""

    directory: Directory
    keeper: LeaseKeeper
    counters: Counters = field(default_factory=Counters)
    compiled: CompiledRequests = field(default_factory=CompiledRequests)
    _states: dict[str, Reloads] = field(default_factory=dict)
    _answers: dict[int, asyncio.Future[Wake]] = field(default_factory=dict)
    _alarms: dict[str, asyncio.TimerHandle] = field(default_factory=dict)
    _loads: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def seen(self, name: str, version: Known) -> None:
        """A request uses this version: who fails with an older one need not ask for it."""
        if self._states.get(name, IDLE).newest != version:
            self._feed(name, reloads.Use(version))

    def table_made(self) -> None:
        """A session of this node has made a table: names that no table bore are looked up at once."""
        for name in [n for n, state in self._states.items() if state.is_idle and state.newest is None]:
            del self._states[name]

    def report(self) -> dict[str, dict[str, float | None]]:
        return {name: self.report_of(name) for name in sorted(self.counters.tables)}

    def report_of(self, name: str) -> dict[str, float | None]:
        """The counts of a table's requests, with the age of the newest version; None: this node never asked for it."""
        confirmed_at = self._states.get(name, IDLE).confirmed_at
        age_s = None if confirmed_at is None else round(time.monotonic() - confirmed_at, 3)
        return {**self.counters.of(name).to_json(), "snapshot_age_s": age_s}

    def is_loading(self, name: str) -> bool:
        return self._states.get(name, IDLE).is_loading

    async def newer(self, name: str, than: Known | None, *, deadline: float, is_patient: bool) -> Wake:
        """Wait for a version newer than `than`, until `deadline` (monotonic); see `nodes.router.reloads.Ask`."""
        request = next(self._numbers)
        answer = self._answers[request] = asyncio.get_running_loop().create_future()
        try:
            begun = self._states.get(name, IDLE).begun
            self._feed(name, reloads.Ask(request, than, deadline, is_patient))
            if than is not None and self._states.get(name, IDLE).begun == begun:
                self.counters.of(name).joined += 1
            return await answer
        finally:
            del self._answers[request]
            if not answer.done() or answer.cancelled():
                self._feed(name, reloads.Leave(request))

    def _feed(self, name: str, event: reloads.Event) -> None:
        state, effects = reloads.step(self._states.get(name, IDLE), event, time.monotonic())
        self._states[name] = state
        for effect in effects:
            match effect:
                case reloads.Load():
                    self._loads[name] = run_beside(f"the reload of {name}", self._load(name))
                case reloads.Wake():
                    answer = self._answers.get(effect.request)
                    if answer is not None and not answer.done():
                        answer.set_result(effect)
                case reloads.WakeAt():
                    self._wake_at(name, effect.at)
        if len(self._states) > NAMES_MAX:  # a name just asked for stays: the next request would ask again
            now = time.monotonic()
            for idle in [n for n, one in self._states.items() if one.is_idle and one.not_before <= now]:
                del self._states[idle]

    def _wake_at(self, name: str, at: float | None) -> None:
        alarm = self._alarms.pop(name, None)
        if alarm is not None:
            alarm.cancel()
        if at is not None:
            loop = asyncio.get_running_loop()
            self._alarms[name] = loop.call_later(max(at - time.monotonic(), 0.0) + 0.001, self._tick, name)

    def _tick(self, name: str) -> None:
        self._alarms.pop(name, None)
        self._feed(name, reloads.Tick())
        wake_at = self._states.get(name, IDLE).wake_at
        if wake_at is not None and name not in self._alarms:
            self._wake_at(name, wake_at)

    # -- the reload itself --------------------------------------------------------------------------------------

    async def _load(self, name: str) -> None:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(LOAD_S_MAX):
                found = await self._newest(name)
            event: reloads.Event = reloads.Missing() if found is None else reloads.Loaded(found)
        except NotLeasable:
            event = reloads.Missing()
        except (LeaseError, SqlError) as error:
            event = reloads.Failed(str(error))
        except TimeoutError:
            event = reloads.Failed(f"the catalog did not answer in {LOAD_S_MAX:g} s")
        except Exception as error:
            log.exception("the reload of %s failed", name)
            event = reloads.Failed(f"{type(error).__name__}: {error}")  # whoever waits must hear of it
        if isinstance(event, reloads.Loaded):
            counts = self.counters.of(name)
            counts.reloads += 1
            counts.reload_s += time.perf_counter() - began
        self._feed(name, event)

    async def _newest(self, name: str) -> Known | None:
        table_id = await self.directory.find(name)
        if table_id is None:
            return None
        pin = await self.keeper.pin(table_id, fresh=True)
        try:
            descriptor = pin.descriptor
            return Known(table_id, descriptor.version) if descriptor.name == name else None
        finally:
            self.keeper.unpin(pin)

    def close(self) -> None:
        for alarm in self._alarms.values():
            alarm.cancel()
        for task in self._loads.values():
            task.cancel()


IDLE = Reloads()

__all__ = ["LOAD_S_MAX", "Known", "Outcome", "Router", "Wake"]
