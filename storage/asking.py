"""Questions to PostgreSQL about rows, and their answers. One statement asks for many rows:

    SELECT bytes of value                                    as of `storage.encoding.encode_value`
    FROM (SELECT jsonb_exists("#4", 'a') AS value            the kept text
          FROM (SELECT .. AS "#4" FROM unnest($1)))          columns by id, from encoded values

It reads no table and is immutable: any session may run it, as the reader role, under `storage.postgres.USERS_SETTINGS`.
Column values have no length, so a char has no trailing blanks. A row without a value fails the statement: halving
(`parts`) finds it, and its error is its answer.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, Column, Index, State
from catalog.states import Write, rule
from catalog.values.numerics import TOO_MANY_DIGITS
from catalog.values.types import SqlType
from expressions.errors import DATETIME_OUT_OF_RANGE, PROGRAM_LIMIT, SqlError
from expressions.limits import TOO_LONG, VALUE_BYTES_MAX
from expressions.rows import MARK, columns_of, is_local
from expressions.typed import PyValue
from storage import encoding
from storage.answers import Answers, Question
from storage.derived import derived_columns, with_derived
from storage.pairs import CannotDerive, StoredRow, question
from storage.sql_values import decode_sql, encode_value_sql
from storage.sql_values.syntax import call, typed

Expressions = tuple[tuple[str, SqlType], ...]
"""Texts as a descriptor keeps them, and the types of their values."""
Ask = Callable[[str, list[list[bytes]]], Sequence[bytes | None]]
"""Runs the statement of `question_sql` with its arrays of bytes; raises `SqlError` when a row has no value."""


DATA_BYTES_MAX = 2 * VALUE_BYTES_MAX
"""Bytes of a value as pairs have it, which may take twice its own."""
HAVE_LENGTHS = frozenset({SqlType.TEXT, SqlType.VARCHAR, SqlType.CHAR, SqlType.BYTEA})
OF_ANY_LENGTH = HAVE_LENGTHS | {SqlType.JSON, SqlType.JSONB}


def question_sql(descriptor: Descriptor, text: str, returns: SqlType) -> str:
    """The statement that computes an expression of type `returns` for many rows. $1, $2, .. are arrays of encoded
    values of `columns_of(text)`; it answers with each value's bytes in order, NULL for a value that no column can
    have."""
    columns = [replace(descriptor.column(column_id), length=None) for column_id in sorted(columns_of(text))]
    names = [f"v{column.id}" for column in columns]
    decoded = [
        f'{decode_sql(column, f"given.{name}")} AS "{MARK}{column.id}"'
        for column, name in zip(columns, names, strict=True)
    ]
    arrays = ", ".join(call("unnest", f"${number}::pg_catalog.bytea[]") for number in range(1, len(columns) + 1))
    given = f"ROWS FROM ({arrays}) WITH ORDINALITY AS given ({', '.join([*names, 'place'])})"
    row = f"(SELECT {', '.join([*decoded, 'given.place'])} FROM {given} OFFSET 0) AS given" if columns else ""
    place = ", given.place" if columns else ", 1 AS place"
    value = typed(text, returns)
    answers = f"SELECT {value} AS value{place}{' FROM ' if columns else ''}{row} OFFSET 0"
    shown = encode_value_sql(Column(descriptor.columns[0].id, "value", returns), "answer.value")
    if returns in HAVE_LENGTHS:  # a value that is too long is not encoded
        shown = f"CASE WHEN {call('octet_length', 'answer.value')} > {DATA_BYTES_MAX} THEN NULL ELSE {shown} END"
    shown = f"SELECT {shown} AS data, answer.place FROM ({answers}) AS answer OFFSET 0"
    data = f"CASE WHEN {call('octet_length', 'shown.data')} <= {DATA_BYTES_MAX} THEN shown.data END"
    return f"SELECT {data} FROM ({shown}) AS shown ORDER BY shown.place"


def read_answer(returns: SqlType, data: bytes | None) -> PyValue | SqlError:
    return out_of_range(returns) if data is None else encoding.decode(returns, data)[0]


def out_of_range(returns: SqlType) -> SqlError:
    """The error of a value that no column can store: too long, a date without end, too many digits."""
    if returns in OF_ANY_LENGTH:
        return SqlError(PROGRAM_LIMIT, TOO_LONG)
    if returns is SqlType.NUMERIC:
        return SqlError(PROGRAM_LIMIT, TOO_MANY_DIGITS)
    return SqlError(DATETIME_OUT_OF_RANGE, f"{returns.value} out of range")


def by_expression(questions: Iterable[Question]) -> dict[tuple[str, SqlType], list[Question]]:
    found: dict[tuple[str, SqlType], list[Question]] = {}
    for one in dict.fromkeys(questions):
        found.setdefault((one.text, one.returns), []).append(one)
    return found


def arrays_of(questions: Sequence[Question]) -> list[list[bytes]]:
    return [list(column) for column in zip(*(one.inputs for one in questions), strict=True)]


def answers_of(
    questions: Sequence[Question], ask: Callable[[list[list[bytes]]], Sequence[bytes | None]]
) -> dict[Question, PyValue | SqlError]:
    """Answers to questions of one expression. `ask` runs the statement; it raises `SqlError` for all rows."""
    left, found = [questions], dict[Question, PyValue | SqlError]()
    while left:
        some = left.pop()
        try:
            data = ask(arrays_of(some))
        except SqlError as error:
            left += parts(some)
            if len(some) == 1:
                found[some[0]] = error
            continue
        found.update(zip(some, (read_answer(some[0].returns, one) for one in data), strict=True))
    return found


def parts(questions: Sequence[Question]) -> list[Sequence[Question]]:
    half = len(questions) // 2
    return [questions[:half], questions[half:]] if half else []


def with_answers(
    descriptor: Descriptor, row: StoredRow, wanted: Callable[[Descriptor, StoredRow], Iterable[Question]], ask: Ask
) -> StoredRow:
    """The row with the answers to `questions`, or to all of its own."""
    answers = dict(row.answers)
    for (text, returns), same in by_expression(wanted(descriptor, row)).items():
        sql = question_sql(descriptor, text, returns)
        answers |= answers_of(same, lambda arrays, sql=sql: ask(sql, arrays))  # type: ignore[misc]
    return row._replace(answers=answers)


# --- what a row asks


def asks(descriptor: Descriptor) -> bool:
    """True if PostgreSQL computes some expression of this version."""
    return descriptor.fact(_asks)


def questions(descriptor: Descriptor, row: StoredRow) -> list[Question]:
    """Unanswered questions of an existing row: conditions, rules, derived values."""
    of_all = (*descriptor.fact(_derived), *descriptor.fact(_judging))
    return list(_unanswered(descriptor, row, of_all))


def questions_of_entries(descriptor: Descriptor, row: StoredRow) -> list[Question]:
    return list(_unanswered(descriptor, row, descriptor.fact(_conditions)))


def questions_of_new(descriptor: Descriptor, row: StoredRow) -> list[Question]:
    """Unanswered questions of a row to be written: derived values, then what may read them."""
    found = list(_unanswered(descriptor, row, descriptor.fact(_derived_on_write)))
    if found:
        return found
    try:
        whole = with_derived(descriptor, row)
    except CannotDerive:
        whole = row  # who puts it says so
    return list(_unanswered(descriptor, whole, descriptor.fact(_judging)))


def _unanswered(descriptor: Descriptor, row: StoredRow, expressions: Expressions) -> Iterator[Question]:
    answers: Answers = row.answers
    for text, returns in expressions:
        one = question(descriptor, row, text, returns)
        if one not in answers:
            yield one


def _asks(descriptor: Descriptor) -> bool:
    return bool(descriptor.fact(_derived) or descriptor.fact(_judging))


def _derived(descriptor: Descriptor) -> Expressions:
    found: list[tuple[str, SqlType]] = []
    for column in derived_columns(descriptor):
        assert column.derived is not None, column
        found.append((column.derived.expression, column.type))
        if column.derived.inverse is not None:
            found.append((column.derived.inverse, descriptor.column(column.derived.source).type))
    return _asked(descriptor, found)


def _derived_on_write(descriptor: Descriptor) -> Expressions:
    columns = [c for c in derived_columns(descriptor) if rule(c.kind, c.state).insert is Write.PUT]
    return _asked(descriptor, [(c.derived.expression, c.type) for c in columns if c.derived is not None])


def _conditions(descriptor: Descriptor) -> Expressions:
    indexes: list[Index] = [i for i in descriptor.indexes if i.state is not State.ABSENT]
    return _asked(descriptor, [(i.where, SqlType.BOOLEAN) for i in indexes if i.where is not None])


def _judging(descriptor: Descriptor) -> Expressions:
    rules = [c.expression for c in descriptor.constraints if c.rule == CHECK and c.state is not State.ABSENT]
    checks = _asked(descriptor, [(text, SqlType.BOOLEAN) for text in rules if text is not None])
    return (*descriptor.fact(_conditions), *checks)


def _asked(descriptor: Descriptor, expressions: Iterable[tuple[str, SqlType]]) -> Expressions:
    return tuple(dict.fromkeys(one for one in expressions if not is_local(descriptor, one[0])))
