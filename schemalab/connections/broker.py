"""Waiting for Redis: a worker stays, keeps what it is doing, and goes on within a second of Redis's return.

Left to themselves Celery and kombu do otherwise. A worker that held a message when Redis died crashed, since kombu
asks a connection that it has just thrown away for its address; and the pauses between two tries grow to half a minute.
"""

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
    """A channel that says that its connection is over in a way that its users expect."""

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection.client is None:
            raise RedisConnectionError("this channel's connection to Redis is over")
        return super()._connparams(asynchronous=asynchronous)


class Transport(redis.Transport):
    """Kombu's, with these channels."""

    Channel = Channel


class WaitingConsumer(Consumer):
    """Asks for Redis again and again, without a limit: there is nothing else a worker could do."""

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
        """Called when the loop over messages begins, on each connection anew."""
        beat()
        hub.timer.call_repeatedly(EVERY_S, beat)
        super().register_with_event_loop(hub)

    def _not_yet(self, error: Exception, pause_s: float) -> None:
        beat()
        log.warning("no broker, again in %.1f s: %s", pause_s, error)


class BeatingScheduler(PersistentScheduler):
    """Beat's timetable; each look at it is a sign of life."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        beat()
        return min(super().tick(*args, **kwargs), EVERY_S)


def install() -> None:
    """Let kombu use this transport wherever an address says Redis."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
