"""Execute a plan of whatever kind, in a transaction that is open.

With `commit`, the statement's last batch commits as well, where it can; else the caller commits.
"""

from expressions.errors import unsupported
from expressions.typed import Context
from nodes.context import Environment
from nodes.execution.writing import dml
from nodes.execution.writing.computing import Computing
from nodes.execution.writing.several import several
from nodes.sql.plans import DeletePlan, InsertPlan, MergePlan, Plan, SeveralPlan, UpdatePlan
from nodes.sql.writes.row_texts import SeveralTexts
from nodes.store.transaction import Transaction
from nodes.wire.results import Result


async def perform(
    env: Environment,
    transaction: Transaction,
    plan: Plan,
    context: Context,
    computing: Computing | None = None,
    texts: SeveralTexts | None = None,
    *,
    commit: bool,
) -> Result:
    match plan:
        case InsertPlan() | UpdatePlan() | DeletePlan() | MergePlan():
            return await dml.perform(env, transaction, plan, context, computing, commit=commit)
        case SeveralPlan() if computing is not None and texts is not None:
            return await several(env, transaction, plan, context, computing, texts)
    raise unsupported("this statement")
