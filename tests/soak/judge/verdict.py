"""Checks what must hold when everything is healed: no change open, nothing lost, nothing left over, all answers alike.
The pair tables, decoded by `pairs`, are compared with the answers to clients, with each node's, and with the audit."""

import contextlib
import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.harness.cluster import RunningCluster
from tests.soak import kinds
from tests.soak.chronicle import Chronicle
from tests.soak.clients.batches import ARCHIVED
from tests.soak.clients.items import COLOURS, COLUMNS, ItemClient
from tests.soak.clients.ledger import Row
from tests.soak.clients.measures import COLUMNS as MEASURES
from tests.soak.clients.measures import NAMES, MeasureClient
from tests.soak.clients.owners import Owner
from tests.soak.clients.schema import OPEN, snapshot_of
from tests.soak.clients.transfers import TransferClient, faults_of_balances
from tests.soak.judge.pairs import Contents, contents_of

CHANGES_S_MAX = 180.0
LEFTOVERS_S_MAX = 60.0
AUDIT_S_MAX = 240.0
STATEMENT_MS_MAX = 60_000

TABLES = """
SELECT t.id, t.name, (SELECT d.body FROM catalog_descriptor d WHERE d.table_id = t.id ORDER BY d.version DESC LIMIT 1)
FROM catalog_table t WHERE t.state = 'live' ORDER BY t.name
"""
LEFT = """
SELECT c.oid::regclass::text FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text ~ '^storage_[0-9]+$' AND c.relname ~ '^kv_[0-9]+$'
  AND substr(c.relname, 4)::int NOT IN (SELECT id FROM catalog_table WHERE state <> 'dropped')
  AND substr(c.relname, 4)::int NOT IN (SELECT table_id FROM storage_spare)
ORDER BY 1
"""
ENDED = """
SELECT id, status, statement, coalesce(error ->> 'message', ''), coalesce(error ->> 'sqlstate', '')
FROM changes_change ORDER BY id
"""


@dataclass(slots=True)
class Verdict:
    """Findings of the end, besides the chronicle's violations."""

    changes: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    rows: int = 0
    entries: int = 0
    audits: int = 0


class Judge:
    """Looks at a healed cluster that nobody writes any more."""

    def __init__(self, cluster: RunningCluster, chronicle: Chronicle, folder: Path) -> None:
        self._cluster, self._chronicle, self._folder = cluster, chronicle, folder
        self.verdict = Verdict()

    def violation(self, what: str) -> None:
        self._chronicle.violation("verdict", what)

    # --- changes

    def wait_for_changes(self) -> None:
        """Every change ends; paused ones are resumed."""
        deadline = time.monotonic() + CHANGES_S_MAX
        while (left := self._rows(OPEN)) and time.monotonic() < deadline:
            for change_id, status, _ in left:
                if status == "paused":
                    self._cluster.manage("change", "resume", str(change_id))
            time.sleep(1)
        for change_id, status, statement in left:
            self.violation(f"change {change_id} is {status} after {CHANGES_S_MAX:g} s: {statement}")
            shown = json.dumps(snapshot_of(self._cluster, change_id), indent=2)
            (self._folder / f"change-{change_id}.json").write_text(shown)

    def judge_changes(self) -> None:
        """Failed ones had a reason in the rows; those that had to fail did not succeed."""
        for change_id, status, statement, message, sqlstate in self._rows(ENDED):
            kind = kinds.kind_of(statement)
            self.verdict.changes[f"{kind}: {status}"] += 1
            if status == "failed" and not (kinds.must_fail(statement) or sqlstate in kinds.REFUSALS):
                self.violation(f"change {change_id} failed without need ({sqlstate} {message}): {statement}")
            if status == "done" and kinds.must_fail(statement) and not self._was_needless(change_id):
                self.violation(f"change {change_id} is done, the rows forbid it: {statement}")

    def _was_needless(self, change_id: int) -> bool:
        query = "SELECT 1 FROM changes_step WHERE change_id = %s LIMIT 1"
        return not self._rows(query, change_id)

    # --- data

    def judge_data(
        self, items: Iterable[ItemClient], transfers: Iterable[TransferClient], measures: Iterable[MeasureClient]
    ) -> None:
        """Pairs, ledgers and nodes say the same."""
        contents = self.contents()
        for one in contents.values():
            self.verdict.pairs += one.pairs
            self.verdict.rows += len(one.rows)
            self.verdict.entries += one.entries
            for fault in one.faults:
                self.violation(f"pairs: {fault}")
        stored_items = image(contents, "items", ("label", "size", "colour"))
        stored_transfers = image(contents, "transfers", ("src", "dst", "amount"))
        stored_measures = image(contents, "measures", NAMES)
        stored_archive = image(contents, "archive", ARCHIVED)
        balances = {key: row[0] for key, row in image(contents, "accounts", ("balance",)).items()}
        self._judge_ranges(stored_items, items)
        self._judge_ranges(stored_transfers, transfers)
        self._judge_ranges({**stored_measures, **{-key: row for key, row in stored_archive.items()}}, measures)
        for fault in faults_of_balances(balances, stored_transfers.values()):
            self.violation(fault)
        for name in self._cluster.nodes:
            self._judge_node(name, stored_items, stored_transfers, stored_measures, stored_archive, balances)

    def contents(self) -> dict[str, Contents]:
        """Every live table by name, from its pairs, all at one moment."""
        found = {}
        with self._database() as database, database.transaction():
            database.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            layout = database.execute("SELECT storages, existing, buckets FROM storage_layout")
            storages, existing, buckets = layout.fetchall()[0]
            for table_id, name, body in database.execute(TABLES).fetchall():
                spread = max(one.get("storages") or storages for one in body["placements"])
                there = [number for number in range(1, existing + 1) if has_table(database, number, table_id)]
                if missing := sorted(set(range(1, spread + 1)) - set(there)):
                    self.violation(f"{name} is spread over {spread} storages, and has no pair table on {missing}")
                pairs = [
                    (storage, bytes(k), c, None if v is None else bytes(v))
                    for storage in there
                    for k, c, v in database.execute(f"SELECT k, c, v FROM storage_{storage}.kv_{table_id}")
                ]
                found[name] = contents_of(body, pairs, storages=storages, buckets=buckets, partial=kinds.PARTIAL)
                self._judge_references(body, found)
        return found

    def _judge_references(self, body: Mapping[str, Any], found: Mapping[str, Contents]) -> None:
        """Foreign keys of the storm refer to accounts by key; accounts come first by name."""
        names = {column["id"]: column["name"] for column in body["columns"]}
        for one in body["constraints"]:
            if one["rule"] != "foreign key" or "accounts" not in found:
                continue
            column = names[one["columns"][0]]
            lost = [
                row["id"] for row in found[body["name"]].rows.values() if (row[column],) not in found["accounts"].rows
            ]
            if lost:
                self.violation(f"{body['name']}.{column} of rows {lost[:5]} refers to nothing")

    def _judge_ranges(self, stored: Mapping[int, Row], owners: Iterable[Owner]) -> None:
        for one in owners:
            for fault in one.ledger.faults(
                {key: row for key, row in stored.items() if one.first <= abs(key) < one.limit}
            ):
                self.violation(f"stored: {fault}")

    def _judge_node(
        self,
        name: str,
        items: Mapping[int, Row],
        transfers: Mapping[int, Row],
        measures: Mapping[int, Row],
        archive: Mapping[int, Row],
        balances: Mapping[int, int],
    ) -> None:
        """One node's answers by scan, by index and by key."""
        try:
            with psycopg.connect(self._cluster.nodes[name].dsn, autocommit=True, connect_timeout=10) as node:
                node.execute(f"SET statement_timeout = {STATEMENT_MS_MAX}")
                answers: dict[str, tuple[object, object]] = {
                    "items": (by_key(node.execute(f"SELECT {COLUMNS} FROM items")), dict(items)),
                    "transfers": (by_key(node.execute("SELECT id, src, dst, amount FROM transfers")), dict(transfers)),
                    "measures": (by_key(node.execute(f"SELECT {MEASURES} FROM measures")), dict(measures)),
                    "archive": (by_key(node.execute("SELECT id, price, code FROM archive")), dict(archive)),
                    "accounts": (dict(node.execute("SELECT id, balance FROM accounts").fetchall()), dict(balances)),
                }
                for colour in COLOURS:
                    given = node.execute(f"SELECT {COLUMNS} FROM items WHERE colour = %s", (colour,))
                    answers[f"colour {colour}"] = (
                        by_key(given),
                        {k: row for k, row in items.items() if row[2] == colour},
                    )
                for key in list(items)[::50]:
                    given = node.execute(f"SELECT {COLUMNS} FROM items WHERE id = %s", (key,))
                    answers[f"item {key}"] = by_key(given), {key: items[key]}
        except psycopg.Error as error:
            return self.violation(f"{name} does not answer when everything is healed: {error}")
        for what, (given, stored) in answers.items():
            if given != stored:
                self.violation(f"{name} answers otherwise than the pairs say: {what}: {difference(given, stored)}")
        return None

    # --- what is left over

    def judge_audits(self) -> None:
        for _, name, _ in self._rows(TABLES):
            try:
                done = self._cluster.manage("audit", name, seconds_max=AUDIT_S_MAX)
            except subprocess.TimeoutExpired:
                self.violation(f"audit of {name} gave no answer within {AUDIT_S_MAX:g} s")
                continue
            self.verdict.audits += 1
            if done.returncode != 0:
                output = (done.stdout + done.stderr).strip()
                (self._folder / f"audit-{name}.txt").write_text(output)
                self.violation(f"audit of {name} ends with {done.returncode}: {output[:400]}")

    def judge_leftovers(self) -> None:
        """No pair table that belongs to nothing; those of dropped tables go within seconds."""
        wait_until(lambda: not self._rows(LEFT), LEFTOVERS_S_MAX)
        left = [row[0] for row in self._rows(LEFT)]
        if left:
            self.violation(f"{len(left)} pair tables belong to no table: {', '.join(left[:8])}")
        reserved = self._rows("SELECT id, name FROM catalog_table WHERE state = 'reserved'")
        if reserved:
            self.violation(f"{len(reserved)} names are reserved by nobody: {reserved[:8]}")

    def judge_storages(self) -> None:
        """A storage that an interrupted command has left is finished by the next one; each table is where it says."""
        existing, beyond = self._storages()
        if beyond:
            for action in ("add", "remove"):
                done = self._cluster.manage("storages", action, seconds_max=AUDIT_S_MAX)
                if done.returncode != 0:
                    self.violation(f"storages {action} after an interrupted one: {done.stdout}{done.stderr}"[:400])
        wait_until(lambda: self._storages() == (existing, []), LEFTOVERS_S_MAX)
        if self._storages() != (existing, []):
            self.violation(f"of {existing} storages there are left after {beyond}: {self._storages()}")

    def _storages(self) -> tuple[int, list[str]]:
        """The number of storages, and the schemas of those that do not count."""
        ((existing,),) = self._rows("SELECT existing FROM storage_layout")
        schemas = self._rows(r"SELECT nspname FROM pg_namespace WHERE nspname ~ '^storage_\d+$' ORDER BY 1")
        return existing, [name for (name,) in schemas if int(name.removeprefix("storage_")) > existing]

    # --- the store

    def _database(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(self._cluster.database_url, autocommit=True, connect_timeout=10)

    def _rows(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        with self._database() as database:
            return database.execute(query, params or None).fetchall()


def has_table(database: "psycopg.Connection[Any]", storage: int, table_id: int) -> bool:
    """True if a storage has the pair table of a table: one that was made in a transaction is on its own alone."""
    ((there,),) = database.execute(
        "SELECT to_regclass(%s) IS NOT NULL", [f"storage_{storage}.kv_{table_id}"]
    ).fetchall()
    return bool(there)


def image(contents: Mapping[str, Contents], table: str, columns: tuple[str, ...]) -> dict[int, Row]:
    """The rows of a stored table with one key column: these columns by key."""
    rows = contents[table].rows if table in contents else {}
    return {key[0]: tuple(row.get(column) for column in columns) for key, row in rows.items()}


def by_key(cursor: "psycopg.Cursor[Any]") -> dict[int, Row]:
    return {row[0]: tuple(row[1:]) for row in cursor.fetchall()}


def difference(given: object, stored: object) -> str:
    """The first few keys at which two answers differ."""
    if not isinstance(given, dict) or not isinstance(stored, dict):
        return f"{given} and {stored}"
    keys = [key for key in {**given, **stored} if given.get(key) != stored.get(key)]
    return "; ".join(f"{key}: {given.get(key)}, stored {stored.get(key)}" for key in keys[:4])


def wait_until(is_so: Callable[[], bool], seconds_max: float) -> None:
    deadline = time.monotonic() + seconds_max
    while time.monotonic() < deadline:
        with contextlib.suppress(psycopg.OperationalError):
            if is_so():
                return
        time.sleep(0.5)
