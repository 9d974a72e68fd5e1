"""A person at a node: whether they may connect, and what they may execute.

The people of the SQL ports are the people of the page. All who have signed in may read; to write takes `MAY_WRITE`. A
name without an account comes in only where the node asks for no password, or when the cluster vouches for it
(`nodes.people.vouching`): it may do everything, and the story marks it, as in `OWNER (SQL)`.
"""

from dataclasses import dataclass

from expressions.errors import INSUFFICIENT_PRIVILEGE, INVALID_AUTHORIZATION, FatalError, SqlError
from nodes.wire.scram import Verifier

MAY_WRITE = "changes.add_change"
WRITE_RIGHT = "may_write"
"""A session's value by this name: t or f."""
OWNER = "owner"
NAME_CHARS_MAX = 63
"""Of a name without an account; PostgreSQL cuts longer ones."""


@dataclass(eq=False)
class Person:
    """One name, as the database had it last; shared by all sessions of that name, and kept true while there are any."""

    name: str
    has_account: bool = False
    is_active: bool = True
    has_right_to_write: bool = False
    verifier: Verifier | None = None

    def update(self, found: "Person | None") -> None:
        """Takes over what the database says now; a missing account has ended."""
        if found is None:
            self.is_active = self.is_active and not self.has_account
            return
        self.has_account, self.is_active = True, found.is_active
        self.has_right_to_write, self.verifier = found.has_right_to_write, found.verifier

    def why_not_served(self) -> FatalError | None:
        if not self.is_active:
            return FatalError(INVALID_AUTHORIZATION, f'the account "{self.name}" has been closed')
        if not self.has_account and not is_plain(self.name):
            message = f"there is no account {self.name[:NAME_CHARS_MAX]!a}, and no other name like that is taken"
            hint = f"a name has at most {NAME_CHARS_MAX} printable characters, without blanks at its ends"
            return FatalError(INVALID_AUTHORIZATION, message, hint=hint)
        return None

    def in_story(self, name: str) -> str:
        """The name under which the story has what this person does: marked where it is nobody's account."""
        return name if self.has_account else f"{name} (SQL)"

    @property
    def may_write(self) -> bool:
        return self.has_right_to_write or not self.has_account

    def check_may_write(self, what: str) -> None:
        if not self.may_write:
            raise SqlError(
                INSUFFICIENT_PRIVILEGE,
                f"permission denied for {what}: {self.name} may only read",
                hint="rows and schemas are changed by people with the role submitter or operator; an operator gives"
                " roles with `manage.py users roles NAME ROLE ..`",
            )


def is_plain(name: str) -> bool:
    """True for a name that looks like what it is: no control or zero-width characters, no blanks at its ends."""
    return name.isprintable() and name == name.strip() and len(name) <= NAME_CHARS_MAX
