"""A session that evaluates expressions and gives PostgreSQL's binary form of the values, which no setting shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg
from hypothesis import strategies as st
from psycopg.pq import Format

CLIENT_SETTINGS = {
    "DateStyle": ["ISO, MDY", "SQL, DMY", "SQL, MDY", "German, DMY", "Postgres, YMD"],
    "IntervalStyle": ["postgres", "postgres_verbose", "sql_standard", "iso_8601"],
    "TimeZone": ["UTC", "Asia/Tokyo", "America/St_Johns", "<+13:45>-13:45"],
    "bytea_output": ["hex", "escape"],
    "extra_float_digits": ["1", "0", "-15", "3"],
    "standard_conforming_strings": ["on", "off"],
}
settings = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CLIENT_SETTINGS.items()})


class Answer(NamedTuple):
    """A value in binary, and the type and modifier that a client is told."""

    data: bytes | None
    oid: int
    modifier: int


@dataclass(frozen=True, slots=True)
class Session:
    connection: psycopg.Connection[Any]

    def set(self, chosen: Mapping[str, str]) -> None:
        self.connection.execute("SET standard_conforming_strings = on")
        for name, value in chosen.items():
            self.connection.execute(f"SET {name} = '{value}'")

    def evaluate(self, expression: str, source: str = "", parameters: Sequence[Any] = ()) -> Answer:
        """The value of an expression over one row: `source` is a FROM clause, its parameters are numbered."""
        query = f"SELECT {expression} {source}".encode()
        result = self.connection.pgconn.exec_params(query, list(parameters), result_format=Format.BINARY)
        if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
            raise psycopg.errors.error_from_result(result)
        return Answer(result.get_value(0, 0), result.ftype(0), result.fmod(0))
