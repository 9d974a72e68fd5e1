"""INSERT .. ON CONFLICT: which new rows meet an old one, and what becomes of those. An updated old row keeps the pairs
of columns that this version may not name, or moves them when its key changes."""

import functools
from collections.abc import Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Index
from catalog.states import Write, rule
from expressions.errors import CARDINALITY_VIOLATION, SqlError
from expressions.typed import PyValue, evaluate
from nodes.execution.fairness import are_long, in_thread
from nodes.execution.held_rows import bytes_of
from nodes.execution.row_codec import decoded, is_long
from nodes.execution.scans import read_points
from nodes.execution.writing.computing import fitting
from nodes.execution.writing.target_rows import made_values
from nodes.execution.writing.write_context import Values, Writing
from nodes.sql.plans import Conflict, InsertPlan
from nodes.store.pipeline import Command, binary
from storage.buckets import storage_of
from storage.derived import with_derived
from storage.mutations import entry_bucket
from storage.pairs import CannotDerive, StoredRow, entry_now, has_null
from storage.statements import get_sql, lookup


async def insert_or(work: Writing, plan: InsertPlan, conflict: Conflict, rows: Sequence[Values]) -> list[Values]:
    new: list[StoredRow] = []
    for values in rows:
        encoded = functools.partial(work.encoded, values)
        new.append(await in_thread(encoded) if are_long(values.values()) else encoded())
        await work.turns.give()
    new = [row._replace(answers=work.answering.answers) for row in new]
    whole = [_whole(work.descriptor, row) for row in new]
    written: list[Values | None] = []
    meeting: dict[int, tuple[StoredRow, Values, Values]] = {}
    seen: set[bytes] = set()
    for values, row, judged, old in zip(rows, new, whole, await _conflicts(work, conflict, whole), strict=True):
        await work.turns.give()
        keys = (_unique_key(work.descriptor, index, judged) for index in _counted(work.descriptor, conflict))
        marks = {key for key in keys if key is not None}
        if conflict.is_primary or conflict.index is None:
            marks.add(b"key" + judged.key)
        if old is None and seen.isdisjoint(marks):
            seen |= marks
            if is_long(row):
                await in_thread(functools.partial(work.insert, row))
            else:
                work.insert(row)
            written.append(values)
        elif conflict.assignments is None:
            continue
        elif old is None or not seen.isdisjoint(marks):
            raise second_time()
        else:
            read = functools.partial(decoded, work.descriptor, old, plan.rules.reads)
            before = await in_thread(read) if is_long(old) else read()
            meeting[len(written)] = old, before, values
            written.append(None)
    await _update_conflicting(work, plan, conflict, meeting, written)
    return [row for row in written if row is not None]


def second_time() -> SqlError:
    message = "ON CONFLICT DO UPDATE command cannot affect row a second time"
    hint = "ensure that no rows proposed for insertion have duplicate constrained values"
    return SqlError(CARDINALITY_VIOLATION, message, hint=hint)


def _whole(descriptor: Descriptor, row: StoredRow) -> StoredRow:
    """The row with its derived values; as it is where it has none: who puts it is told."""
    try:
        return with_derived(descriptor, row)
    except CannotDerive:
        return row


def _unique_key(descriptor: Descriptor, index: Index, row: StoredRow) -> bytes | None:
    """The key that must be there only once; None for a row that cannot collide: a value is NULL, or it is left out."""
    entry = entry_now(descriptor, descriptor.placement, index, row)
    return None if entry is None or has_null(descriptor, index, row) else entry[0]


def _counted(descriptor: Descriptor, conflict: Conflict) -> list[Index]:
    """The indexes that decide: the one that is named, or all that a new row must be unique in, public or not yet."""
    if conflict.index is not None:
        return [conflict.index]
    enforced = (i for i in descriptor.indexes if i.unique and rule(i.kind, i.state).insert is Write.PUT)
    return [] if conflict.is_primary else list(enforced)


async def _conflicts(work: Writing, conflict: Conflict, new: Sequence[StoredRow]) -> list[StoredRow | None]:
    """For each new row the existing row it conflicts with; only its key where that is left alone."""
    holders: list[bytes | None] = [None] * len(new)
    if conflict.is_primary or conflict.index is None:
        keys = [r.key for r in new]
        there = {r.key for r in await read_points(work.transaction, work.table, keys, (), held=work.held)}
        holders = [r.key if r.key in there else None for r in new]
    for index in _counted(work.descriptor, conflict):
        entries = await _holders(work, index, new)
        holders = [h or entries.get(i) for i, h in enumerate(holders)]
    if conflict.assignments is None:
        return [StoredRow(h) if h else None for h in holders]
    held_keys = sorted({h for h in holders if h})
    olds = {r.key: r for r in await read_points(work.transaction, work.table, held_keys, held=work.held)}
    return [olds.get(h) if h else None for h in holders]


async def _holders(work: Writing, index: Index, new: Sequence[StoredRow]) -> dict[int, bytes]:
    descriptor, placement = work.descriptor, work.descriptor.placement
    wanted: dict[int, dict[bytes, list[int]]] = {}
    for place, row in enumerate(new):
        await work.turns.give()
        key = _unique_key(descriptor, index, row)
        if key is not None:
            bucket = entry_bucket(descriptor, placement, index, row, work.env.buckets)
            storage = storage_of(bucket, placement.storage_count(work.env.storages), work.env.buckets)
            wanted.setdefault(storage, {}).setdefault(key, []).append(place)
    commands = [
        Command(get_sql(storage, descriptor.table_id), binary(*lookup(keys))) for storage, keys in wanted.items()
    ]
    found: dict[int, bytes] = {}
    results = await work.transaction.run(commands) if commands else []
    for keys, result in zip(wanted.values(), results, strict=True):
        for number in range(result.ntuples):
            for place in keys[result.get_value(number, 0) or b""]:
                found[place] = result.get_value(number, 1) or b""
    return found


async def _update_conflicting(
    work: Writing,
    plan: InsertPlan,
    conflict: Conflict,
    meeting: Mapping[int, tuple[StoredRow, Values, Values]],
    written: list[Values | None],
) -> None:
    if not meeting:
        return
    assert conflict.assignments is not None
    proposed = work.descriptor.public_columns
    rows = [before | {ColumnId(-c.id): new[c.id] for c in proposed} for _, before, new in meeting.values()]
    answers = await _changes(work, conflict, rows)
    columns, fitted = tuple(conflict.assignments), fitting([work.descriptor.column(c) for c in conflict.assignments])
    changes: dict[int, tuple[StoredRow, Values, Values]] = {}
    changed: set[bytes] = set()
    for (place, (old, before, _)), answer in zip(meeting.items(), answers, strict=True):
        if old.key in changed:
            raise second_time()
        if answer[0] is True:
            changed.add(old.key)
            end = 1 + len(columns)
            text = work.texts.conflicting
            computed = fitted(answer[1:end])
            if text is not None:
                computed = fitted(await made_values(work, text, before, computed, answer[end:]))
            assigned = dict(zip(columns, computed, strict=True))
            changes[place] = old, assigned, before | assigned
    await work.foresee(changes=changes.values())
    for place, (old, assigned, after) in changes.items():
        await work.change(plan.rules, old, assigned, after)
        written[place] = after


async def _changes(work: Writing, conflict: Conflict, rows: Sequence[Values]) -> list[list[PyValue]]:
    assert conflict.assignments is not None
    text, answers = work.texts.conflicting, list[list[PyValue]]()
    if text is None:
        exprs = conflict.assignments.values()
        return [[True, *(evaluate(expr, both, work.context) for expr in exprs)] for both in rows]
    async for some in work.asks.of_rows(work.transaction, work.context, text, rows):
        answers += some
        work.held.take(sum(map(bytes_of, some)))
    return answers
