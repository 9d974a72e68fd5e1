"""Waits for Redis: a worker keeps its tasks, and continues within a second of Redis's return. Left alone, kombu crashes
a worker that holds a message when Redis dies, and pauses grow to half a minute."""

import logging
from typing import Any

from celery.beat import PersistentScheduler
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown
from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import ConnectionError as RedisConnectionError

from schemalab.supervisor.heartbeat import EVERY_S, beat

log = logging.getLogger(__name__)

PAUSE_S_FIRST, PAUSE_S_MORE, PAUSE_S_MAX = 0.2, 0.2, 1.0


class Channel(redis.Channel):
    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection.client is None:
            raise RedisConnectionError("this channel's connection to Redis is over")
        return super()._connparams(asynchronous=asynchronous)


class Transport(redis.Transport):
    Channel = Channel


class WaitingConsumer(Consumer):
    def ensure_connected(self, conn: Any) -> Any:
        conn.ensure_connection(
            self._not_yet,
            interval_start=PAUSE_S_FIRST,
            interval_step=PAUSE_S_MORE,
            interval_max=PAUSE_S_MAX,
            callback=maybe_shutdown,
        )
        self.first_connection_attempt = False
        return conn

    def register_with_event_loop(self, hub: Any) -> None:
        beat()
        hub.timer.call_repeatedly(EVERY_S, beat)
        super().register_with_event_loop(hub)

    def _not_yet(self, error: Exception, pause_s: float) -> None:
        beat()
        log.warning("no broker, again in %.1f s: %s", pause_s, error)


class BeatingScheduler(PersistentScheduler):
    """Each look at the timetable is a heartbeat."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        beat()
        return min(super().tick(*args, **kwargs), EVERY_S)


def install() -> None:
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
