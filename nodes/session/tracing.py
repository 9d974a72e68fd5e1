"""The trace of a statement, where its session fills it in and sends it (`nodes.trace`)."""

from collections.abc import Mapping

from catalog.descriptor import Descriptor
from expressions.typed import Context
from nodes.clients.protocols import Client
from nodes.context import Environment
from nodes.foreign_keys.enforced import enforced_by
from nodes.session.block import Block
from nodes.sql.plans import Plan
from nodes.sql.readable import InPlace
from nodes.store.transaction import Transaction
from nodes.trace import reads
from nodes.trace.record import SQLSTATE, Trace, transaction_json


def planned(
    env: Environment,
    trace: Trace,
    transaction: Transaction,
    tables: Mapping[int, Descriptor],
    plan: Plan | InPlace,
    context: Context,
) -> None:
    named = dict(tables)
    keys = () if isinstance(plan, InPlace) else sorted(enforced_by(plan).tables)
    pins = [transaction.pins[table] for table in keys if table in transaction.pins]
    others = {pin.table_id: pin.descriptor for pin in pins}
    layout = {"storages": env.storages, "buckets": env.buckets}
    scans = reads.scans_json(plan, context, **layout)
    hidden = reads.hidden(named.values(), trace.kind, reads.written(plan))
    trace.planned(transaction.pins, (named | others).values(), scans, hidden)


def send(client: Client, trace: Trace, block: Block, *, is_answered: bool) -> None:
    """Send the trace of the statement that has just ended, before its result or its error."""
    transaction, status, about = block.transaction, "idle", transaction_json("idle", None)
    if block.is_explicit:
        status = "open" if is_answered and not block.is_failed else "failed"
        about = transaction_json(status, None)
    if block.is_explicit and transaction is not None and not transaction.is_over:
        transaction.trace = None
        pins, has_written = transaction.pins.values(), transaction.has_written
        about = transaction_json(status, transaction.started_at, pins, has_written=has_written)
    client.notice(trace.words(), "INFO", SQLSTATE, trace.to_text(about))
