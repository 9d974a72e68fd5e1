"""SELECT of one row by its whole key, compiled for a plan: the way that asks PostgreSQL for pairs alone.

    parameters -> K(r) -> its storage -> one command -> pairs -> values as the client gets them

Values go from the bytes of their pair straight to those of the wire where both hold the same. A property test holds
each such way against the one over Python's values.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from catalog.elements import EXISTS, Column
from catalog.values.packed import LEFT_OUT
from expressions.limits import VALUE_BYTES_MAX
from expressions.sqltypes import BOOL, INT2, INT4, INT8, TEXT, VARCHAR, Type
from expressions.typed import Call, ColumnRef, Context, Expr, Literal, Parameter, PyValue, evaluate, is_simple
from nodes.context import Environment
from nodes.execution.pages import Table
from nodes.execution.row_codec import arrays_of
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import SelectPlan
from nodes.store.pipeline import Command, bytea_array
from nodes.store.transaction import Transaction
from nodes.wire.columns import BINARY_FORMAT, Writer, each
from nodes.wire.results import Result, Row
from storage import encoding
from storage.encoding import NULL, SIGN_64
from storage.page_sizes import longest_of
from storage.pairs import KEY_BYTES_MAX, missing_value
from storage.statements import get_sql

Compute = Callable[[Sequence[PyValue]], PyValue]
Straight = Callable[[bytes], bytes]


class PointRead:
    """A plan as far as no parameter decides. `fields` are those of its result."""

    __slots__ = ("_asked", "_formats", "_keys", "descriptor", "env", "fields", "plan", "table")

    def __init__(self, env: Environment, plan: SelectPlan, table: Table, keys: Sequence[Compute]) -> None:
        self.env, self.plan, self.table, self._keys = env, plan, table, keys
        self.descriptor = table.descriptor
        self.fields = plan.columns.fields
        _, self._asked = table.columns_asked(plan.scan.used)
        self._formats: dict[tuple[int, ...], tuple[tuple[bytes, int, bytes, Straight], ...]] = {}

    @classmethod
    def of(cls, env: Environment, plan: SelectPlan) -> "PointRead | None":
        """The plan compiled; None when it is about more than columns of one row whose storage its key says."""
        if not plan.is_local or plan.where is None:
            return None
        pinned = plan.scan.pinned_key
        if pinned is None or len(conjuncts(plan.where)) != len(pinned):
            return None
        table, keys = env.table(plan.scan.descriptor), [compiled(expr) for expr in pinned]
        known = [key for key in keys if key is not None]
        is_small = longest_of(table.columns_asked(plan.scan.used)[0]) > VALUE_BYTES_MAX
        if any(column.type in LEFT_OUT for column in table.descriptor.key_columns):
            return None  # the key is not all of such a value
        if arrays_of(plan.scan.used_columns):
            return None  # large ones are taken apart beside the event loop
        if len(known) < len(keys) or not (is_small and table.descriptor.is_home_in_key):
            return None
        return cls(env, plan, table, known)

    def key_of(self, parameters: Sequence[PyValue]) -> list[bytes] | None:
        """The encoded values of the key's columns; None for a key that no row has."""
        parts = []
        for column, compute in zip(self.table.descriptor.key_columns, self._keys, strict=True):
            value = compute(parameters)
            if value is None:
                return None
            parts.append(encoding.encode(column.type, value))
        return parts if sum(map(len, parts)) < KEY_BYTES_MAX else None

    def question(self, key: bytes) -> tuple[int, Command]:
        storage = self.table.home(key)[0]
        sql = get_sql(storage, self.table.descriptor.table_id)
        return storage, Command(sql, (bytea_array([self.table.k_of(key)]), self._asked))

    async def read(
        self, transaction: Transaction, key: Sequence[bytes] | None, formats: tuple[int, ...], *, commit: bool
    ) -> Result:
        """The row with this key, if there is one."""
        rows = list[Row]()
        if key is None:
            await transaction.run([], commit=commit)
        else:
            storage, command = self.question(b"".join(key))
            (result,) = await transaction.run([command], commit=commit, only=storage)
            rows = self.answer(key, result, formats)
        return Result("SELECT", self.fields, rows)

    def answer(self, key: Sequence[bytes], result: Any, formats: tuple[int, ...]) -> list[Row]:
        found: dict[bytes, bytes] = {}
        for place in range(result.ntuples):
            found[result.get_value(place, 0)[-2:]] = result.get_value(place, 1)
        if ROW_END not in found:
            return []
        targets = self._formats.get(formats)
        if targets is None:
            targets = self._formats[formats] = tuple(self._targets_in(formats))
        row: list[bytes | None] = []
        for end, place, missing, write in targets:
            data = found.get(end, missing) if place < 0 else key[place]
            row.append(None if data == NULL else write(data))
        return [row]

    def _targets_in(self, formats: tuple[int, ...]) -> Iterator[tuple[bytes, int, bytes, Straight]]:
        """For each column: the end of its pair's key, its place in the row's key or -1, what no pair means, the way."""
        if len(self._formats) > FORMATS_MAX:
            self._formats.clear()
        columns, descriptor = self.plan.columns, self.table.descriptor
        wanted = each(formats, len(columns.types))
        for target, of, form, write in zip(
            self.plan.targets, columns.types, wanted, columns.writers(formats), strict=True
        ):
            assert isinstance(target, ColumnRef)
            column = self.table.columns[target.column_id]  # type: ignore[index]
            place = descriptor.primary_key.index(column.id) if column.id in descriptor.primary_key else -1
            straight = (BINARY if form == BINARY_FORMAT else TEXTS).get(of)
            yield column.id.to_bytes(2), place, missing_value(column), straight or by_value(column, write)


FORMATS_MAX = 16
ROW_END = EXISTS.to_bytes(2)


def compiled(expr: Expr) -> Compute | None:
    """The expression as a function of the parameters; None for what `evaluate` alone can do."""
    match expr:
        case Parameter():
            place = expr.number - 1
            return lambda parameters: parameters[place]
        case Literal():
            constant = expr.value
            return lambda parameters: constant
        case Call(args=(only,), strict=True, compute=compute) if compute is not None:
            inner = compiled(only)
            return None if inner is None else _applied(compute, inner)
    return None


def all_computed(exprs: Sequence[Expr] | None) -> list[Callable[[Context], PyValue]] | None:
    """The expressions as functions; None when not all of them can be one that does nothing but to compute."""
    computes = [_computed(expr) for expr in exprs or ()]
    known = [compute for compute in computes if compute is not None]
    return known if exprs is not None and len(known) == len(exprs) else None


def _computed(expr: Expr) -> Callable[[Context], PyValue] | None:
    """The expression as a function. An array is left to the general way: a large one is made beside the event loop."""
    if expr.type.element is not None:
        return None
    of_parameters = compiled(expr)
    if of_parameters is not None:
        return lambda context: of_parameters(context.parameters)
    return partial(evaluate, expr, {}) if is_simple(expr) else None


def _applied(compute: Callable[..., PyValue], inner: Compute) -> Compute:
    def apply(parameters: Sequence[PyValue]) -> PyValue:
        value = inner(parameters)
        return None if value is None else compute(value)

    return apply


# -- from a pair's bytes to those of the wire; NULL is dealt with before -----------------------------------------------

_U64 = struct.Struct(">Q").unpack_from


def _without_ends(data: bytes) -> bytes:
    return data[1:-1]


def _whole_text(data: bytes) -> bytes:
    return b"%d" % (_U64(data, 1)[0] - SIGN_64)


def _without_sign(data: bytes) -> bytes:
    """A bigint as PostgreSQL sends it: in pairs its sign is flipped, so that negative ones sort first."""
    return bytes((data[1] ^ 0x80,)) + data[2:]


TEXTS: dict[Type, Straight] = {
    TEXT: _without_ends,
    VARCHAR: _without_ends,
    INT2: _whole_text,
    INT4: _whole_text,
    INT8: _whole_text,
    BOOL: lambda data: b"t" if data[1] else b"f",
}
BINARY: dict[Type, Straight] = {
    TEXT: _without_ends,
    VARCHAR: _without_ends,
    INT2: lambda data: data[7:],
    INT4: lambda data: data[5:],
    INT8: _without_sign,
    BOOL: lambda data: data[1:],
}


def by_value(column: Column, write: Writer) -> Callable[[bytes], Any]:
    return lambda data: write(encoding.decode(column.type, data)[0])
