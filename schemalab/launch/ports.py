"""Chooses our TCP ports. Two clones on one machine must not collide, so defaults move on to the next free one.

A port is reserved before anything listens on it, and stays so while its process is down: a name in Linux's abstract
socket namespace stands for it (unix(7)), which every `up` on the machine sees and which goes with the process that
holds it. Without that, two clusters that start at once would choose the same ports, and one that starts while
another's node is down would take that node's place.
"""

import errno
import socket
from types import TracebackType

DEFAULT_PORT = 8000
TRIES_MAX = 200


class PortTaken(Exception):
    """Somebody listens on the port that was asked for, or on all we tried."""


class Ports:
    """The ports of one cluster, reserved until the end of the `with` block."""

    def __init__(self) -> None:
        self._reservations: list[socket.socket] = []

    def __enter__(self) -> "Ports":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for reservation in self._reservations:
            reservation.close()

    def page_port(self, host: str, asked: int) -> int:
        """The port asked for, or with 0 the first free one from 8000 on."""
        if not asked:
            return self.free_ports(host, DEFAULT_PORT, count=1)[0]
        if not self._take(host, asked):
            raise PortTaken(f"port {asked} on {host} is taken: stop what listens there, or choose another with --port")
        return asked

    def free_ports(self, host: str, first: int, *, count: int) -> list[int]:
        """The next `count` free ports from `first` on."""
        found: list[int] = []
        for port in range(first, min(first + TRIES_MAX, 65536)):
            if len(found) == count:
                break
            if self._take(host, port):
                found.append(port)
        if len(found) < count:
            raise PortTaken(f"no {count} free ports on {host} from {first} on")
        return found

    def _take(self, host: str, port: int) -> bool:
        """Reserve a port; False when another cluster has it, or something listens there."""
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0schemalab port {port}")
        except OSError as error:
            reservation.close()
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        if not is_free(host, port):
            reservation.close()
            return False
        self._reservations.append(reservation)
        return True


def is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError:
            return False
        return True
