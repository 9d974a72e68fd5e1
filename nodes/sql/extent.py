"""Limits of what one statement may name: to plan a statement takes time that grows with a high power of the number of
its relations and subqueries, and a short text may name much."""

from dataclasses import dataclass

from expressions.errors import PROGRAM_LIMIT, STATEMENT_TOO_COMPLEX, TOO_MANY_COLUMNS, SqlError

JOINED_MAX = 64
"""Relations in one FROM: orders of joining them are tried."""
RELATIONS_MAX = 400
"""In all FROMs of a statement."""
COLUMNS_MAX = 100_000
"""Of all relations that a statement names; one that it names twice counts twice."""
SUBQUERIES_MAX = 40
"""In expressions, and LATERAL ones: the time grows with the fifth power of their number."""
WITH_MAX = 200


@dataclass(slots=True)
class Extent:
    """Numbers of what one statement has named so far. Raises 54000, 54001 or 54011 for more than it may."""

    relations: int = 0
    columns: int = 0
    subqueries: int = 0
    with_queries: int = 0

    def relation(self, columns: int, offset: int) -> None:
        self.relations += 1
        if self.relations > RELATIONS_MAX:
            raise SqlError(PROGRAM_LIMIT, f"a statement may name at most {RELATIONS_MAX} tables and subqueries", offset)
        self.columns += columns
        if self.columns > COLUMNS_MAX:
            message = f"the tables and subqueries in FROM have more than {COLUMNS_MAX} columns"
            raise SqlError(TOO_MANY_COLUMNS, message, offset)

    def subquery(self, offset: int = -1) -> None:
        self.subqueries += 1
        if self.subqueries > SUBQUERIES_MAX:
            message = f"a statement may have at most {SUBQUERIES_MAX} subqueries in expressions or LATERAL"
            raise SqlError(STATEMENT_TOO_COMPLEX, message, offset, hint="join what they read, or ask in parts")

    def with_query(self, offset: int) -> None:
        self.with_queries += 1
        if self.with_queries > WITH_MAX:
            message = f"a statement may have at most {WITH_MAX} queries in WITH"
            raise SqlError(STATEMENT_TOO_COMPLEX, message, offset)
