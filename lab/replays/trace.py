"""A session on a model as a replay sees it: steps, transactions, and their actions on nodes.

A transaction that begins under v1 while v2 is out is either *pinned* (begun before v2 is published, so with an older
snapshot: no row that it touches may have been written by then) or its node *lags* (it leases v1, and news of v2 is
withheld until it renews, for transactions that must see rows written under v2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catalog.text.message import Text, Values
from lab.explorer.contents.statements import DELETE, INSERT, MOVE, NO_VALUE, UPDATE, Statement
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from lab.replays import actions
from lab.replays.actions import Narrated
from lab.sessions.model.session import Position

TRANSACTIONS_MAX = 40
NO_ROW = "-"


class NotReplayable(Exception):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


@dataclass(slots=True)
class Transaction:
    number: int
    node: str
    version: int
    begins: int
    row: object = None
    ends: int | None = None
    commits: bool = False


class Trace:
    """Steps of a model's world, `steps[n]` from `positions[n]` on. Raises `NotReplayable` for too many transactions."""

    def __init__(
        self, plain: Plain, positions: Sequence[Position], steps: Sequence[Step], rows: Sequence[str | int]
    ) -> None:
        self.plain, self.positions, self.steps, self.rows = plain, positions, steps, rows
        self.names = tuple(map(str, plain.names))
        self.transactions = self._transactions()
        if len(self.transactions) > TRANSACTIONS_MAX:
            raise NotReplayable(Text("a replay has at most {most} transactions", {"most": TRANSACTIONS_MAX}))
        self.published = {step[1]: at for at, step in enumerate(steps) if step[0] == "publish"}
        late = [one for one in self.transactions if one.version < self.positions[one.begins].newest]
        self.pinned = [one for one in late if self._may_pin(one)]
        self.lagging = [one for one in late if one not in self.pinned]

    @property
    def reorganises(self) -> bool:
        return any(self.changes_pairs(at) for at in range(len(self.steps)))

    def changes_pairs(self, at: int) -> bool:
        step = self.steps[at]
        is_nodes = step[0] in self.plain.names or step[0] == "given"
        return not is_nodes and self.positions[at].config.contents != self.positions[at + 1].config.contents

    def _transactions(self) -> list[Transaction]:
        found: list[Transaction] = []
        opened: dict[object, Transaction] = {}
        for at, step in enumerate(self.steps):
            node = step[0]
            match step[1:]:
                case ("begin",):
                    version = self.positions[at].config.nodes[self.plain.names.index(node)].use[0]  # type: ignore[arg-type]
                    opened[node] = Transaction(len(found) + 1, str(node), version, at)
                    found.append(opened[node])
                case ("read", row) if node in opened:
                    opened[node].row = row
                case ("commit",) | ("rollback",):
                    one = opened.pop(node)
                    one.ends, one.commits = at, step[1] == "commit"
        return found

    def _may_pin(self, one: Transaction) -> bool:
        """A snapshot from before the next version shows it the same: its row was not written since."""
        since = self.published[one.version + 1]
        return not any(
            other.row == one.row and other.commits and other.ends is not None and since < other.ends < one.begins
            for other in self.transactions
        )

    # As actions

    def first_rows(self) -> Iterator[Narrated]:
        yield from self._given(self.rows)

    def step_of_node(self, at: int) -> Iterator[Narrated]:
        step = self.steps[at]
        node = str(step[0])
        match step[1:]:
            case _ if node == "given":
                yield from self._given(step[1:])  # type: ignore[arg-type]
            case ("acquire",) | ("read", *_):
                return
            case ("begin",):
                one = self.at(node, at)
                if one not in self.pinned:
                    yield from self._begins(one)
            case ("write", statement):
                sql = statement_sql(statement)  # type: ignore[arg-type]
                text = Text("{node}: {sql}", {"node": node, "sql": sql})
                yield Narrated(actions.Run(self.at(node, at).number, sql), text)
            case ("commit",):
                ends = actions.End(self.at(node, at).number, commits=True)
                yield Narrated(ends, Text("{node} commits", {"node": node}))
            case ("rollback",):
                ends = actions.End(self.at(node, at).number, commits=False)
                yield Narrated(ends, Text("{node} rolls back", {"node": node}))
            case _:
                raise NotReplayable(
                    Text("{node} freezes until its lease runs out: others use the nodes, too", {"node": node})
                )

    def pinned_before(self, version: int) -> Iterator[Narrated]:
        for one in self.pinned:
            if one.version + 1 == version:
                values: Values = {"node": one.node, "version": one.version}
                if one.version > 1:
                    yield Narrated(actions.Use(one.node, one.version), Text("{node} comes to use v{version}", values))
                text = Text("{node} begins a transaction under v{version}, and keeps it open", values)
                yield Narrated(actions.Begin(one.number, one.node, one.version), text)

    def at(self, node: str, at: int) -> Transaction:
        return max((one for one in self.transactions if one.node == node and one.begins <= at), key=lambda o: o.begins)

    def _begins(self, one: Transaction) -> Iterator[Narrated]:
        values: Values = {"node": one.node, "version": one.version}
        if one not in self.lagging:
            yield Narrated(actions.Use(one.node, one.version), Text("{node} comes to use v{version}", values))
        text = Text("{node} begins a transaction under v{version}", values)
        yield Narrated(actions.Begin(one.number, one.node, one.version), text)

    def _given(self, rows: Sequence[str | int]) -> Iterator[Narrated]:
        values = tuple((row, int(value) or None) for row, value in enumerate(rows, 1) if value != NO_ROW)
        if values:
            yield Narrated(actions.Given(values), Text("the first rows are inserted"))


def statement_sql(statement: Statement) -> str:
    what, row, value = statement
    shown = "NULL" if value == 0 else str(value)
    if what == INSERT:
        return f"INSERT INTO t (id) VALUES ({row})" if value == NO_VALUE else f"INSERT INTO t VALUES ({row}, {shown})"
    if what == UPDATE:
        return f"UPDATE t SET a = {shown} WHERE id = {row}"
    if what == MOVE:
        return f"UPDATE t SET id = {value} WHERE id = {row}"
    assert what == DELETE, statement
    return f"DELETE FROM t WHERE id = {row}"
