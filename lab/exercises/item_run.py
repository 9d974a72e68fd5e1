"""The run that answers an item of a prediction."""

from dataclasses import dataclass

from lab.ladders.played import Played
from lab.texts import Text


@dataclass(frozen=True, slots=True)
class RunTile:
    """A tile of a run that answers a prediction, in any language."""

    text: Text
    is_work: bool = False


@dataclass(frozen=True, slots=True)
class ItemRun:
    """The run of an item ("" where there is one question), and the versions that its servers use, by their states or as
    tiles."""

    item: str
    versions: tuple[str | RunTile, ...]
    played: Played
