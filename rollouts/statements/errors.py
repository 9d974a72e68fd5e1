"""Two ways in which a statement ends: the database refuses it, or the model does not know it."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Refused(Exception):
    """The database refuses the statement: the SQLSTATE that PostgreSQL gives, its words, and the locks that the
    statement took before."""

    code: str
    message: str
    locks: frozenset[Any] = frozenset()

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


class NotModelled(Exception):
    """The statement is outside of what is explored. The message names the part and what to write instead."""
