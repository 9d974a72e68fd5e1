"""Rules that a row must satisfy before it is written: NOT NULL and CHECK, from write-only on.

A constraint on its way in is enforced before anything relies on it, and one on its way out until nothing does
(protocol.md, section 3). So a refusal names its state: the refused row may stand beside older ones like it. NULLs come
first, in the order of the columns, then the checks by name. `Unanswered` is raised where PostgreSQL's answer is
lacking.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, State
from catalog.values.types import SqlType
from expressions.errors import CHECK_VIOLATION, NOT_NULL_VIOLATION, SqlError
from expressions.rows import columns_of, compiled, is_local
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import Context, Expr, PyValue, evaluate, value_text
from storage import encoding
from storage.answers import NO_ANSWERS, Answers, Question, answer

SHOWN_BYTES_MAX = 64
ENFORCED = (State.WRITE_ONLY, State.PUBLIC)
NOTHING = Context()

Values = Mapping[ColumnId, PyValue]


@dataclass(frozen=True, slots=True)
class Rules:
    """The constraints of one version of a table. `reads` are the columns that a row must come with: the public ones,
    and those that a constraint reads."""

    descriptor: Descriptor
    required: tuple[tuple[Column, Constraint | None], ...]
    checks: tuple[tuple[Constraint, Expr | None], ...]
    """Without its expression, one that PostgreSQL computes."""
    reads: tuple[Column, ...]

    def refuse(self, row: Values, answers: Answers = NO_ANSWERS) -> None:
        """Raises 23502 or 23514 for the first constraint that the row breaks, or `Unanswered`."""
        for column, constraint in self.required:
            if row[column.id] is None:
                raise _null(self.descriptor, column, constraint, row)
        for check, expr in self.checks:
            if expr is None:
                text = _expression(check)
                columns = (self.descriptor.column(column_id) for column_id in sorted(columns_of(text)))
                inputs = (encoding.encode_value(column.type, row[column.id]) for column in columns)
                value = answer(answers, Question(text, SqlType.BOOLEAN, tuple(inputs)))
            else:
                value = evaluate(expr, row, NOTHING)
            if value is False:
                message = f'new row for relation "{self.descriptor.name}" violates check constraint "{check.name}"'
                raise SqlError(
                    CHECK_VIOLATION,
                    message + moving_state(check.state),
                    detail=failing_row(self.descriptor, row),
                    table=self.descriptor.name,
                    constraint=check.name,
                )


def rules_of(descriptor: Descriptor) -> Rules:
    moving = {
        column_id: constraint
        for constraint in descriptor.constraints
        if constraint.rule == "not null" and constraint.state in ENFORCED
        for column_id in constraint.columns
    }
    key = set(descriptor.primary_key)
    required = tuple(
        (c, None if c.not_null else moving.get(c.id))
        for c in descriptor.columns
        if (c.state is State.PUBLIC or (c.state is State.WRITE_ONLY and c.derived is None))
        and (c.not_null or c.id in key or c.id in moving)
    )
    checks = sorted(
        (c for c in descriptor.constraints if c.rule == "check" and c.state in ENFORCED), key=lambda c: c.name
    )
    texts = [(c, _expression(c)) for c in checks]
    compiled_checks = tuple((c, compiled(descriptor, t) if is_local(descriptor, t) else None) for c, t in texts)
    read = {c.id for c, _ in required} | {i for c in checks for i in columns_of(_expression(c))}
    reads = tuple(c for c in descriptor.columns if c.state is State.PUBLIC or c.id in read)
    return Rules(descriptor, required, compiled_checks, reads)


def _expression(check: Constraint) -> str:
    assert check.expression is not None, f"check {check.name} has no expression"
    return check.expression


def moving_state(state: State) -> str:
    """An addition to a refusal when the element is not public: why it counts all the same."""
    if state is State.PUBLIC:
        return ""
    return f" (it is {state.value}: a schema change is adding or dropping it)"


def _null(descriptor: Descriptor, column: Column, constraint: Constraint | None, row: Values) -> SqlError:
    message = f'null value in column "{column.name}" of relation "{descriptor.name}" violates not-null constraint'
    state = column.state
    if constraint is not None:
        message, state = f'{message} "{constraint.name}"', constraint.state
    return SqlError(
        NOT_NULL_VIOLATION,
        message + moving_state(state),
        detail=failing_row(descriptor, row),
        table=descriptor.name,
        column=column.name,
        constraint=None if constraint is None else constraint.name,
    )


def failing_row(descriptor: Descriptor, row: Values) -> str:
    """The row as PostgreSQL shows it: what a user may see of it, long values cut."""
    shown = ", ".join(_shown(column, row.get(column.id)) for column in descriptor.public_columns)
    return f"Failing row contains ({shown})."


def _shown(column: Column, value: PyValue) -> str:
    data = value_text(OF_SQL_TYPE[column.type], value)
    if data is None:
        return "null"
    if len(data) <= SHOWN_BYTES_MAX:
        return data.decode()
    return data[:SHOWN_BYTES_MAX].decode(errors="ignore") + "..."
