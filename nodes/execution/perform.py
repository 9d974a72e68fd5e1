"""Execute a plan of whatever kind, in a transaction that is open.

With `commit`, the statement's last batch commits as well, where it can; else the caller commits.
"""

from expressions.errors import unsupported
from expressions.typed import Context
from nodes.context import Environment
from nodes.execution import dml
from nodes.execution.select import select_result
from nodes.sql.planner import DeletePlan, InsertPlan, Plan, SelectPlan, UpdatePlan
from nodes.store.transaction import Transaction
from nodes.wire.results import Result


async def perform(env: Environment, transaction: Transaction, plan: Plan, context: Context, *, commit: bool) -> Result:
    match plan:
        case SelectPlan():
            return await select_result(env, transaction, plan, context, commit=commit)
        case InsertPlan():
            return await dml.insert(env, transaction, plan, context, commit=commit)
        case UpdatePlan():
            return await dml.update(env, transaction, plan, context, commit=commit)
        case DeletePlan():
            return await dml.delete(env, transaction, plan, context, commit=commit)
    raise unsupported("this statement")
