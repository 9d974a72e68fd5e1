"""Clients that move amounts between accounts which all of them share: the sum never changes. Each transfer is a row of
its own in the same transaction: every balance is the first one plus the transfers that are there. Some are taken back
later."""

from collections.abc import Iterable, Mapping

from tests.soak.clients.actors import Stage
from tests.soak.clients.ledger import Row
from tests.soak.clients.outcomes import Outcome
from tests.soak.clients.owners import Owner
from tests.soak.clients.sessions import Session

MADE = (
    "CREATE TABLE accounts (id bigint PRIMARY KEY, owner text NOT NULL, balance bigint NOT NULL, branch integer)",
    "CREATE TABLE transfers (id bigint PRIMARY KEY, src bigint NOT NULL, dst bigint NOT NULL, amount integer NOT NULL,"
    " plain text)",
)
ACCOUNTS, FIRST_BALANCE, BRANCHES = 60, 1000, 5
TOTAL = ACCOUNTS * FIRST_BALANCE
TRANSFERS_KEPT = 60
MOVE = "UPDATE accounts SET balance = balance + %s WHERE id = %s"


def first_accounts() -> list[Row]:
    return [(number, f"owner {number:03}", FIRST_BALANCE, number % BRANCHES) for number in range(1, ACCOUNTS + 1)]


def balances_after(transfers: Iterable[Row]) -> dict[int, int]:
    """Each account's balance when these transfers (src, dst, amount) are the ones that took effect."""
    balances = dict.fromkeys(range(1, ACCOUNTS + 1), FIRST_BALANCE)
    for src, dst, amount in transfers:
        balances[src] -= amount
        balances[dst] += amount
    return balances


def faults_of_balances(balances: Mapping[int, int], transfers: Iterable[Row]) -> list[str]:
    """Accounts whose balance is not what the transfers make it."""
    expected = balances_after(transfers)
    return [
        f"account {one} has {balances.get(one)}, its transfers make {expected.get(one)}: only a part took effect"
        for one in sorted({*balances, *expected})
        if balances.get(one) != expected.get(one)
    ]


class TransferClient(Owner):
    """One owner of a range of transfers' keys."""

    pause_s = 0.08

    def __init__(self, number: int, stage: Stage) -> None:
        super().__init__("transfers", number, stage)

    def act(self) -> None:
        if self.chance.random() < 0.25:
            return self.read()
        if self.ledger.certain and (len(self.ledger.certain) > TRANSFERS_KEPT or self.chance.random() < 0.2):
            return self.take_back()
        return self.transfer()

    def transfer(self) -> None:
        src, dst = self.chance.sample(range(1, ACCOUNTS + 1), 2)
        amount = self.chance.randrange(1, 50)
        key = self.new_key(1)

        def body(session: Session) -> None:
            session.write(MOVE, (-amount, src), rows=1)
            session.write(MOVE, (amount, dst), rows=1)
            query = "INSERT INTO transfers (id, src, dst, amount) VALUES (%s, %s, %s, %s)"
            session.write(query, (key, src, dst, amount), rows=1)

        self.settle("transfer", {key: (src, dst, amount)}, self.session.transact("transfer", body)[0])

    def take_back(self) -> None:
        key = self.chance.choice(list(self.ledger.certain))
        src, dst, amount = self.ledger.certain[key]

        def body(session: Session) -> None:
            session.write("DELETE FROM transfers WHERE id = %s", (key,), rows=1)
            session.write(MOVE, (amount, src), rows=1)
            session.write(MOVE, (-amount, dst), rows=1)

        self.settle("transfer taken back", {key: None}, self.session.transact("transfer taken back", body)[0])

    def read(self) -> None:
        """The sum, and the own transfers, in one snapshot."""
        seen: list[list[Row]] = []

        def body(session: Session) -> None:
            seen.clear()
            seen.append(session.ask("SELECT sum(balance), count(*) FROM accounts"))
            span = (self.first, self.limit)
            seen.append(session.ask("SELECT id, src, dst, amount FROM transfers WHERE id >= %s AND id < %s", span))

        outcome, _ = self.session.transact("read", body)
        if outcome is not Outcome.DONE:
            return
        node = self.session.node
        if seen[0] != [(TOTAL, ACCOUNTS)]:
            self.stage.chronicle.violation(self.name, f"read through {node}: sum and count {seen[0]}, not {TOTAL}")
        for fault in self.ledger.faults({row[0]: tuple(row[1:]) for row in seen[1]}):
            self.stage.chronicle.violation(self.name, f"read through {node}: {fault}")
