"""Gossip: news of a version, such as "table 7 now has version 4". News may be lost, late, doubled or overtaken, and
changes only speed (L6): a listener keeps the highest version and asks the database. An operator's action on a node's
leases calls the node, which then looks at once."""

from dataclasses import dataclass

from catalog.elements import TableId

LOOK = "look:"


class MalformedNews(ValueError):
    """Neither `table:version` nor a call to a node."""


@dataclass(frozen=True, slots=True)
class News:
    """`table` has at least `version` now."""

    table: TableId
    version: int


@dataclass(frozen=True, slots=True)
class Look:
    """Something was done to `node` or its leases: it should look."""

    node: str


def is_news(heard: int, version: int) -> bool:
    """True if newer than the highest version heard (0: none)."""
    return version > heard


def highest(heard: int, version: int) -> int:
    return max(heard, version)


def to_text(message: News | Look) -> str:
    return f"{LOOK}{message.node}" if isinstance(message, Look) else f"{message.table}:{message.version}"


def from_text(text: str) -> News | Look:
    """Raises `MalformedNews`."""
    if text.startswith(LOOK):
        return Look(text.removeprefix(LOOK))
    table, _, version = text.partition(":")
    if not (table.isascii() and table.isdigit() and version.isascii() and version.isdigit()):
        raise MalformedNews(f"news {text!r} is not of the form table:version, such as 7:4")
    return News(TableId(int(table)), int(version))
