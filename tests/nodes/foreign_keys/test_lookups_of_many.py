"""The lookups of a statement that writes many rows are found while others have their turn."""

import asyncio
from types import SimpleNamespace
from typing import Any

from catalog.descriptor import Descriptor
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.planning.planner import make_plan
from changes.planning.table_in_transaction import remade
from nodes.foreign_keys.checks import CHECKS_A_PROBE, checks_of, lookups_for, lookups_of
from storage import encoding
from storage.pairs import StoredRow


def made(statement: str, table_id: int, *there: Descriptor) -> dict[int, Descriptor]:
    view = CatalogView(there)
    plan = make_plan(resolve(parse(statement), view), None, table_id=table_id, tables=view)
    return {table.table_id: table for table in remade(plan, {table_id, *(one.table_id for one in there)}).tables}


def statement_of(rows: int) -> Any:
    """An INSERT of rows that each refer to another row."""
    parent = made("CREATE TABLE a (id int PRIMARY KEY)", 1)[1]
    tables = made("CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a)", 2, parent)
    child = tables[2]
    key, reference = child.columns
    changed = [
        (None, StoredRow(encoding.encode(key.type, n), {reference.id: encoding.encode(reference.type, n)}))
        for n in range(rows)
    ]
    return SimpleNamespace(
        descriptor=child,
        changed=changed,
        foreign_keys=child.foreign_keys,
        other=tables.__getitem__,
        env=SimpleNamespace(buckets=3000, storages=2),
    )


def test_others_have_their_turn_while_the_lookups_of_many_rows_are_found() -> None:
    rows = 20 * CHECKS_A_PROBE
    work = statement_of(rows)

    async def beside() -> tuple[int, int]:
        finding, turns = asyncio.ensure_future(lookups_of(work)), 0
        while not finding.done():
            await asyncio.sleep(0)
            turns += 1
        return turns, sum(len(probe.checks) for probe in finding.result().probes)

    turns, found = asyncio.run(beside())
    assert found == rows
    assert turns > 3  # the task, and its end; more: while it went on


def test_few_are_found_at_once() -> None:
    work = statement_of(3)
    assert asyncio.run(lookups_of(work)) == lookups_for(work, checks_of(work))
