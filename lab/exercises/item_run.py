"""The run that answers an item of a prediction."""

from dataclasses import dataclass

from catalog.text.message import Text
from lab.ladders.played import Played


@dataclass(frozen=True, slots=True)
class RunTile:
    text: Text
    is_work: bool = False


@dataclass(frozen=True, slots=True)
class ItemRun:
    """`name` is "" for the only question; `tiles` are the versions that its servers use."""

    item: str
    versions: tuple[str | RunTile, ...]
    played: Played
