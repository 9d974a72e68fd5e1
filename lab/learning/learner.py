"""A learner: a person with an account, or a visitor, whom only their browser's session knows.

A visitor gets a name when there is something to keep, not before: a page that is only looked at leaves nothing behind.
The name is in the session's data, not its key, because the key changes at sign-in.
"""

import uuid
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

VISITOR = "lab_visitor"
"""The key of a visitor's name in the data of a browser's session."""


@dataclass(frozen=True, slots=True)
class Learner:
    """A person by their id, or a visitor by a name; nobody yet when both are empty."""

    user_id: int | None = None
    visitor: str = ""

    @property
    def is_nobody(self) -> bool:
        return self.user_id is None and not self.visitor

    def rows(self) -> dict[str, Any]:
        """The fields of rows that are this learner's."""
        return {"user_id": self.user_id, "visitor": self.visitor}


def learner_of(user_id: int | None, session: MutableMapping[str, Any], *, named: bool = False) -> Learner:
    """The learner of a browser's session; `named`: a visitor gets a name, because something is to be kept."""
    if user_id is not None:
        return Learner(user_id)
    if named and not session.get(VISITOR):
        session[VISITOR] = uuid.uuid4().hex
    return Learner(visitor=str(session.get(VISITOR, "")))
