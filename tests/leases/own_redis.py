"""A Redis that a test may stop, start and freeze; it forgets everything."""

import signal
from pathlib import Path

from schemalab.embedded import redis
from schemalab.embedded.locations import Locations
from schemalab.supervisor import children


class OwnRedis:
    def __init__(self, folder: Path) -> None:
        self._locations = Locations(home=folder, base=folder, sockets=folder, drop_to=None)
        self._launch = redis.launch(self._locations)
        self.url = self._locations.redis_url

    def start(self) -> None:
        self._child = children.start(self._launch, output=self._locations.home / "redis.log")
        redis.wait_until_ready(self._locations, still_running=self._child)

    def freeze(self) -> None:
        self._child.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._child.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        children.stop(self._child, self._launch)
