"""Rows of COPY FROM as values of their columns. An error says where: COPY t, line 3, column a: "abc"."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from catalog.elements import Column, ColumnId
from catalog.values.types import BadValue
from expressions.dates.zones import TimeStyle
from expressions.errors import (
    BAD_COPY_FORMAT,
    DATETIME_OUT_OF_RANGE,
    INVALID_BINARY,
    INVALID_TEXT,
    SqlError,
    unsupported,
)
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import Expr, PyValue, parse_value
from expressions.values.arithmetic import fit_of
from nodes.copy.fields import Field, fields_of
from nodes.copy.lines import Lines
from nodes.copy.options import Options
from nodes.copy.tuples import Tuples
from nodes.wire.parameters import BINARY

SHOWN_BYTES_MAX = 100
SKIPPED_SHOWN_MAX = 1000
"""Notices about rows that are left out: a client that sends many may not read meanwhile."""
Reader = Callable[[str], PyValue]
Values = dict[ColumnId, PyValue]


@dataclass(frozen=True, slots=True)
class CopyIn:
    """COPY .. FROM STDIN into these columns, of rows for which `where` is true.

    `forced_..` and `has_default` are places of columns.
    """

    table: str
    columns: tuple[Column, ...]
    options: Options
    forced_null: frozenset[int] = frozenset()
    forced_not_null: frozenset[int] = frozenset()
    has_default: frozenset[int] = frozenset()
    where: Expr | None = None


class Row(NamedTuple):
    """A row of the data: its values, the number of its line, and the line itself in text and CSV."""

    values: Values
    number: int
    line: str | None = None


@dataclass(eq=False)
class Incoming:
    """The rows of one COPY FROM, as its data comes in. `rejected` were left out, as ON_ERROR ignore says."""

    copy: CopyIn
    style: TimeStyle
    now: datetime
    notice: Callable[[str], None]
    rejected: int = 0
    _lines: Lines = field(init=False)
    _tuples: Tuples = field(init=False)
    _is_header_next: bool = field(init=False)

    def __post_init__(self) -> None:
        options = self.copy.options
        self._lines, self._tuples = Lines(options), Tuples(len(self.copy.columns))
        self._fields = fields_of(options, len(self.copy.columns))
        self._is_header_next = options.header
        self._ids = [column.id for column in self.copy.columns]
        self._readers = [self._text_reader(column) for column in self.copy.columns]
        self._binary = [self._binary_reader(column) for column in self.copy.columns] if options.is_binary else []

    @property
    def pending(self) -> int:
        return self._tuples.pending if self.copy.options.is_binary else self._lines.pending

    def rows(self, data: bytes) -> Iterator[Row | None]:
        """The rows that end in this piece of the data; None for each that is left out."""
        if self.copy.options.is_binary:
            yield from self._binary_rows(data)
        else:
            yield from self._text_rows(self._lines.feed(data))

    def end(self) -> Iterator[Row | None]:
        """The last row, when nothing ends its line."""
        if self.copy.options.is_binary:
            try:
                self._tuples.end()
            except SqlError as error:
                raise self._in_tuple(error) from None
            return
        yield from self._text_rows(self._lines.end())
        options = self.copy.options
        if self._is_header_next and options.matches_header:
            yield from self._text_rows(iter([""]))
        if self.rejected and not options.is_silent:
            words = "row was" if self.rejected == 1 else "rows were"
            self.notice(f"{self.rejected} {words} skipped due to data type incompatibility")

    def where(self, number: int, line: str | None = None) -> str:
        place = f"COPY {self.copy.table}, line {number}"
        return place if line is None else f'{place}: "{shortened(line)}"'

    # -- text and CSV

    def _text_rows(self, lines: Iterator[str]) -> Iterator[Row | None]:
        while True:
            try:
                line = next(lines, None)
            except SqlError as error:
                error.where = self.where(self._lines.number)
                raise
            if line is None:
                return
            number = self._lines.number
            try:
                if self._is_header_next:
                    self._is_header_next = False
                    self._check_header(line)
                    continue
                values = self._values(line, number)
            except SqlError as error:
                error.where = error.where or self.where(number, line)
                raise
            yield None if values is None else Row(values, number, line)

    def _check_header(self, line: str) -> None:
        if not self.copy.options.matches_header:
            return
        fields = fields_of(self.copy.options, line.count(self.copy.options.delimiter) + 1)(line)
        names = [column.name for column in self.copy.columns]
        if len(fields) != len(names):
            message = f"wrong number of fields in header line: got {len(fields)}, expected {len(names)}"
            raise SqlError(BAD_COPY_FORMAT, message)
        for place, (found, name) in enumerate(zip(fields, names, strict=True), 1):
            got = f'null value ("{self.copy.options.null}")' if found is None else f'"{found}"'
            if found != name:
                message = f'column name mismatch in header line field {place}: got {got}, expected "{name}"'
                raise SqlError(BAD_COPY_FORMAT, message)

    def _values(self, line: str, number: int) -> Values | None:
        """The values of a line; None for one that is left out."""
        fields, names = self._fields(line), self.copy.columns
        if len(fields) > len(names):
            raise SqlError(BAD_COPY_FORMAT, "extra data after last expected column")
        if self.copy.forced_null or self.copy.forced_not_null:
            self._force(fields)
        values: Values = {}
        place, text = 0, None
        try:
            for place, text in enumerate(fields):
                if text is None:
                    values[self._ids[place]] = None
                elif isinstance(text, str):
                    values[self._ids[place]] = self._readers[place](text)
                else:
                    self._refuse_no_default(place)
        except SqlError as error:
            if isinstance(text, str):
                column = names[place].name
                if self._leaves_out(column, text, number):
                    return None
                error.where = f'{self.where(number)}, column {column}: "{shortened(text)}"'
            raise
        if len(fields) < len(names):
            raise SqlError(BAD_COPY_FORMAT, f'missing data for column "{names[len(fields)].name}"')
        return values

    def _force(self, fields: list[Field]) -> None:
        null = self.copy.options.null
        for place, text in enumerate(fields):
            if text is None and place in self.copy.forced_not_null:
                fields[place] = null
            elif text == null and place in self.copy.forced_null:
                fields[place] = None

    def _refuse_no_default(self, place: int) -> None:
        if place not in self.copy.has_default:
            detail = f'Column "{self.copy.columns[place].name}" has no default value.'
            raise SqlError(BAD_COPY_FORMAT, "unexpected default marker in COPY data", detail=detail)

    def _leaves_out(self, column: str, text: str, number: int) -> bool:
        """True if ON_ERROR says that a row with a value that cannot be is left out. Raises 22P02 for too many."""
        options = self.copy.options
        if not options.ignores_errors:
            return False
        self.rejected += 1
        if options.is_verbose and self.rejected <= SKIPPED_SHOWN_MAX:
            what = f'at line {number} for column "{column}": "{shortened(text)}"'
            self.notice(f"skipping row due to data type incompatibility {what}")
        if options.rejected_max and self.rejected > options.rejected_max:
            message = f"skipped more than REJECT_LIMIT ({options.rejected_max}) rows due to data type incompatibility"
            where = f'{self.where(number)}, column {column}: "{shortened(text)}"'
            raise SqlError(INVALID_TEXT, message, where=where)
        return True

    def _text_reader(self, column: Column) -> Reader:
        of, style, now = OF_SQL_TYPE[column.type], self.style, self.now
        fit = fit_of(column.type, column.length)
        if fit is None:
            return lambda text: parse_value(of, text, -1, style, now)
        return lambda text: fit(parse_value(of, text, -1, style, now))

    # -- binary

    def _binary_rows(self, data: bytes) -> Iterator[Row]:
        rows = self._tuples.feed(data)
        while True:
            try:
                fields = next(rows, None)
            except SqlError as error:
                raise self._in_tuple(error) from None
            if fields is None:
                return
            yield Row(self._binary_values(fields), self._tuples.number)

    def _in_tuple(self, error: SqlError) -> SqlError:
        if self._tuples.number:
            place = self._tuples.column
            error.where = self.where(self._tuples.number)
            if place is not None:
                error.where += f", column {self.copy.columns[place].name}"
        return error

    def _binary_values(self, fields: Sequence[bytes | None]) -> Values:
        values: Values = {}
        for column_id, read, data, column in zip(self._ids, self._binary, fields, self.copy.columns, strict=True):
            try:
                values[column_id] = None if data is None else read(data)
            except SqlError as error:
                error.where = f"{self.where(self._tuples.number)}, column {column.name}"
                raise
        return values

    def _binary_reader(self, column: Column) -> Callable[[bytes], PyValue]:
        of = OF_SQL_TYPE[column.type]
        read = BINARY.get(of.oid)
        if read is None:
            raise unsupported(f'the binary format of column "{column.name}" ({of})', hint="use text or CSV")
        fit = fit_of(column.type, column.length)

        def value(data: bytes) -> PyValue:
            try:
                found = read(data)
                return found if fit is None else fit(found)
            except BadValue as bad:
                raise SqlError(bad.sqlstate, str(bad)) from None
            except OverflowError:
                raise SqlError(DATETIME_OUT_OF_RANGE, f"{of} out of range") from None
            except (struct.error, KeyError, ValueError):
                raise SqlError(INVALID_BINARY, "incorrect binary data format") from None

        return value


def shortened(text: str) -> str:
    """The beginning of a text, as much as a message shows."""
    data = text.encode()
    return text if len(data) <= SHOWN_BYTES_MAX else data[:SHOWN_BYTES_MAX].decode(errors="ignore") + "..."
