"""A check of a foreign key, and how its violation is reported: in PostgreSQL's words, by 23503, and 23001 for RESTRICT.
A foreign key on its way in or out is enforced all the same, and its refusal says so."""

from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import RESTRICT, Constraint
from expressions.errors import SqlError
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import value_text
from nodes.sql.writes.row_rules import moving_state
from storage import encoding
from storage.integrity.references import Demand, Values


@dataclass(frozen=True, slots=True)
class Check:
    """A demand of a foreign key, with its two tables: the statement's own, and the one that is looked at."""

    demand: Demand
    descriptor: Descriptor
    other: Descriptor

    @property
    def constraint(self) -> Constraint:
        return self.demand.constraint

    @property
    def values(self) -> Values:
        return self.demand.values

    @property
    def order(self) -> tuple[int, bool, int]:
        return self.demand.order

    def refusal(self) -> SqlError:
        return _dangling(self) if self.demand.wants_row else _still_referred_to(self)


def _dangling(check: Check) -> SqlError:
    table, constraint = check.descriptor.name, check.constraint
    message = f'insert or update on table "{table}" violates foreign key constraint "{constraint.name}"'
    return SqlError(
        check.demand.sqlstate,
        message + moving_state(constraint.state),
        detail=f'Key {_key_words(check)} is not present in table "{check.other.name}".',
        table=table,
        constraint=constraint.name,
    )


def _still_referred_to(check: Check) -> SqlError:
    name, child, is_restricted = check.constraint.name, check.other.name, check.demand.how == RESTRICT
    violates = f'violates {"RESTRICT setting of " if is_restricted else ""}foreign key constraint "{name}"'
    message = f'update or delete on table "{check.descriptor.name}" {violates} on table "{child}"'
    still = "" if is_restricted else "still "
    return SqlError(
        check.demand.sqlstate,
        message + moving_state(check.constraint.state),
        detail=f'Key {_key_words(check)} is {still}referenced from table "{child}".',
        table=child,
        constraint=name,
    )


def _key_words(check: Check) -> str:
    columns = [check.descriptor.column(column_id) for column_id in check.constraint.columns]
    texts = (
        (value_text(OF_SQL_TYPE[column.type], encoding.decode(column.type, value)[0]) or b"").decode()
        for column, value in zip(columns, check.values, strict=True)
    )
    return f"({', '.join(column.name for column in columns)})=({', '.join(texts)})"
