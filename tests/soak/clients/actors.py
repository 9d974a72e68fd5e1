"""Common to all clients: a thread with a name, a generator of chance of its own, and an end."""

import random
import threading
import traceback
from dataclasses import dataclass

from tests.soak.chronicle import Chronicle
from tests.soak.clients.sessions import Counts, Nodes, Session, Unreachable
from tests.soak.waits import Waits


@dataclass(frozen=True, slots=True)
class Stage:
    """Given to every actor."""

    nodes: Nodes
    chronicle: Chronicle
    waits: Waits
    counts: Counts
    seed: int
    over: threading.Event

    def chance(self, name: str) -> random.Random:
        return random.Random(f"{self.seed}/{name}")

    def session(self, name: str) -> Session:
        return Session(
            name,
            self.nodes,
            self.chance(f"{name}'s session"),
            chronicle=self.chronicle,
            waits=self.waits,
            counts=self.counts,
            over=self.over,
        )


class Actor:
    """Acts in a thread of its own until the storm is over; an end of any other kind is a violation."""

    pause_s = 0.05

    def __init__(self, name: str, stage: Stage) -> None:
        self.name, self.stage, self.chance = name, stage, stage.chance(name)
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.session = stage.session(name)

    def act(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        try:
            while not self.stage.over.is_set():
                self.act()
                self.stage.over.wait(self.chance.random() * 2 * self.pause_s)
        except Unreachable:
            pass
        except Exception:  # noqa: BLE001 (a client that ends early must not look like one with nothing to do)
            self.stage.chronicle.violation(self.name, f"ended by a mistake of its own:\n{traceback.format_exc()}")
        finally:
            self.session.disconnect()
