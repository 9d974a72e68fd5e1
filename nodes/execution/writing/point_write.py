"""UPDATE and DELETE of one row by its key, INSERT of some, compiled for a plan: one command, nothing read first.

Compiled is what needs nothing but its rows' places, in a table at rest: an UPDATE or DELETE that reads nothing of the
row, an INSERT without unique index, whose entries lie elsewhere, and without foreign key. Whatever has no value, breaks
a rule, or is too long is left to `dml`, which says why. Tests hold the commands against `storage.mutations`.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from expressions.errors import SqlError
from expressions.limits import begin_anew
from expressions.sqltypes import TEXT
from expressions.typed import Context, Expr, Literal, PyValue, is_constant, is_simple
from nodes.context import Environment
from nodes.execution.fairness import Turns
from nodes.execution.point_read import ROW_END, all_computed
from nodes.execution.row_codec import refuse_long
from nodes.execution.writing.writer import ONE_BATCH_OPS, Ambiguous, Duplicate, checked_sql
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import DeletePlan, InsertPlan, Plan, UpdatePlan
from nodes.store.pipeline import Command, binary, bytea_array, int8
from nodes.store.refusals import Refused
from nodes.store.transaction import Transaction
from nodes.wire.results import Result
from storage import encoding
from storage.asking import asks
from storage.buckets import CUSTOM
from storage.mutations import Act
from storage.pairs import COLUMN, EMPTY, CannotDerive, StoredRow, index_entry, stored_key
from storage.reads import reads
from storage.statements import REFUSABLE, act_sql, columns_of, lookup, put_if_there_sql, remove_if_there_sql

Compute = Callable[[Context], PyValue]
Pair = tuple[bytes, bytes]
Row = tuple[int, bytes, list[bytes], list[bytes]]
"""Of a new row: its storage, the key of its existence, and the keys and values of its other pairs."""
NO_VALUE = Literal(None, TEXT)


class Question(NamedTuple):
    """The command of one execution, the storage that it is for (None: several), and the keys of its rows' existence."""

    command: Command
    storage: int | None
    existences: Sequence[bytes]


Ask = Callable[[Context], Question | None]
"""What to send for these parameters. None, or a `SqlError`, when only the general way knows."""


@dataclass(frozen=True, slots=True)
class PointWrite:
    """A plan as far as no parameter decides. `tag` is the answer to the client without the number of rows."""

    env: Environment
    descriptor: Descriptor
    tag: str
    ask: Ask
    fields: None = None

    @classmethod
    def of(cls, env: Environment, plan: Plan) -> "PointWrite | None":
        """The plan compiled; None when it is about more than the places of its rows."""
        match plan:
            case InsertPlan() if puts_given_rows(plan):
                tag, ask = "INSERT 0", insertion(env, plan)
            case UpdatePlan() if needs_no_row(plan):
                tag, ask = "UPDATE", update(env, plan)
            case DeletePlan() if needs_no_row(plan):
                tag, ask = "DELETE", removal(env, plan)
            case _:
                return None
        return None if ask is None else cls(env, plan.descriptor, tag, ask)

    async def perform(self, transaction: Transaction, context: Context, *, commit: bool = True) -> Result | None:
        """Does it. None when it is not to be done this way, and nothing was done. Raises 23505, `Ambiguous` where one
        of several rows was there, and what a transaction raises."""
        try:
            question = self.ask(context)
        except (SqlError, CannotDerive):
            return None
        if question is None:
            return None
        transaction.note_written()
        try:
            only = question.storage
            (result,) = await transaction.run([question.command], commit=commit, returns_xid=True, only=only)
        except Refused as refused:
            if len(question.existences) > 1:
                raise Ambiguous from refused
            raise Duplicate(self.descriptor, question.existences) from refused
        count = len(question.existences) if result.nfields == 1 else int(result.get_value(0, 1) == b"\x01")
        return Result(f"{self.tag} {count}", has_written=True)


def needs_no_row(plan: UpdatePlan | DeletePlan) -> bool:
    """True if the key and what is assigned say all there is to write."""
    descriptor = plan.descriptor
    if plan.returning is not None or not is_about_one_row(plan) or not is_key_alone(plan):
        return False
    if isinstance(plan, DeletePlan):
        return not descriptor.indexes
    is_alone = descriptor.fact(_columns_read).isdisjoint(plan.assignments)
    return is_alone and all(map(is_constant, plan.assignments.values()))


def is_about_one_row(plan: UpdatePlan | DeletePlan) -> bool:
    """True if one row is named by its key, in a table at rest, and no row of another table has a say in it."""
    is_by_key = plan.scan.pinned_key is not None and plan.where is not None and is_simple(plan.where)
    is_alone = not plan.is_joined and not enforced_by(plan)
    return is_by_key and is_alone and plan.descriptor.fact(is_at_rest)


def is_key_alone(plan: UpdatePlan | DeletePlan) -> bool:
    return plan.where is not None and len(conjuncts(plan.where)) == len(plan.descriptor.primary_key)


def is_at_rest(descriptor: Descriptor) -> bool:
    """True if every element is public, and nothing is filled or derived."""
    elements = (*descriptor.columns, *descriptor.indexes, *descriptor.constraints, *descriptor.placements)
    return (
        descriptor.state is State.PUBLIC
        and len(descriptor.placements) == 1
        and descriptor.is_home_in_key
        and all(element.state is State.PUBLIC for element in elements)
        and not any(c.filling or c.derived is not None for c in descriptor.columns)
    )


def _columns_read(descriptor: Descriptor) -> frozenset[ColumnId]:
    """The columns whose values something else of a row depends on: its place, its entries, its rules."""
    kept = {*descriptor.primary_key, *descriptor.sharding_key}
    others = (*descriptor.indexes, *(c for c in descriptor.constraints if c.rule != "not null"))
    return frozenset(kept).union(*map(reads, others))


def puts_given_rows(plan: InsertPlan) -> bool:
    """True if all that an INSERT writes is some rows whose values are given here, in one batch."""
    descriptor = plan.descriptor
    pairs = len(plan.rows) * (1 + len(descriptor.stored_columns) + len(descriptor.indexes))
    return (
        (len(plan.rows) == 1 or pairs <= ONE_BATCH_OPS)
        and plan.is_local
        and plan.source is None
        and plan.copy is None
        and plan.conflict is None
        and plan.returning is None
        and descriptor.fact(is_at_rest)
        and descriptor.placement.function != CUSTOM
        and not any(index.unique for index in descriptor.indexes)
        and not asks(descriptor)
        and not enforced_by(plan)
    )


def insertion(env: Environment, plan: InsertPlan) -> Ask | None:
    """For each row the pair of its existence, which must be new, those of its columns outside the key, its entries."""
    descriptor, rules, table = plan.descriptor, plan.rules, env.table(plan.descriptor)
    placement, key_starts_at = table.placement, len(table.start)
    indexes = sorted(descriptor.indexes, key=lambda index: index.id)
    ids, stored = [c.id for c in descriptor.columns], by_id(descriptor.stored_columns)
    found = [complete_row(plan, row) for row in plan.rows]
    rows = [computes for computes in found if computes is not None]
    if len(rows) < len(found):
        return None
    acts = [Act.CREATE, Act.PUT] if stored or indexes else [Act.CREATE]

    @functools.lru_cache(maxsize=64)
    def sql(storages: tuple[int, ...]) -> str:
        of = [(act, storage) for act in acts for storage in storages]
        texts = tuple(act_sql(act, storage, descriptor.table_id) for act, storage in of)
        return checked_sql(texts, tuple(act in REFUSABLE for act, _ in of))

    def row(computes: Sequence[Compute], context: Context) -> Row | None:
        values = {column_id: compute(context) for column_id, compute in zip(ids, computes, strict=True)}
        rules.refuse(values)
        refuse_long(descriptor, values)
        found = table.place([values[column_id] for column_id in descriptor.primary_key])
        if found is None:
            return None
        start, storage = found
        columns = {c.id: encoding.encode_value(c.type, values[c.id]) for c, _ in stored}
        keys, data = [start + end for _, end in stored], [*columns.values()]
        if indexes:
            whole = StoredRow(start[key_starts_at:], columns)
            entries = [entry for index in indexes if (entry := index_entry(descriptor, placement, index, whole))]
            keys += [key for key, _ in entries]
            data += [value for _, value in entries]
        return storage, start + ROW_END, keys, data

    def one(context: Context) -> Question | None:
        begin_anew()
        made = row(rows[0], context)
        if made is None:
            return None
        storage, existence, keys, data = made
        params = [*put_params([existence]), empties(1)]
        if len(acts) > 1:
            params += [*put_params(keys), bytea_array(data)]
        return Question(Command(sql((storage,)), (*params, int8(1))), storage, [existence])

    def some(context: Context) -> Question | None:
        new, puts, turns = defaultdict[int, list[bytes]](list), defaultdict[int, list[Pair]](list), Turns()
        for computes in rows:
            begin_anew()
            made = None if turns.are_due else row(computes, context)
            if made is None:
                return None
            storage, existence, keys, data = made
            new[storage].append(existence)
            puts[storage] += zip(keys, data, strict=True)
        existences = [key for keys in new.values() for key in keys]
        if len(set(existences)) < len(existences):
            return None  # a row beside itself
        storages, params = tuple(sorted(new)), list[bytes]()
        for storage in storages:
            params += [*put_params(sorted(new[storage])), empties(len(new[storage]))]
        for storage in storages if len(acts) > 1 else ():
            put = sorted(puts[storage])
            params += [*put_params([key for key, _ in put]), bytea_array([value for _, value in put])]
        params += [int8(len(new[storage])) for storage in storages]
        return Question(Command(sql(storages), tuple(params)), storages[0] if len(storages) == 1 else None, existences)

    return one if len(rows) == 1 else some


def complete_row(plan: InsertPlan, row: Sequence[Expr | None]) -> list[Compute] | None:
    """Find what computes each column of a row: what is given, else the default, else NULL."""
    given = dict(zip((c.id for c in plan.columns), row, strict=False))
    columns = plan.descriptor.columns
    if any(c.identity and given.get(c.id) is None for c in columns):
        return None  # its number is taken from the store
    return all_computed([given.get(c.id) or plan.defaults.get(c.id) or NO_VALUE for c in columns])


@functools.lru_cache(maxsize=ONE_BATCH_OPS)
def empties(count: int) -> bytes:
    return bytea_array([EMPTY] * count)


def put_params(keys: Sequence[bytes]) -> tuple[bytes, ...]:
    return binary(*columns_of(keys))


def update(env: Environment, plan: UpdatePlan) -> Ask | None:
    descriptor, table, key = plan.descriptor, env.table(plan.descriptor), all_computed(plan.scan.pinned_key)
    columns = by_id(descriptor.column(column_id) for column_id in plan.assignments)
    computes = all_computed([plan.assignments[column.id] for column, _ in columns])
    required = {column.id for column, _ in plan.rules.required}
    if key is None or computes is None:
        return None

    def ask(context: Context) -> Question | None:
        values = {column.id: compute(context) for (column, _), compute in zip(columns, computes, strict=True)}
        refuse_long(descriptor, values)
        found = table.place([compute(context) for compute in key])
        if found is None or any(value is None and column_id in required for column_id, value in values.items()):
            return None  # an error only if there is such a row
        start, storage = found
        puts = put_params([start + end for _, end in columns])
        data = bytea_array([encoding.encode_value(c.type, values[c.id]) for c, _ in columns])
        sql = put_if_there_sql(storage, descriptor.table_id)
        return Question(Command(sql, (stored_key(start + ROW_END)[0], *puts, data)), storage, [start + ROW_END])

    return ask


def removal(env: Environment, plan: DeletePlan) -> Ask | None:
    descriptor, table, key = plan.descriptor, env.table(plan.descriptor), all_computed(plan.scan.pinned_key)
    ends = [ROW_END, *(end for _, end in by_id(descriptor.stored_columns))]
    if key is None:
        return None

    def ask(context: Context) -> Question | None:
        found = table.place([compute(context) for compute in key])
        if found is None:
            return None
        start, storage = found
        sql = remove_if_there_sql(storage, descriptor.table_id)
        params = binary(stored_key(start + ROW_END)[0], *lookup([start + end for end in ends]))
        return Question(Command(sql, params), storage, [start + ROW_END])

    return ask


# -- what they are made of ---------------------------------------------------------------------------------------------


def by_id(columns: Iterable[Column]) -> list[tuple[Column, bytes]]:
    """Columns in the order of their pairs, each with the end of its pair's key."""
    return [(column, COLUMN.pack(column.id)) for column in sorted(columns, key=lambda column: column.id)]
