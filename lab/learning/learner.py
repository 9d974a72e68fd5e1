"""A learner: a person with an account, a visitor known to their browser's session, or a member of a course, whose work
is deleted with it. A visitor's name is in the session's data, not its key, which changes at sign-in."""

import uuid
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

VISITOR = "lab_visitor"
"""The key of a visitor's name in the data of a browser's session."""

VISITORS = "visitor:"
"""The beginning of each visitor's owner: visitors together count as one, since anyone can have as many as they like."""

MEMBER = "lab_member"
"""The key of the membership with which a browser works in a course."""


@dataclass(frozen=True, slots=True)
class Learner:
    """A person by id, a visitor or a member by name; all empty: not known yet."""

    user_id: int | None = None
    visitor: str = ""
    member_id: int | None = None

    @property
    def is_nobody(self) -> bool:
        return self.user_id is None and not self.visitor and self.member_id is None

    @property
    def owner(self) -> str:
        """Such as user:3; "" if not known."""
        if self.member_id is not None:
            return f"member:{self.member_id}"
        if self.user_id is not None:
            return f"user:{self.user_id}"
        return f"{VISITORS}{self.visitor}" if self.visitor else ""

    def rows(self) -> dict[str, Any]:
        return {"user_id": self.user_id, "visitor": self.visitor, "member_id": self.member_id}


def learner_of(user_id: int | None, session: MutableMapping[str, Any], *, named: bool = False) -> Learner:
    """`named`: a visitor gets a name, because something is to be stored."""
    if user_id is not None:
        return Learner(user_id)
    if named and not session.get(VISITOR):
        session[VISITOR] = uuid.uuid4().hex
    return Learner(visitor=str(session.get(VISITOR, "")))
