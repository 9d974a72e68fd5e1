"""Which TCP ports are free. Two clones on one machine must not collide, so defaults move on to the next free one."""

import socket

DEFAULT_PORT = 8000
TRIES_MAX = 200


class PortTaken(Exception):
    """Somebody listens on the port that was asked for, or on all we tried."""


def is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError:
            return False
        return True


def page_port(host: str, asked: int) -> int:
    """The port asked for, or with 0 the first free one from 8000 on."""
    if not asked:
        return free_ports(host, DEFAULT_PORT, count=1)[0]
    if not is_free(host, asked):
        raise PortTaken(f"port {asked} on {host} is taken: stop what listens there, or choose another with --port")
    return asked


def free_ports(host: str, first: int, *, count: int) -> list[int]:
    """The next `count` free ports from `first` on."""
    found: list[int] = []
    for port in range(first, min(first + TRIES_MAX, 65536)):
        if len(found) == count:
            break
        if is_free(host, port):
            found.append(port)
    if len(found) < count:
        raise PortTaken(f"no {count} free ports on {host} from {first} on")
    return found
