"""The ways to the rows of a table."""

from expressions.analysis.scopes import Scan
from expressions.typed import Context
from nodes.context import Environment
from nodes.execution.fairness import in_thread
from nodes.sql.conditions.access_paths import Access, access, point


def access_of(env: Environment, scan: Scan, context: Context) -> Access:
    if scan.pinned_key is not None:
        return point(scan.descriptor, scan.pinned_key, context)
    return whole_access(env, scan, context)


def whole_access(env: Environment, scan: Scan, context: Context) -> Access:
    return access(scan.descriptor, scan.conditions, context, storages=env.storages, buckets=env.buckets)


async def way_of(env: Environment, scan: Scan, context: Context) -> Access:
    return await in_thread(lambda: access_of(env, scan, context)) if context.is_long else access_of(env, scan, context)
