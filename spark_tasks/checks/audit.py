"""An audit: the seven clauses over all pairs of a table, in one exported snapshot, beside all traffic. While the
version before may be read, its public elements must be complete, too."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg

from catalog.descriptor import Descriptor, from_json
from catalog.elements import Index, IndexId, Kind, State
from catalog.text.numbers import counted
from spark_tasks.checks.foreign_key_checks import newest_versions, references_of
from spark_tasks.checks.orphan_checks import stranger, tombstone_words, tombstones
from spark_tasks.checks.range_check import Judge
from spark_tasks.chunks.snapshot_reads import exported, ranges_of, snapshot
from spark_tasks.reorganise.tombstones import key_space
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import NAMED_MAX, Finding, gather
from spark_tasks.runs.requirements import relied_on
from spark_tasks.spark.session import spread
from storage.integrity.clauses import Violation, label
from storage.pairs import PREFIX, StrayKey, after, name_of, placement_prefix
from storage.postgres import kv, session_options, storages_there
from storage.statements import WITHIN, bounds, key_sql

Connection = psycopg.Connection[Any]
END_OF_KEYS = b"\xff"


class NothingToAudit(Exception):
    """The table has no published version."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an audit: the judged versions, and for each kind the first of its violations."""

    table: str
    versions: list[int]
    rows: int
    pairs: int
    snapshot_s: float
    violations: list[dict[str, Any]] = field(default_factory=list)
    violations_total: int = 0

    @property
    def is_consistent(self) -> bool:
        return not self.violations_total


def audit_table(dsn: str, table_id: int, *, storages: int, buckets: int) -> Report:
    """Judges all pairs of a table. Raises `NothingToAudit`."""
    with (
        psycopg.connect(dsn, autocommit=True, **session_options("schemalab audit")) as connection,
        snapshot(connection),
    ):
        began = time.monotonic()
        name = exported(connection)
        newest, before = visible_versions(connection, table_id)
        demands = relied_on([newest] if before is None else [newest, before])
        referenced = newest_versions(connection, demands.tables_read)
        judge = Judge(
            dsn,
            name,
            newest,
            storages,
            buckets,
            demands=demands,
            references=references_of(newest, demands.foreign_keys, referenced, storages=storages, buckets=buckets),
            unfinished=unfinished_elements(connection, table_id),
            existing=storages_there(connection.cursor()),
        )
        found = _rows(connection, judge)
        _beside_rows(connection, judge, found)
        held = time.monotonic() - began
    versions = [newest.version] if before is None else [before.version, newest.version]
    pairs = found.pairs + sum(found.matched.values())
    ordered = sorted(found.violations, key=lambda v: (v["clause"], v["storage"], v["key"]))
    return Report(newest.name, versions, found.rows, pairs, round(held, 3), ordered, sum(found.counts.values()))


def visible_versions(connection: Connection, table_id: int) -> tuple[Descriptor, Descriptor | None]:
    """The newest version in the snapshot, and the one before while a live lease on it is visible."""
    rows = connection.execute(
        "SELECT d.body, EXISTS (SELECT FROM leases_lease l WHERE l.table_id = d.table_id AND l.version = d.version"
        " AND l.expires_at > clock_timestamp()) FROM catalog_descriptor d WHERE d.table_id = %s"
        " ORDER BY d.version DESC LIMIT 2",
        (table_id,),
    ).fetchall()
    if not rows:
        raise NothingToAudit(f"table {table_id} has no published version")
    before = from_json(rows[1][0]) if len(rows) == 2 and rows[1][1] else None
    return from_json(rows[0][0]), before


def unfinished_elements(connection: Connection, table_id: int) -> frozenset[str]:
    """Elements not purged yet in this snapshot: tombstones of theirs are allowed (C7)."""
    rows = connection.execute(
        "SELECT element ->> 'kind', element ->> 'id' FROM spark_tasks_reorgrun fill,"
        " jsonb_array_elements(fill.elements) AS element WHERE fill.table_id = %s AND fill.kind = 'fill'"
        " AND NOT EXISTS (SELECT FROM spark_tasks_reorgrun over WHERE over.change_id = fill.change_id"
        " AND over.kind IN ('purge', 'delete') AND over.state = 'done')",
        (table_id,),
    ).fetchall()
    return frozenset(label(Kind(kind), number) for kind, number in rows)


def _rows(connection: Connection, judge: Judge) -> Finding:
    if judge.descriptor.state is State.ABSENT:
        return Finding()
    count = len(judge.numbers)
    key_ranges = ranges_of(connection, judge.descriptor.table_id, key_space(judge.descriptor), count)
    return gather(spread(judge, key_ranges, pool=f"audit-{judge.descriptor.table_id}"))


def _beside_rows(connection: Connection, judge: Judge, found: Finding) -> None:
    """Entries of no row (C5), their tombstones (C7), and keys of no element (C3, C7)."""
    for index in judge.indexes if judge.descriptor.state is not State.ABSENT else ():
        judge.entry_judge(index).beside(connection, found)
        if not judge.may_have_tombstones(index):
            for violation in _tombstones_of(connection, judge, index):
                found.note(violation.clause, f"index {index.name}", 1, [violation])
    for placement in judge.placements if judge.descriptor.state is not State.ABSENT else ():
        judge.placement_judge(placement).beside(connection, found)
    for key_range in unaccounted(judge):
        total, keys = _first_keys(connection, judge.descriptor.table_id, key_range)
        strangers = [stranger(judge.descriptor, key_range.storage, key) for key in keys]
        for one in strangers:
            found.note(one.clause, "no element", 1, [one])
        if strangers:
            found.note(strangers[-1].clause, "no element", total - len(strangers), [])


def _first_keys(connection: Connection, table_id: int, key_range: KeyRange) -> tuple[int, list[bytes]]:
    sql = f"SELECT {key_sql(table_id)}, count(*) OVER () FROM {kv(key_range.storage, table_id)} WHERE {WITHIN}"
    cursor = connection.cursor(binary=True).execute(
        f"{sql} ORDER BY k, c LIMIT %b", (*bounds(key_range.low, key_range.high), NAMED_MAX)
    )
    found = cursor.fetchall()
    return (found[0][1] if found else 0), [key for key, _ in found]


def _tombstones_of(connection: Connection, judge: Judge, index: Index) -> Iterator[Violation]:
    space = key_space(judge.descriptor, index.id)
    for storage in judge.numbers:
        for key in tombstones(connection, judge.descriptor, KeyRange(storage, space.low, space.high, 0)):
            try:
                name_of(judge.descriptor, key)
            except StrayKey:
                yield stranger(judge.descriptor, storage, key)
                continue
            yield Violation("C7", storage, key, tombstone_words(f"index {index.name}"))


def unaccounted(judge: Judge) -> Iterator[KeyRange]:
    """The key ranges between those of the schema's elements."""
    descriptor = judge.descriptor
    spaces = [] if descriptor.state is State.ABSENT else [key_space(descriptor, IndexId(0))]
    spaces += [key_space(descriptor, index.id) for index in judge.indexes if spaces]
    bounds = [(space.low, space.high) for space in spaces]
    copies = [placement_prefix(descriptor, placement.id) for placement in judge.placements if spaces]
    bounds = sorted([*bounds, *((low, after(low)) for low in copies)])
    for storage in judge.numbers:
        low = b""
        for begin, end in bounds:
            yield KeyRange(storage, low, begin, 0)
            low = end
        yield KeyRange(storage, low, END_OF_KEYS * (PREFIX.size + 1), 0)


def first_words(report: Report) -> str:
    judged = f"{report.table} at version {' and '.join(map(str, report.versions))}"
    counts = f"{counted(report.rows, 'row')}, {counted(report.pairs, 'pair')}"
    size = f"{counts}, one snapshot held for {report.snapshot_s} s"
    if report.is_consistent:
        return f"consistent: {judged}; {size}"
    lines = [f"  {v['clause']} storage_{v['storage']} {v['key']}: {v['why']}" for v in report.violations]
    return "\n".join([f"NOT consistent: {judged}; {size}; {_count_words(report)}:", *lines])


def _count_words(report: Report) -> str:
    named, total = len(report.violations), report.violations_total
    if named < total:
        return f"{total:,} violations, {named} of them"
    return "1 violation" if total == 1 else f"{total:,} violations"
