"""From a wait or a refusal on the operations pages to a session in the same state: why does it wait, why not?

    a change waits for n1, which leases v1      two versions at most: v3 is refused while n1 is on v1
    a change waits for a node that has died     its lease runs on, and the clock is the learner's
    a unique index is refused for its rows      two rows, one entry

Each door is a set-up, the steps into the situation, and the chapter that explains it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.sessions.session import BadSession, Session

NEXT_VERSION = ("publish.2", "n2.acquire")
ON_THE_WAY_TO_THE_FILL = ("publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire", "drain.3")


@dataclass(frozen=True, slots=True)
class Door:
    """A session, and the id of the chapter it belongs to ("" where there is none)."""

    session: Session
    chapter: str


def _door(setup: str, *steps: str, chapter: str = "", **parameters: str | list[str | int | bool]) -> Door:
    return Door(Session(setup, parameters, frozenset(), steps), chapter)


DOORS: Mapping[str, Door] = {
    "lease": _door("two-versions", *NEXT_VERSION, chapter="05-two-versions"),
    "dead-node": _door("leases", "n1: crash", "step", "step", chapter="06-leases"),
    "open-transaction": _door("frozen-node", "n1: freeze", "step", "step", chapter="12-a-frozen-node"),
    "news": _door("news", "lose news", "step", "step", chapter="07-news"),
    "delete-only": _door("full-ladder", *NEXT_VERSION, chapter="02-delete-only"),
    "write-only": _door(
        "full-ladder", "publish.2", "n1.acquire", "n2.acquire", "publish.3", "n2.acquire", chapter="03-why-write-only"
    ),
    "fill": _door("fill", *ON_THE_WAY_TO_THE_FILL, chapter="04-reorganise"),
    "duplicates": _door("unique-index", *ON_THE_WAY_TO_THE_FILL, chapter="09-unique", rows=[1, 1]),
    "reference": _door("variant", name="add-foreign-key"),
    "violation": _door("variant", name="add-constraint"),
}
"""By the situation's name in a link."""


def door_to(situation: str) -> Door:
    """Raises `BadSession` when there is no such situation."""
    found = DOORS.get(situation)
    if found is None:
        raise BadSession(f"there is no situation {situation[:40]}; situations are: {', '.join(DOORS)}")
    return found
