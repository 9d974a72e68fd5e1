"""Tables made in transactions that commit or roll back, used through other nodes, emptied and dropped."""

from tests.soak.clients.actors import Actor, Stage
from tests.soak.clients.outcomes import Outcome
from tests.soak.clients.sessions import Session, Undone

ROWS = 3
UNKNOWN_TABLE = "42P01"
DDL_S_MAX = 240.0
LOOKS_MAX = 20


class TableMaker(Actor):
    """Makes one table after the other; `left` are those that may still be there."""

    pause_s = 0.5

    def __init__(self, number: int, stage: Stage) -> None:
        super().__init__(f"maker{number}", stage)
        self._number = number
        self._made = 0
        self.left: list[str] = []

    def act(self) -> None:
        self._made += 1
        name = f"made_{self._number}_{self._made}"
        is_undone = self.chance.random() < 0.4

        def body(session: Session) -> None:
            session.ask(f"CREATE TABLE {name} (id bigint PRIMARY KEY, word text UNIQUE)")
            for key in range(ROWS):
                session.write(f"INSERT INTO {name} VALUES (%s, %s)", (key, f"word {key}"), rows=1)
            if is_undone:
                raise Undone

        kind = "table rolled back" if is_undone else "table made"
        outcome, _ = self.session.transact(kind, body)
        if outcome is not Outcome.REFUSED:
            self.left.append(name)
        self.session.disconnect()  # what was made here is looked at through another node
        self._look(name, outcome)
        if outcome is not Outcome.REFUSED:
            if self.chance.random() < 0.3:
                self._empty(name, outcome)
            self.drop(name)

    def _look(self, name: str, outcome: Outcome) -> None:
        """All of its rows, or no table, as the outcome says."""
        for _ in range(LOOKS_MAX):
            seen: list[int] = []

            def body(session: Session, seen: list[int] = seen) -> None:
                seen[:] = [session.ask(f"SELECT count(*) FROM {name}")[0][0]]

            looked, sqlstate = self.session.transact("look at a made table", body, single=True, also=(UNKNOWN_TABLE,))
            if looked is not Outcome.DONE and sqlstate != UNKNOWN_TABLE:
                continue
            found = seen[0] if looked is Outcome.DONE else None
            if not is_possible(outcome, found):
                what = "is not there" if found is None else f"has {found} rows"
                words = f"table {name} was {outcome.value} and {what} through {self.session.node}"
                self.stage.chronicle.violation(self.name, words)
            return

    def _empty(self, name: str, made: Outcome) -> None:
        def body(session: Session) -> None:
            session.ask(f"TRUNCATE {name}")

        outcome, _ = self.session.transact("truncate", body, single=True, also=(UNKNOWN_TABLE,))
        if outcome is Outcome.DONE and made is Outcome.DONE:
            seen: list[int] = []
            looked, _ = self.session.transact(
                "look at a made table", lambda s: seen.append(s.ask(f"SELECT count(*) FROM {name}")[0][0]), single=True
            )
            if looked is Outcome.DONE and seen[-1] != 0:
                self.stage.chronicle.violation(self.name, f"{name} was emptied and has {seen[-1]} rows")

    def drop(self, name: str) -> None:
        """Again until it is known to be gone."""

        def body(session: Session) -> None:
            session.ask(f"DROP TABLE IF EXISTS {name}", limit_s=DDL_S_MAX)

        outcome, _ = self.session.transact("drop a made table", body, single=True, also=("55000", UNKNOWN_TABLE))
        if outcome is Outcome.DONE:
            self.left.remove(name)


def is_possible(outcome: Outcome, rows: int | None) -> bool:
    """True when a table made with this outcome may be found with so many rows; None: there is none."""
    if outcome is Outcome.DONE:
        return rows == ROWS
    if outcome is Outcome.REFUSED:
        return rows is None
    return rows in (None, ROWS)
