"""Gossip: news of a version spreads, and cannot do harm.

News says "table 7 now has version 4". It may be lost, late, doubled or overtaken by
newer news; it changes nothing but speed (L6), because a listener only ever keeps the
highest version it heard and then asks the database:

    heard    -     3     3     4     4
    news        3     2     4     4
                new   old   new   old

Besides, an operator who did something to a node's leases calls that node: it looks at once, and with its next heartbeat
in any case.
"""

from dataclasses import dataclass

from catalog.elements import TableId

LOOK = "look:"


class MalformedNews(ValueError):
    """A message on the news channel that is neither of the form `table:version` nor a call to a node."""


@dataclass(frozen=True, slots=True)
class News:
    """`table` has at least `version` now."""

    table: TableId
    version: int


@dataclass(frozen=True, slots=True)
class Look:
    """Something was done to `node`, or to its leases: it should ask what is left."""

    node: str


def is_news(heard: int, version: int) -> bool:
    """True if a version is newer than what was heard before (0: nothing was)."""
    return version > heard


def highest(heard: int, version: int) -> int:
    """The version to remember after hearing of `version`."""
    return max(heard, version)


def to_text(message: News | Look) -> str:
    """The message on the wire."""
    return f"{LOOK}{message.node}" if isinstance(message, Look) else f"{message.table}:{message.version}"


def from_text(text: str) -> News | Look:
    """The news in a message; raises `MalformedNews`."""
    if text.startswith(LOOK):
        return Look(text.removeprefix(LOOK))
    table, _, version = text.partition(":")
    if not (table.isascii() and table.isdigit() and version.isascii() and version.isdigit()):
        raise MalformedNews(f"news {text!r} is not of the form table:version, such as 7:4")
    return News(TableId(int(table)), int(version))
