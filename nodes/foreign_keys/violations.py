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
        table, other, name = self.descriptor.name, self.other.name, self.constraint.name
        columns = [self.descriptor.column(column_id) for column_id in self.constraint.columns]
        texts = (
            (value_text(OF_SQL_TYPE[column.type], encoding.decode(column.type, value)[0]) or b"").decode()
            for column, value in zip(columns, self.values, strict=True)
        )
        key = f"Key ({', '.join(column.name for column in columns)})=({', '.join(texts)})"
        if self.demand.wants_row:
            message = f'insert or update on table "{table}" violates foreign key constraint "{name}"'
            detail = f'{key} is not present in table "{other}".'
        else:
            is_restricted = self.demand.how == RESTRICT
            violates = f'violates {"RESTRICT setting of " if is_restricted else ""}foreign key constraint "{name}"'
            message = f'update or delete on table "{table}" {violates} on table "{other}"'
            detail = f'{key} is {"" if is_restricted else "still "}referenced from table "{other}".'
        return SqlError(
            self.demand.sqlstate,
            message + moving_state(self.constraint.state),
            detail=detail,
            table=table if self.demand.wants_row else other,
            constraint=name,
        )
