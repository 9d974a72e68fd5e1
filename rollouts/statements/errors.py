"""Two ways in which a statement ends: the database refuses it, or the model does not know it."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Refused(Exception):
    """The database refuses the statement: SQLSTATE, PostgreSQL's words, and the locks taken before."""

    code: str
    message: str
    locks: frozenset[Any] = frozenset()

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


class NotModelled(Exception):
    """The message names the part that is not modelled and what to write instead."""
