"""The rows of a MERGE: a query has said what is done with each; here it is done. All is found before anything is
written, in one snapshot. A row that two rows of the source would change is refused (21000)."""

from collections.abc import Sequence

from expressions.errors import CARDINALITY_VIOLATION, SqlError
from expressions.typed import PyValue
from nodes.execution.writing.computing import fitting
from nodes.execution.writing.inserted_rows import complete
from nodes.execution.writing.target_rows import rows_by_key
from nodes.execution.writing.write_context import Values, Writing
from nodes.sql.plans import MergeAction, MergePlan
from nodes.sql.writes.assignments import ACTION
from storage import encoding

Found = tuple[MergeAction, bytes, Values, Sequence[PyValue]]
"""What is done, the key of the row it is done with (none: a new one), the values for it, and what RETURNING shows."""


async def merged_rows(work: Writing, plan: MergePlan) -> list[Values]:
    """Do a MERGE; the rows it is about, for RETURNING: as they are then, or as they were before they were removed."""
    found = await _found(work, plan)
    stored = await rows_by_key(work, {key for _, key, _, _ in found if key}, plan.rules.reads)
    new = [values for action, _, values, _ in found if action.word == "INSERT"]
    await complete(work, plan, new)
    changes = [(*stored[key], values) for action, key, values, _ in found if action.word == "UPDATE"]
    await work.foresee(
        new,
        changes=((old, values, before | values) for old, before, values in changes),
        removed=(stored[key][0] for action, key, _, _ in found if action.word == "DELETE"),
    )
    shown: list[Values] = []
    for action, key, values, answer in found:
        row = values
        if action.word == "INSERT":
            await work.refuse(plan.rules, row)
            await work.put(row)
        elif action.word == "DELETE":
            old, row = stored[key]
            await work.remove(old)
        else:
            old, before = stored[key]
            row = before | values
            await work.change(plan.rules, old, values, row)
        if plan.returning is None:
            shown.append(row)
            continue
        beside = {one.number: value for one, value in zip(plan.returning.beside, answer, strict=False)}
        shown.append({**row, **beside, ACTION: action.word})
    return shown


async def _found(work: Writing, plan: MergePlan) -> list[Found]:
    keys, found, changed = work.descriptor.key_columns, list[Found](), set[bytes]()
    starts = [1 + len(keys)]
    for action in plan.actions:
        starts.append(starts[-1] + len(action.columns))
    text = work.texts.rows
    assert text is not None
    async for row in work.asked(text, "MERGE"):
        number = row[0]
        assert isinstance(number, int)
        action, key = plan.actions[number], b""
        if action.word != "INSERT":
            pairs = zip(keys, row[1:], strict=False)
            key = b"".join(encoding.encode(column.type, value) for column, value in pairs)
            if key in changed:
                message = "MERGE command cannot affect row a second time"
                hint = "Ensure that not more than one source row matches any one target row."
                raise SqlError(CARDINALITY_VIOLATION, message, hint=hint)
            changed.add(key)
        fitted = fitting([work.descriptor.column(c) for c in action.columns])
        values = dict(zip(action.columns, fitted(row[starts[number] : starts[number + 1]]), strict=True))
        found.append((action, key, values, row[starts[-1] :]))
    return found
