"""The parameters and columns of a SELECT, as PostgreSQL says what they are: its text is parsed there and never done,
over rows of NULLs in place of the tables. Key ranges are not in that text, so a parameter has the type that the user's
own words give it. Columns have their lengths, which the values of pairs have not."""

from collections.abc import Mapping, Sequence

from catalog.elements import Column
from catalog.text.sql_names import quoted
from expressions.typed import ColumnRef
from nodes.context import Environment
from nodes.sql.readable import InPlace
from nodes.sql.uses import Columns
from nodes.sql.writes.questions import Described
from nodes.store import reader, refusals
from nodes.store.pipeline import DescribeCommand, StoreConnectionLost, StoreError
from nodes.store.relay import fields_in
from nodes.store.transaction import Transaction
from nodes.wire import oids
from nodes.wire.messages import Field

MOMENT = "NULL::pg_catalog.timestamptz"


async def describe(
    env: Environment, transaction: Transaction | None, place: InPlace, oids: Sequence[int], style: Sequence[str]
) -> Described:
    """Ask the store, in the session of a transaction that has one, else in any. `oids`: declared types, 0 if open."""
    done = place.filled({use.scan.number: nulls_sql(use.columns) for use in place.uses}, MOMENT)
    command = DescribeCommand(done.text, oids=tuple(oids), offset_of=lambda position: place.offset(done, position))
    before = reader.before(style, scans=False)
    if transaction is not None and transaction.connection is not None:
        results = await transaction.run([before, command, *reader.after()])
    else:
        try:
            async with env.pool.session() as session:
                results = await session.run([before, command])
        except StoreConnectionLost as lost:
            raise refusals.why_ended((), lost) from lost
        except StoreError as error:
            raise refusals.users_error(error, command) from error
    parameters = tuple(results[1].param_type(number) for number in range(results[1].nparams))
    return Described(parameters, fields_in(results[1]))


def nulls_sql(columns: Mapping[str, Column]) -> str:
    return f"SELECT {', '.join(f'NULL::{column.type_name} AS {quoted(name)}' for name, column in columns.items())}"


def shown_fields(columns: Columns) -> tuple[Field, ...] | None:
    """The columns of a result that plainly show others: with the tables' names and numbers, and their lengths."""
    if columns is None:
        return None
    return tuple(
        Field(name, of.type.oid, of.type.typlen, *oids.place(*of.origin), of.modifier)
        if isinstance(of, ColumnRef)
        else Field("", 0)
        for name, of in columns
    )


def fields_of(columns: Sequence[Field], known: Sequence[Field] | None) -> tuple[Field, ...]:
    """The columns for the client. What is `known` of one says more of it: its length, and the table that it shows."""
    if known is None or len(known) != len(columns):
        return tuple(columns)
    return tuple(m if (m.name, m.oid) == (f.name, f.oid) else f for m, f in zip(known, columns, strict=True))
