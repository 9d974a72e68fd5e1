"""The same question asked in several ways in one snapshot: by scan, by index where there is one, grouped, by key."""

from tests.soak.clients.actors import Actor, Stage
from tests.soak.clients.items import COLOURS
from tests.soak.clients.ledger import Row
from tests.soak.clients.outcomes import Outcome
from tests.soak.clients.sessions import Session
from tests.soak.clients.transfers import ACCOUNTS, BRANCHES, TOTAL


class Reader(Actor):
    """Looks at all rows of the shared tables."""

    pause_s = 0.6

    def __init__(self, number: int, stage: Stage) -> None:
        super().__init__(f"reader{number}", stage)

    def act(self) -> None:
        look = self.chance.choice((self.items, self.accounts, self.references))
        faults: list[str] = []
        outcome, _ = self.session.transact("full read", lambda session: faults.__setitem__(slice(None), look(session)))
        if outcome is Outcome.DONE:
            for fault in faults:
                self.stage.chronicle.violation(self.name, f"read through {self.session.node}: {fault}")

    def items(self, session: Session) -> list[str]:
        grouped = dict(session.ask("SELECT colour, count(*) FROM items GROUP BY colour"))
        alone = {c: session.ask("SELECT count(*) FROM items WHERE colour = %s", (c,))[0][0] for c in COLOURS}
        large = session.ask("SELECT count(*) FROM items WHERE size > 60 AND colour = 'red'")[0][0]
        every: list[Row] = session.ask("SELECT id, colour, size FROM items")
        faults = [
            f"colour {c}: {grouped.get(c, 0)} grouped, {alone[c]} by colour, {count} in all rows"
            for c in COLOURS
            if not grouped.get(c, 0) == alone[c] == (count := sum(row[1] == c for row in every))
        ]
        counted = sum(row[1] == "red" and row[2] > 60 for row in every)
        return faults if large == counted else [*faults, f"large red items: {large} asked for, {counted} in all rows"]

    def accounts(self, session: Session) -> list[str]:
        total = session.ask("SELECT sum(balance), count(*) FROM accounts")[0]
        by_branch = [
            session.ask("SELECT coalesce(sum(balance), 0), count(*) FROM accounts WHERE branch = %s", (branch,))[0]
            for branch in range(BRANCHES)
        ]
        key = self.chance.randrange(1, ACCOUNTS + 1)
        by_key = session.ask("SELECT id, owner FROM accounts WHERE id = %s", (key,))
        by_owner = session.ask("SELECT id, owner FROM accounts WHERE owner = %s", (f"owner {key:03}",))
        added = (sum(one[0] for one in by_branch), sum(one[1] for one in by_branch))
        faults = [] if total == added == (TOTAL, ACCOUNTS) else [f"accounts: {total} in all, {added} by branches"]
        return faults if by_key == by_owner else [*faults, f"account by key {by_key}, by owner {by_owner}"]

    def references(self, session: Session) -> list[str]:
        every: list[Row] = session.ask("SELECT id, src, amount FROM transfers")
        src = self.chance.randrange(1, ACCOUNTS + 1)
        one = session.ask("SELECT count(*), coalesce(sum(amount), 0) FROM transfers WHERE src = %s", (src,))[0]
        counted = [row[2] for row in every if row[1] == src]
        expected = (len(counted), sum(counted))
        return [] if one == expected else [f"transfers from {src}: {one} by src, {expected} in all rows"]
