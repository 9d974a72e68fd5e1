"""The cluster for a class in a room: the page is reachable from the room's network, the nodes are not."""

import socket
from collections.abc import Mapping

import segno

SOMEWHERE = ("192.0.2.1", 9)
"""An address of documentation: nothing is sent there, but the system says from which address it would be."""

QUIET = 2
HALVES = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}

NO_TLS = "The page speaks no TLS: what learners type can be overheard in this network. Use it in a room that you trust."


class NoRoom(Exception):
    """This machine cannot be reached by others, or must not be."""


def own_address(values: Mapping[str, str]) -> str:
    """`HOST` where it is set, else this machine's address in its network. Raises `NoRoom`."""
    if values.get("HOST", "0.0.0.0") != "0.0.0.0":  # noqa: S104
        return values["HOST"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(SOMEWHERE)
        except OSError as error:
            raise NoRoom(f"this machine is in no network ({error.strerror}): join the room's, or set HOST") from error
        found: str = probe.getsockname()[0]
        return found


def room_settings(values: Mapping[str, str], address: str) -> dict[str, str]:
    """The settings of a class, beside `values`. Raises `NoRoom`."""
    if values.get("DEBUG", "").lower() in ("1", "true", "yes", "on"):
        raise NoRoom("DEBUG shows settings to everybody in the room: switch it off")
    hosts = [host for host in values.get("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",") if host.strip()]
    return {
        "HOST": values.get("HOST", "0.0.0.0"),  # noqa: S104
        "ALLOWED_HOSTS": ",".join(dict.fromkeys([*hosts, address])),
    }


def invitation(address: str, port: int) -> list[str]:
    link = f"http://{address}:{port}/lab/"
    return [f"for learners in this room: {link}", *qr_lines(link), NO_TLS]


def qr_lines(text: str) -> list[str]:
    """A QR code for a dark terminal, two modules above each other in one letter."""
    rows = list(segno.make(text, error="m", micro=False).matrix_iter(border=QUIET))
    rows += [[0] * len(rows[0])] * (len(rows) % 2)
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(HALVES[bool(upper), bool(lower)] for upper, lower in zip(*pair, strict=True)) for pair in pairs]
