"""The phase of the Spark worker (session, python, warm, or failed and why), reported while the worker lives."""

import json
import logging
import threading
import time
from functools import cache
from typing import Any

from django.conf import settings
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

KEY = "schemalab:spark"
PHASES = ("session", "python", "warm")
REPORT_S = 2.0
EXPIRES_S = 7
REDIS_S_MAX = 0.5
Json = dict[str, Any]


class WorkerReport:
    def __init__(self) -> None:
        self._state: Json = {}
        self._began = 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()

    def begin(self) -> None:
        self._began = time.monotonic()
        self._state = {"began_at": timezone.now().isoformat()}
        self.say(PHASES[0])
        threading.Thread(target=self._run, name="state of spark", daemon=True).start()

    def end(self) -> None:
        self._over.set()

    def say(self, phase: str, error: str = "") -> float:
        seconds = round(time.monotonic() - self._began, 1) if self._began else 0.0
        with self._lock:
            self._state = self._state | {"phase": phase, "error": error, "seconds": seconds}
            self._report()
        return seconds

    def _run(self) -> None:
        while not self._over.wait(REPORT_S):
            with self._lock:
                self._report()

    def _report(self) -> None:
        try:
            _redis(settings.REDIS_URL).set(KEY, json.dumps(self._state), ex=EXPIRES_S)
        except (RedisError, OSError) as error:
            log.debug("state of spark not reported: %s", error)


report = WorkerReport()


def read() -> Json | None:
    """The worker's state; None without a worker."""
    try:
        found = _redis(settings.REDIS_URL).get(KEY)
    except (RedisError, OSError) as error:
        log.debug("state of spark not read: %s", error)
        return None
    return json.loads(found) if found else None


@cache
def _redis(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=REDIS_S_MAX, socket_connect_timeout=REDIS_S_MAX)
