"""The storm: every actor beside each other for a while, then the end, in order.

clients, changers, operator, nemesis   until the time is over, or Ctrl-C
heal                                   thaw, start what is down, wait until all nodes answer
end                                    changes end, clients fall silent, tables made on the way are dropped
judge                                  pairs, ledgers, nodes, audits, leftovers
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.harness.cluster import RunningCluster
from tests.soak.chronicle import Chronicle
from tests.soak.clients.actors import Actor, Stage
from tests.soak.clients.batches import MADE as ARCHIVE_MADE
from tests.soak.clients.batches import BatchClient
from tests.soak.clients.items import MADE as ITEMS_MADE
from tests.soak.clients.items import ItemClient
from tests.soak.clients.made import TableMaker
from tests.soak.clients.measures import FIRST as FIRST_MEASURES
from tests.soak.clients.measures import MADE as MEASURES_MADE
from tests.soak.clients.measures import MeasureClient
from tests.soak.clients.readers import Reader
from tests.soak.clients.schema import Changer, Operator
from tests.soak.clients.sessions import Counts, Nodes
from tests.soak.clients.storages import StorageKeeper
from tests.soak.clients.transfers import MADE as TRANSFERS_MADE
from tests.soak.clients.transfers import TransferClient, first_accounts
from tests.soak.faults.nemesis import Nemesis
from tests.soak.faults.recovery import Recovery
from tests.soak.faults.sabotage import commit
from tests.soak.judge.samples import Sampler
from tests.soak.judge.verdict import Judge, Verdict
from tests.soak.kinds import EXTRAS, TABLES
from tests.soak.options import Options
from tests.soak.waits import Waits

ITEM_CLIENTS, TRANSFER_CLIENTS, MEASURE_CLIENTS, BATCH_CLIENTS, MAKERS, READERS = 4, 3, 2, 2, 1, 2
FIRST_ITEMS, ROWS_PER_INSERT = 2_000, 500
PROGRESS_S = 5.0
ACTOR_END_S_MAX = 360.0
"""Longer than the longest wait of any client: `Waits` has spoken by then."""


@dataclass(slots=True)
class Figures:
    """The result of a storm."""

    seed: int
    seconds: float = 0.0
    operations: Counter[str] = field(default_factory=Counter)
    sqlstates: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    reconnects: int = 0
    strikes: Counter[str] = field(default_factory=Counter)
    cells: Counter[str] = field(default_factory=Counter)
    store_crashes: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)
    doubts: int = 0
    doubts_that_took_effect: int = 0
    samples: int = 0
    samples_of_two_versions: int = 0
    longest_wait_s: float = 0.0
    longest_wait: str = ""
    recovery_s: dict[str, list[float]] = field(default_factory=dict)
    healed_s: float = 0.0
    violations: list[str] = field(default_factory=list)
    violation_count: int = 0


class Storm:
    """One run over a running cluster, which nobody else uses."""

    def __init__(self, cluster: RunningCluster, options: Options, folder: Path, say: Callable[[str], None]) -> None:
        self.cluster, self.options, self._folder, self._say = cluster, options, folder, say
        self.chronicle = Chronicle(folder)
        self.over = threading.Event()
        self._waits = Waits(self.chronicle)
        self._counts = Counts()
        self._recovery = Recovery(tuple(cluster.nodes))
        addresses = {name: node.dsn for name, node in cluster.nodes.items()}
        nodes = Nodes(addresses, self._recovery.served)
        self._stage = Stage(nodes, self.chronicle, self._waits, self._counts, options.seed, self.over)
        self._sampler = Sampler(self._stage, cluster.database_url)
        self._nemesis = Nemesis(self._stage, cluster, self._sampler, self._recovery, options.lease_s)
        self.items = [ItemClient(number, self._stage) for number in range(1, ITEM_CLIENTS + 1)]
        self.transfers = [TransferClient(number, self._stage) for number in range(1, TRANSFER_CLIENTS + 1)]
        self.measures = [MeasureClient(number, self._stage) for number in range(1, MEASURE_CLIENTS + 1)]
        batch_numbers = range(MEASURE_CLIENTS + 1, MEASURE_CLIENTS + BATCH_CLIENTS + 1)  # keys of the same table
        self.batches = [BatchClient(number, self._stage) for number in batch_numbers]
        self._makers = [TableMaker(number, self._stage) for number in range(1, MAKERS + 1)]
        self._readers = [Reader(number, self._stage) for number in range(1, READERS + 1)]
        self._changers = [Changer(table, self._stage, cluster) for table in TABLES]
        self._operator = Operator(self._stage, cluster)
        self._storages = StorageKeeper(self._stage, cluster)
        self._judge = Judge(cluster, self.chronicle, folder)

    @property
    def actors(self) -> list[Actor]:
        clients: list[Actor] = [*self.items, *self.transfers, *self.measures, *self.batches]
        clients += [*self._makers, *self._readers]
        return [*clients, *self._changers, self._operator, self._storages]

    def run(self) -> Figures:
        """Ctrl-C ends the storm early; the judge speaks all the same."""
        figures = Figures(self.options.seed)
        try:
            self._prepare()
            began = time.monotonic()
            self._rage()
            figures.seconds = time.monotonic() - began
            figures.healed_s = self._end()
            self._judge_all()
        finally:
            self.over.set()
            self._nemesis.thaw()
            self._sampler.close()
            self._waits.close()
            self._gather(figures)
        return figures

    def _prepare(self) -> None:
        """The tables with their first rows, and a table that nobody writes."""
        with psycopg.connect(next(iter(self.cluster.nodes.values())).dsn, autocommit=True) as node:
            for statement in (ITEMS_MADE, *TRANSFERS_MADE, MEASURES_MADE, FIRST_MEASURES, *ARCHIVE_MADE, EXTRAS):
                node.execute(statement)
            cursor = node.cursor()
            accounts = "INSERT INTO accounts VALUES (%s, %s, %s, %s)"
            cursor.executemany(accounts, first_accounts())
            for first in range(1, FIRST_ITEMS, ROWS_PER_INSERT):
                rows = (f"({n}, 'first {n}', {n % 100}, 'grey')" for n in range(first, first + ROWS_PER_INSERT))
                node.execute(f"INSERT INTO items (id, label, size, colour) VALUES {', '.join(rows)}")
            added = self.cluster.manage("storages", "add")
            assert added.returncode == 0, added.stderr
            node.execute("INSERT INTO transfers (id, src, dst, amount) VALUES (1, 1, 2, 7), (2, 2, 1, 7)")
            rows = (f"({n}, 'word {n}', {n})" for n in range(1000, 1200))
            node.execute(f"INSERT INTO extras VALUES {', '.join(rows)}")

    def _rage(self) -> None:
        self._sampler.start()
        for actor in self.actors:
            actor.thread.start()
        if not self.options.is_calm:
            self._nemesis.begin()
        end = time.monotonic() + 60 * self.options.minutes
        try:
            while (left_s := end - time.monotonic()) > 0:
                time.sleep(min(PROGRESS_S, left_s))
                self._say(self.progress())
        except KeyboardInterrupt:
            self._say("interrupted: healing and judging what was done so far; once more ends at once")

    def progress(self) -> str:
        outcomes = Counter[str]()
        for (_, outcome), count in self._counts.outcomes.items():
            outcomes[outcome] += count
        return (
            f"{self.chronicle.now_s:6.0f} s  {outcomes['done']:6} done  {outcomes['refused']:5} refused"
            f"  {outcomes['unknown']:4} unknown  {sum(self._sampler.steps.values()):4} steps of changes"
            f"  {sum(self._nemesis.counts.values()):4} strikes  {self._nemesis.store_crashes:3} crashes of PostgreSQL"
            f"  {self.chronicle.violation_count:3} violations"
        )

    def _end(self) -> float:
        """Everything healed, every change ended, every client silent."""
        self._say("healing ..")
        healed_s = self._nemesis.heal()
        self.over.set()
        for actor in self.actors:
            actor.thread.join(1)
        self._say("waiting for the last changes ..")
        self._judge.wait_for_changes()
        deadline = time.monotonic() + ACTOR_END_S_MAX
        for actor in self.actors:
            actor.thread.join(max(0.0, deadline - time.monotonic()))
            if actor.thread.is_alive():
                self.chronicle.violation(actor.name, "did not end")
        self._drop_made_tables()
        return healed_s

    def _drop_made_tables(self) -> None:
        with psycopg.connect(next(iter(self.cluster.nodes.values())).dsn, autocommit=True) as node:
            for name in [name for maker in self._makers for name in maker.left]:
                node.execute(f"DROP TABLE IF EXISTS {name}")

    def _judge_all(self) -> None:
        self._say("judging ..")
        self._judge.wait_for_changes()
        if self.options.sabotage:
            self.chronicle.note("sabotage", commit(self.options.sabotage, self.cluster, self.items))
        self._judge.judge_changes()
        self._judge.judge_data(self.items, self.transfers, [*self.measures, *self.batches])
        self._judge.judge_leftovers()
        self._judge.judge_storages()
        self._judge.judge_audits()

    def _gather(self, figures: Figures) -> None:
        for (kind, outcome), count in sorted(self._counts.outcomes.items()):
            figures.operations[f"{kind}: {outcome}"] = count
        figures.sqlstates = self._counts.sqlstates
        figures.retries, figures.reconnects = self._counts.retries, self._counts.reconnects
        figures.strikes, figures.cells = self._nemesis.counts, self._nemesis.cells
        figures.store_crashes = self._nemesis.store_crashes
        figures.requests, figures.steps = self._operator.counts + self._storages.counts, self._sampler.steps
        figures.verdict = self._judge.verdict
        owners = (*self.items, *self.transfers, *self.measures, *self.batches)
        doubts = [doubt for owner in owners for doubt in owner.ledger.doubts]
        figures.doubts = len(doubts)
        figures.doubts_that_took_effect = sum(doubt.is_settled for doubt in doubts)
        figures.samples, figures.samples_of_two_versions = self._sampler.samples, self._sampler.two_versions
        figures.longest_wait_s, figures.longest_wait = self._waits.longest_s, self._waits.longest
        figures.recovery_s = dict(self._recovery.seconds)
        figures.violations, figures.violation_count = self.chronicle.violations, self.chronicle.violation_count


def to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
