"""A person at a node: whether they may connect, and what they may execute.

The people of the SQL ports are the people of the page. Everybody who has signed in may read; writing rows and changing
schemas takes what the page's console takes, the right to submit a change (`MAY_WRITE`). A name that is nobody's on the
page comes in only where the node asks for no password, or when the cluster itself vouches for it
(`nodes.people.vouching`): both may do everything.
"""

from dataclasses import dataclass

from expressions.errors import INSUFFICIENT_PRIVILEGE, INVALID_AUTHORIZATION, FatalError, SqlError
from nodes.wire.scram import Verifier

MAY_WRITE = "changes.add_change"
OWNER = "owner"


@dataclass(eq=False)
class Person:
    """One name, as the database had it last; shared by all sessions of that name, and kept true while there are any."""

    name: str
    has_account: bool = False
    is_active: bool = True
    has_right_to_write: bool = False
    verifier: Verifier | None = None

    def update(self, found: "Person | None") -> None:
        """Take over what the database says now; an account that is there no more has ended."""
        if found is None:
            self.is_active = self.is_active and not self.has_account
            return
        self.has_account, self.is_active = True, found.is_active
        self.has_right_to_write, self.verifier = found.has_right_to_write, found.verifier

    def why_not_served(self) -> FatalError | None:
        if self.is_active:
            return None
        return FatalError(INVALID_AUTHORIZATION, f'the account "{self.name}" has been closed')

    @property
    def may_write(self) -> bool:
        return self.has_right_to_write or not self.has_account

    def check_may_write(self, what: str) -> None:
        """Raises 42501."""
        if not self.may_write:
            raise SqlError(
                INSUFFICIENT_PRIVILEGE,
                f"permission denied for {what}: {self.name} may only read",
                hint="rows and schemas are changed by people with the role submitter or operator; an operator gives"
                " roles with `manage.py users roles NAME ROLE ..`",
            )
