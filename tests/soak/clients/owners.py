"""Common to clients that own a range of keys: its ledger, and what the outcome of a transaction makes of it."""

from tests.soak.clients.actors import Actor, Stage
from tests.soak.clients.ledger import Image, Ledger
from tests.soak.clients.outcomes import Outcome

KEYS_PER_CLIENT = 1_000_000


class Owner(Actor):
    """The only writer of the keys from `first` to below `limit`."""

    def __init__(self, name: str, number: int, stage: Stage) -> None:
        super().__init__(f"{name}{number}", stage)
        self.ledger = Ledger(self.name)
        self.first = self._next = number * KEYS_PER_CLIENT

    @property
    def limit(self) -> int:
        return self.first + KEYS_PER_CLIENT

    def new_key(self, step: int) -> int:
        """The key that lies `step` behind the newest one."""
        self._next += step
        return self._next

    def settle(self, kind: str, after: Image, outcome: Outcome) -> None:
        """Keep what a transaction was answered: its rows as they are after it, or a doubt."""
        if outcome is Outcome.DONE:
            self.ledger.acknowledge(after)
        elif outcome is Outcome.UNKNOWN:
            self.ledger.doubt(f"{kind} at {self.stage.chronicle.now_s:.1f} s through {self.session.node}", after)
            self.stage.chronicle.note(self.name, f"unknown outcome through {self.session.node}: {kind} {after}")
