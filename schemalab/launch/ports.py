"""Chooses TCP ports, the next free ones, so that two clones on one machine do not collide. A port is reserved by a name
in Linux's abstract socket namespace (unix(7)), which ends with its holder. So clusters that start at once choose
different ports, and a node that is down keeps its port."""

import errno
import socket
from types import TracebackType

DEFAULT_PORT = 8000
TRIES_MAX = 200


class PortTaken(Exception):
    """The requested port, or all that we tried, are in use."""


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
        """The requested port; 0: the first free one from 8000 on."""
        if not asked:
            return self.free_ports(host, DEFAULT_PORT, count=1)[0]
        if not self._take(host, asked):
            raise PortTaken(f"port {asked} on {host} is taken: stop what listens there, or choose another with --port")
        return asked

    def free_ports(self, host: str, first: int, *, count: int) -> list[int]:
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
