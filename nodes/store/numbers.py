"""Numbers of identity columns, taken from sequences at the store in the transaction that puts them. As in PostgreSQL a
number is taken for good: one of a statement that fails, or whose node ends before COMMIT, is a gap."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from catalog.descriptor import Descriptor
from catalog.elements import Column
from catalog.values.types import limit_of
from expressions.errors import SEQUENCE_LIMIT, SqlError
from nodes.store.pipeline import Command, int4
from storage.sequences import make_sql, sequence_of, take_sql, taken

if TYPE_CHECKING:
    from nodes.store.transaction import Transaction


async def take_numbers(
    transaction: "Transaction", table: Descriptor, counts: Mapping[Column, int]
) -> dict[Column, tuple[int, ...]]:
    """So many numbers of each column, in one round trip. Raises 2200H when a column has no more."""
    sequences = {column: sequence_of(table.table_id, column) for column in counts}
    make = make_commands(table, counts) if table.table_id in transaction.own else []
    take = [Command(take_sql(sequences[column]), (int4(count),)) for column, count in counts.items()]
    try:
        results = await transaction.run([*make, *take])
    except SqlError as error:
        raise named_as_clients_do(error, table, counts) from error
    numbers = [taken(result.get_value(0, 0) or b"") for result in results[len(make) :]]
    for column, found in zip(counts, numbers, strict=True):
        require_room(table, column, found[-1])
        if transaction.by is not None and not column.is_hidden:
            transaction.by.numbers.note(sequences[column], found[-1])
    return dict(zip(counts, numbers, strict=True))


def require_room(table: Descriptor, column: Column, number: int) -> None:
    """Raises 2200H for a number that the column's type cannot hold: the sequence counts on."""
    greatest = limit_of(column.type, column.length) - 1
    if number > greatest:
        message = f'nextval: reached maximum value of sequence "{table.sequence_name(column)}" ({greatest})'
        raise SqlError(SEQUENCE_LIMIT, message)


def make_commands(table: Descriptor, columns: Iterable[Column]) -> list[Command]:
    """Makes the sequences of a table that the transaction, or its session, has made. A return to a savepoint undoes
    that, so each use begins with it."""
    return [Command(make_sql(sequence_of(table.table_id, column), column)) for column in columns]


def named_as_clients_do(error: SqlError, table: Descriptor, columns: Iterable[Column]) -> SqlError:
    """The error of a sequence that has no more numbers, with the name that clients know."""
    if error.sqlstate != SEQUENCE_LIMIT:
        return error
    message = error.message
    for column in columns:
        name = sequence_of(table.table_id, column).partition(".")[2]
        message = message.replace(f'"{name}"', f'"{table.sequence_name(column)}"')
    return SqlError(SEQUENCE_LIMIT, message)
