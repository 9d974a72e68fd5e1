"""Sign-in of a node's clients: the secret that each has to prove.

A vouched name proves the cluster's secret, a name with an SQL password that one, also on loopback, the owner
NODE_PASSWORD. Any other name is asked for a password that fits none, so that the refusal does not tell who has one.
Without NODE_PASSWORD a node trusts loopback: who can run a program there can read the cluster's secrets anyway.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from expressions.errors import INVALID_AUTHORIZATION, FatalError
from nodes.people.attempts import NAME_CHARS_MAX, Attempts, Subjects, subjects_of
from nodes.people.directory import People
from nodes.people.rights import OWNER, Person
from nodes.people.vouching import cluster_password
from nodes.wire.scram import Verifier, verifier_of, verifier_of_nobody

log = logging.getLogger(__name__)

REFUSAL_PAUSE_S = 0.5
"""A wrong password is answered after this; how soon the next may be tried is in `nodes.people.attempts`."""


@dataclass(eq=False)
class Admission:
    people: People | None = None
    is_trusting: bool = True
    owner_password: Verifier | None = None
    secret_key: str = field(default="", repr=False)
    attempts: Attempts = field(default_factory=Attempts)
    clock: Callable[[], float] = time.monotonic

    async def person(self, name: str) -> Person:
        return Person(name) if self.people is None else await self.people.look_up(name)

    def verifier(self, person: Person, *, is_vouched: bool) -> Verifier | None:
        """The secret the client has to prove; None when nothing."""
        if self.is_trusting and person.verifier is None:
            return None
        if is_vouched and self.secret_key:
            return verifier_of(cluster_password(self.secret_key, person.name), iterations=1)
        if person.verifier is not None:
            return person.verifier
        if person.name == OWNER and self.owner_password is not None:
            return self.owner_password
        return verifier_of_nobody(self.secret_key, person.name)

    def check_may_try(self, name: str, address: str) -> None:
        """Raises 28000 while there were too many wrong passwords."""
        wait_s = self.attempts.wait_s(subjects_of(name, address), self.clock())
        if wait_s > 0:
            text = f'too many wrong passwords for "{name}" or from {address}: try again in {math.ceil(wait_s)} s'
            raise FatalError(INVALID_AUTHORIZATION, text)

    def succeeded(self, name: str, address: str) -> None:
        self.attempts.succeeded(subjects_of(name, address), self.clock())

    async def failed(self, name: str, address: str, *, is_vouched: bool) -> None:
        """Count and log a wrong password, and let the client wait a moment."""
        subjects = subjects_of(name, address) if not is_vouched else Subjects(*[f"vouched {address}"] * 3)
        failures = self.attempts.failed(subjects, self.clock())
        if not is_vouched or failures.bit_count() == 1:  # these need not wait for each other: fewer lines
            log.warning("wrong password for user %r from %s, %d in a row", name[:NAME_CHARS_MAX], address, failures)
        await asyncio.sleep(REFUSAL_PAUSE_S)
