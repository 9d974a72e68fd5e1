"""Typed expressions: what the analyser makes of SQL text. `evaluate` computes one for one row when all its calls can be
computed here (`is_simple`); PostgreSQL computes the others."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from catalog import clock
from catalog.values import arrays, times
from catalog.values.errors import BadValue
from catalog.values.interval_styles import SQL_STANDARD, read_in
from catalog.values.interval_texts import read_interval
from catalog.values.intervals import Interval
from catalog.values.types import parse_text, to_text
from expressions.dates.reading import read
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import SqlError
from expressions.sqltypes import (
    BPCHAR,
    DATE,
    INTERVAL,
    MOMENTS,
    NAME,
    NO_MODIFIER,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    VARCHAR,
    Type,
)

PyValue = (
    bool | int | float | Decimal | str | bytes | dt.date | dt.datetime | dt.timedelta | Interval | uuid.UUID
    | tuple[Any, ...] | None
)  # fmt: skip
"""A value as Python has it. An array is a tuple of them."""


@dataclass(frozen=True, slots=True)
class Literal:
    value: PyValue
    type: Type
    offset: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    number: int
    type: Type
    offset: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of a relation of the query: `sql` is its name in a query, `column_id` its key for `evaluate`, `origin`
    the table's id and the column's number there, however deep it stands."""

    sql: str
    type: Type
    name: str
    relation: int = -1
    column_id: int = 0
    offset: int = field(default=-1, compare=False)
    origin: tuple[int, int] = field(default=(0, 0), compare=False)
    modifier: int = field(default=NO_MODIFIER, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator, function or cast. Without `compute` only PostgreSQL computes it; `strict`: NULL in, NULL out;
    `reads`: the arguments from this one on are constants that `compute` already knows."""

    name: str
    args: tuple["Expr", ...]
    type: Type
    compute: Callable[..., PyValue] | None = None
    strict: bool = True
    offset: int = field(default=-1, compare=False)
    reads: int | None = None
    modifier: int = field(default=NO_MODIFIER, compare=False)
    size: int = field(default=1, init=False, compare=False, repr=False)
    hashed: int = field(default=0, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + sum(size_of(arg) for arg in self.args))
        object.__setattr__(self, "hashed", hash((self.name, self.args, self.type)))

    def __hash__(self) -> int:
        """Computed once: a call may stand in many others."""
        return self.hashed


Expr = Literal | Parameter | ColumnRef | Call


def lazy_call(
    name: str, args: Sequence[Expr], of: Type, compute: Callable[..., PyValue], offset: int, reads: int | None = None
) -> Call:
    """A call that looks at its operands itself, also where one is NULL."""
    return Call(name, tuple(args), of, compute, strict=False, offset=offset, reads=reads)


class Session(Protocol):
    """The session that a statement belongs to, as far as its functions ask."""

    def __getitem__(self, name: str) -> str:
        """The session's user, database, version and the like."""

    def current_setting(self, name: str, *, missing_ok: bool) -> str | None: ...


class NoSession:
    """For what is computed for no session: nothing there may ask for one."""

    def __getitem__(self, name: str) -> str:
        raise LookupError(f"no session has a {name} here")

    def current_setting(self, name: str, *, missing_ok: bool) -> str | None:
        raise LookupError(f"no session has a setting {name} here")


@dataclass(frozen=True, slots=True)
class Context:
    """The values fixed for one statement: its parameters, the begin of its transaction, and the result `formats` of
    Bind (none, one for all columns, or one each)."""

    parameters: Sequence[PyValue] = ()
    now: dt.datetime = field(default_factory=clock.now)
    session: Session = field(default_factory=NoSession)
    style: TimeStyle = PLAIN
    formats: tuple[int, ...] = ()
    is_long: bool = False
    """The statement or its parameters are long: what is computed of them may take long, too."""


def size_of(expr: Expr) -> int:
    """The number of parts that the expression has written out: one that stands in two places counts twice."""
    return expr.size if isinstance(expr, Call) else 1


def walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    if isinstance(expr, Call):
        for arg in expr.args:
            yield from walk(arg)


def is_simple(expr: Expr) -> bool:
    """True if `evaluate` can compute it."""
    if isinstance(expr, Call):
        return expr.compute is not None and all(is_simple(arg) for arg in expr.args)
    return expr.type.sql_type is not None or expr.type in (UNKNOWN, NAME)


ONE_OF_THEM = frozenset({"case", "coalesce", "greatest", "least"})
"""Calls whose value is one of their arguments."""


def modifier_of(expr: Expr) -> int:
    """The modifier of an expression's type: a column's, or what a cast says; of a char(n), what its values have."""
    if isinstance(expr, Call) and expr.type in (BPCHAR, *MOMENTS) and expr.name in ONE_OF_THEM:
        return modifier_of_all((*expr.args[1::2], expr.args[-1]) if expr.name == "case" else expr.args)
    return expr.modifier if isinstance(expr, ColumnRef | Call) else NO_MODIFIER


def modifier_of_all(exprs: Sequence[Expr]) -> int:
    """The modifier that all of them have. A NULL has none, and where a char(n) stands beside it its blanks stay."""
    modifiers = {modifier_of(e) for e in exprs if not (e.type is BPCHAR and is_null(e))}
    return modifiers.pop() if len(modifiers) == 1 else NO_MODIFIER


def is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None


def bare(expr: Expr) -> Expr:
    """A varchar that is taken as text, without the cast that changes nothing."""
    if isinstance(expr, Call) and expr.name == "cast" and expr.type is TEXT and expr.args[0].type is VARCHAR:
        return expr.args[0]
    return expr


def is_constant(expr: Expr) -> bool:
    """True if it has one value for all rows of a statement, computable here."""
    return is_simple(expr) and not any(isinstance(e, ColumnRef) for e in walk(expr))


def evaluate(expr: Expr, row: Mapping[Any, PyValue], context: Context) -> PyValue:
    if isinstance(expr, ColumnRef):
        return row[expr.column_id]
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Parameter):
        return context.parameters[expr.number - 1]
    assert isinstance(expr, Call), expr
    assert expr.compute is not None, expr.name
    if not expr.strict:
        return expr.compute(context, *[lambda arg=arg: evaluate(arg, row, context) for arg in expr.args[: expr.reads]])
    values = []
    for arg in expr.args:  # all of them, before one is looked at: one may fail beside one that is NULL
        if isinstance(arg, ColumnRef):
            values.append(row[arg.column_id])
        else:
            values.append(arg.value if isinstance(arg, Literal) else evaluate(arg, row, context))
    if any(value is None for value in values):
        return None
    return expr.compute(*values)


def parse_value(
    of: Type, text: str, offset: int = -1, style: TimeStyle = PLAIN, now: dt.datetime | None = None
) -> PyValue:
    """The value of a literal or of a parameter's text. A date may have any of PostgreSQL's forms, and raises `NeedsNow`
    when it depends on the time and `now` is None. Raises PostgreSQL's code, with its place."""
    if of.oid in AS_THEY_ARE:
        return text
    if of is BPCHAR:
        return text.rstrip(" ")
    if of.element is not None:
        element = of.element
        words = words_of(text)
        array: Any = tuple(None if w is None else parse_value(element, w, offset, style, now) for w in words)
        return array  # type: ignore[no-any-return]
    if of.sql_type is None:
        return text
    try:
        if of.oid in DATED:
            return _read_date(of, text, style, now)
        if of is INTERVAL and style.intervals == SQL_STANDARD:
            return read_in(SQL_STANDARD, text, read_interval)
        return parse_text(of.sql_type, text)
    except BadValue as bad:
        raise SqlError(bad.sqlstate, str(bad), offset, detail=bad.detail) from None


def words_of(text: str) -> list[str | None]:
    """The elements of an array literal. Raises 22P02, and 54000 when there are too many of them."""
    try:
        return arrays.words_of(text)
    except BadValue as error:
        raise SqlError(error.sqlstate, str(error), detail=error.detail) from None


AS_THEY_ARE = frozenset(of.oid for of in (TEXT, VARCHAR, UNKNOWN, NAME))
DATED = frozenset(of.oid for of in (DATE, TIMESTAMP, TIMESTAMPTZ, TIME))
"""By oid: two types are compared field by field, and a value has no time for that."""


def _read_date(of: Type, text: str, style: TimeStyle, now: dt.datetime | None) -> PyValue:
    """Most texts have ISO's form, which is read much faster."""
    assert of.sql_type is not None
    if of is TIME:
        found = times.read(text)
        return read(of.sql_type, text, style, now) if found is None else found
    if style.is_utc or of is not TIMESTAMPTZ:
        try:
            return parse_text(of.sql_type, text)
        except BadValue:
            return read(of.sql_type, text, style, now)
    return read(of.sql_type, text, style, now)


def value_text(of: Type, value: PyValue) -> bytes | None:
    """A value as a client sees it."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if of.sql_type is None:
        return str(value).encode()
    return to_text(of.sql_type, value).encode()
