"""A statement on a node: pin a version, enter (refused below the fence, or if newer than the snapshot), read, write,
check foreign keys, commit (T1, T2, T3). A statement outside BEGIN is a transaction of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from catalog.descriptor import Descriptor, UnknownElement
from catalog.elements import Index, NodeId, State, TableId
from catalog.text.sentence import Sentence
from catalog.values.errors import BadValue
from lab.cluster.control_plane import LabError, Without
from lab.cluster.foreign_keys import check_references
from lab.cluster.lines import version_of, words_of
from lab.cluster.parts import Message, Node, Transaction
from lab.cluster.world import World
from lab.scripts.text import BadRow, assignments, key_of, new_row, op_text, row_text, subject
from leases.node import vocabulary
from leases.rules import NotLeasable, check_leasable
from storage.commit_outcomes import Outcome, commit_outcome
from storage.integrity.constraints import constraint_violations
from storage.integrity.references import Change
from storage.mutations import Act, Op, TableNotWritable, delete_row, in_order, insert_row, readable_columns, update_row
from storage.pairs import CannotDerive, StoredRow, after, is_existence, name_of, prefix, rows_of
from storage.store import DuplicateKey, SerializationFailure, StoreError

Values = Sequence[str | None]
REFUSED = (StoreError, BadRow, BadValue, TableNotWritable, UnknownElement, NotLeasable, CannotDerive, LabError)
Made = tuple[list[Op], Change]
"""What a statement does to the store, and to its row."""
LEAVES_NOTHING = {Act.TOMBSTONE: Act.REMOVE, Act.TOMBSTONE_UNIQUE: Act.REMOVE_UNIQUE}


@dataclass(frozen=True, slots=True)
class StatementResult:
    descriptor: Descriptor
    written: tuple[Sentence, ...]


def node_of(actor: str) -> NodeId:
    """`n1.b` is a second session of node n1."""
    return NodeId(actor.partition(".")[0])


def serving(world: World, actor: str) -> Node:
    node = world.node(node_of(actor))
    if not node.is_running:
        raise LabError(Sentence("{node} is not running", node=node.name))
    if node.is_frozen:
        raise LabError(Sentence("{node} is frozen", node=node.name))
    return node


# Pins


def pin(
    world: World, node: Node, table: TableId, *, fresh: bool = False, at_most: int | None = None
) -> tuple[int, int]:
    """A request and the version granted to it. Raises `LabError` if there is none yet."""
    request = ask_for(world, node, table, fresh=fresh, at_most=at_most)
    world.settle()
    if request in world.refused:
        raise LabError(world.refused.pop(request))
    if request not in world.granted:
        world.hears(node.name, vocabulary.Unpin(request, table))
        waits, name = "{node} waits for a lease on {table}", world.control.newest(table).name
        raise LabError(Sentence(waits, node=node.name, table=name))
    return request, world.granted.pop(request)


def ask_for(world: World, node: Node, table: TableId, *, fresh: bool = False, at_most: int | None = None) -> int:
    world.requests += 1
    world.hears(node.name, vocabulary.Pin(world.requests, table, fresh, at_most))
    return world.requests


def unpin(world: World, node: NodeId, table: TableId, request: int) -> None:
    """The node hears of it at once, a frozen one when it thaws."""
    if world.nodes[node].is_running:
        world.messages.append(Message(node, vocabulary.Unpin(request, table)))
        world.settle()


# Transactions


def begin(world: World, actor: str) -> Transaction:
    node = serving(world, actor)
    if actor in world.transactions:
        raise LabError(Sentence("{node} is in a transaction already", node=actor))
    newest = {table: world.control.newest(table).version for table in world.control.published}
    one = Transaction(actor, node.name, world.store.begin(), newest)
    world.transactions[actor] = one
    return one


def commit(world: World, actor: str, *, late: bool = False) -> None:
    """Commits, and hears the answer; `late`: the last message of a frozen process arrives."""
    one = world.transactions.get(actor)
    if one is None or not one.is_sent:
        one = send_commit(world, actor, late=late)
    elif one.is_lost:
        raise LabError("its session was lost at COMMIT: no answer comes any more (ask)")
    if one.is_committing:
        world.store.flush()
    _leave(world, one)


def send_commit(world: World, actor: str, *, late: bool = False) -> Transaction:
    """COMMIT is on its way: done and flushed at some time, and not answered yet."""
    if not late:
        serving(world, actor)
    one = _running(world, actor)
    if Without.CONFLICTS in world.control.without:
        one.store.began_at = len(world.store.writes)
    try:
        one.store.send_commit()
    except StoreError as error:
        _leave(world, one)
        raise LabError(refusal_words(world, error)) from error
    one.is_sent = True
    return one


def ask_outcome(world: World, actor: str) -> Outcome:
    """The session was lost at COMMIT: asks the store about the transaction's id (T7)."""
    serving(world, actor)
    one = world.transactions.get(actor)
    if one is None or not one.is_sent:
        raise LabError(f"{actor} has not sent a COMMIT")
    assert one.store.id is not None, "who has written nothing sends no COMMIT that waits"
    began_in = one.store.began_in
    asked_in = began_in if Without.LIFE in world.control.without else world.store.life
    status = world.store.status(one.store.id)
    outcome = commit_outcome(status, began_in=str(began_in), asked_in=str(asked_in))
    if outcome is not Outcome.IN_PROGRESS:
        _leave(world, one)
    return outcome


def rollback(world: World, actor: str) -> None:
    serving(world, actor)
    one = _running(world, actor)
    one.store.rollback()
    _leave(world, one)


def _running(world: World, actor: str) -> Transaction:
    one = world.transactions.get(actor)
    if one is None:
        raise LabError(Sentence("{node} is not in a transaction", node=actor))
    if one.is_sent:
        raise LabError(f"the COMMIT of {actor} is on its way")
    if one.query is not None:
        raise LabError(f"a query of {actor} still runs")
    if one.ended is not None:
        _leave(world, one)
        raise LabError(Sentence("the transaction was ended: {why} (40001)", why=one.ended))
    return one


def _leave(world: World, one: Transaction) -> None:
    world.transactions.pop(one.actor, None)
    for table, (request, _) in one.pins.items():
        unpin(world, one.node, table, request)


@contextmanager
def _transaction(world: World, actor: str, table: TableId) -> Iterator[Transaction]:
    node = serving(world, actor)
    if actor in world.transactions:
        one = _running(world, actor)
        with _failing(world, one):
            enter(world, one, table)
            yield one
        return
    one = _alone(world, node, actor, table)
    with _failing(world, one):
        enter(world, one, table)
        yield one
    commit(world, actor)


def _alone(world: World, node: Node, actor: str, table: TableId) -> Transaction:
    """A transaction for one statement. If the storages accept the newest version alone, an old one is reloaded once."""
    for fresh in (False, True):
        held = pin(world, node, table, fresh=fresh)
        one = begin(world, actor)
        _pinned(world, one, table, held)
        used = world.control.version(table, held[1])
        refusal = world.control.why_not_enter(used, one.newest.get(table, 0))
        if fresh or refusal is None or not world.control.newest(table).coordination.is_strict:
            break
        world.say(Sentence("{node}: refused: {why}", node=actor, why=refusal))
        one.store.rollback()
        _leave(world, one)
    return one


def _pin_for(world: World, one: Transaction, table: TableId) -> None:
    """A version that the transaction's snapshot shows, if the node still leases it (T3)."""
    at_most = None if Without.SNAPSHOT in world.control.without else one.newest.get(table)
    _pinned(world, one, table, pin(world, world.nodes[one.node], table, at_most=at_most))


def _pinned(world: World, one: Transaction, table: TableId, held: tuple[int, int]) -> None:
    one.pins[table] = held
    one.until[table] = world.now + world.control.lease_s


@contextmanager
def _failing(world: World, one: Transaction) -> Iterator[None]:
    try:
        yield
    except REFUSED as error:
        one.store.rollback()
        _leave(world, one)
        raise LabError(refusal_words(world, error)) from error


def refusal_words(world: World, error: Exception) -> str:
    if isinstance(error, DuplicateKey):
        newest = world.control.newest(TableId(int.from_bytes(error.key[:4])))
        what = subject(newest, error.key)
        return Sentence("{what} exists already ({sqlstate})", what=what, sqlstate=error.sqlstate)
    if isinstance(error, SerializationFailure):
        changed = "another transaction changed what this one read or wrote ({sqlstate})"
        return Sentence(changed, sqlstate=error.sqlstate)
    return words_of(error)


def pin_only(world: World, actor: str, table: TableId) -> Descriptor:
    """The transaction has its version and has not entered yet: the message is on its way."""
    serving(world, actor)
    one = _running(world, actor)
    with _failing(world, one):
        if table not in one.pins:
            _pin_for(world, one, table)
    return world.control.version(table, one.pins[table][1])


def enter_now(world: World, actor: str, table: TableId) -> Descriptor:
    serving(world, actor)
    one = _running(world, actor)
    with _failing(world, one):
        return enter(world, one, table)


def enter(world: World, one: Transaction, table: TableId, *, internal: bool = False) -> Descriptor:
    """T2 and T3, at the first use of `table`. `internal`: only to check references to a removed row (L13)."""
    if table not in one.pins:
        _pin_for(world, one, table)
    descriptor = world.control.version(table, one.pins[table][1])
    if table not in one.entered:
        refusal = world.control.why_not_enter(descriptor, one.newest.get(table, 0))
        if refusal is not None:
            raise LabError(refusal)
    check_leasable(descriptor.name, descriptor.state, internal=internal)
    one.entered[table] = descriptor.version
    return descriptor


# Statements


def insert(world: World, actor: str, table: TableId, values: Values) -> StatementResult:
    def made(descriptor: Descriptor, _: Transaction) -> Made:
        row = new_row(descriptor, values, world.control.next_row_id)
        _refuse_broken(descriptor, row)
        return insert_row(descriptor, row, world.store.buckets), (None, row)

    return _write(world, actor, table, made)


def delete(world: World, actor: str, table: TableId, key: Values) -> StatementResult:
    def made(descriptor: Descriptor, one: Transaction) -> Made:
        old = find_row(one, descriptor, key_of(descriptor, key))
        return delete_row(descriptor, old, world.store.buckets), (old, None)

    return _write(world, actor, table, made)


def update(
    world: World, actor: str, table: TableId, key: Values, to: Sequence[tuple[str, str | None]]
) -> StatementResult:
    def made(descriptor: Descriptor, one: Transaction) -> Made:
        old = find_row(one, descriptor, key_of(descriptor, key))
        assigned, new_key = assignments(descriptor, old, to)
        if new_key is not None and Without.HIDDEN_VALUES in world.control.without:
            old = old._replace(columns=readable_columns(descriptor, old))
        new = StoredRow(new_key or old.key, {**old.columns, **assigned})
        _refuse_broken(descriptor, new)
        return update_row(descriptor, old, assigned, new_key, world.store.buckets), (old, new)

    return _write(world, actor, table, made)


def _refuse_broken(descriptor: Descriptor, row: StoredRow) -> None:
    for broken in constraint_violations(descriptor, row):
        raise BadRow(f"the row {broken.why} ({broken.state.value} in {descriptor})")


def _write(
    world: World, actor: str, table: TableId, make: Callable[[Descriptor, Transaction], Made]
) -> StatementResult:
    with _transaction(world, actor, table) as one:
        descriptor = world.control.version(table, one.pins[table][1])
        too_late = world.why_not_write(one)
        if too_late is not None:
            raise LabError(too_late)
        made, change = make(descriptor, one)
        ops = in_order(_weakened(world, one, made))
        one.store.apply(ops)

        def use(other: TableId) -> Descriptor:
            return enter(world, one, other, internal=True)

        check_references(one, descriptor, change, use, world.control.without)
    return StatementResult(descriptor, tuple(op_text(descriptor, op) for op in ops))


def _weakened(world: World, one: Transaction, ops: list[Op]) -> list[Op]:
    without = world.control.without
    if Without.TOMBSTONES in without:
        return [op._replace(act=LEAVES_NOTHING.get(op.act, op.act)) for op in ops]
    if Without.CREATION in without:
        return [op._replace(act=Act.PUT) if op.act is Act.CREATE else op for op in ops]
    if Without.BLIND_TOMBSTONES in without:
        seen = one.store.snapshot
        return [op for op in ops if op.act not in LEAVES_NOTHING or op.key in seen[world.store.home(op) - 1]]
    return ops


def find_row(one: Transaction, descriptor: Descriptor, key: bytes) -> StoredRow:
    start = prefix(descriptor, descriptor.placement.id) + key
    for storage in storages_of(one, descriptor):
        found = rows_of(descriptor, descriptor.placement, one.store.scan(storage, start, after(start)))
        if found:
            return found[0]
    raise LabError(Sentence("there is no such row"))


def select(world: World, actor: str, table: TableId, by: str | None = None) -> tuple[Descriptor, list[str]]:
    """The rows a query sees, in key order; `by` an index, in its order: a row without an entry is not found."""
    with _transaction(world, actor, table) as one:
        return _seen(world, one, table, by)


def start_select(world: World, actor: str, table: TableId, by: str | None = None) -> Descriptor:
    """A query begins, and reads on until `finish_select`, whatever becomes of its lease (T4)."""
    node = serving(world, actor)
    is_alone = actor not in world.transactions
    one = _alone(world, node, actor, table) if is_alone else _running(world, actor)
    with _failing(world, one):
        descriptor = enter(world, one, table)
        if by is not None:
            _readable_index(descriptor, by)
    one.query, one.is_alone = (table, by), is_alone
    return descriptor


def finish_select(world: World, actor: str) -> tuple[Descriptor, list[str], bool]:
    """The rows of the query that reads on, and whether it was tried again: once, if it is alone (L8). If the lease has
    ended, a transaction that is not alone ends now."""
    serving(world, actor)
    one = world.transactions.get(actor)
    if one is None or one.query is None:
        raise LabError(f"no query of {actor} runs")
    (table, by), one.query = one.query, None
    if one.ended is not None and one.is_alone:
        _leave(world, one)
        return *select(world, actor, table, by), True
    _running(world, actor)
    with _failing(world, one):
        found = _seen(world, one, table, by)
    if one.is_alone:
        rollback(world, actor)
    elif one.expired is not None:
        world.end_transaction(one, one.expired)
    return *found, False


def start_hold(world: World, actor: str, table: TableId) -> Descriptor:
    """COMMIT computes the rows of a cursor WITH HOLD, as a query that reads on (T4)."""
    _running(world, actor)
    return start_select(world, actor, table)


def finish_hold(world: World, actor: str) -> tuple[Descriptor, list[str]]:
    """The transaction is committed; the rows of its cursor are the store's, and need no version."""
    serving(world, actor)
    one = world.transactions.get(actor)
    if one is None or one.query is None:
        raise LabError(f"no COMMIT of {actor} computes rows")
    (table, by), one.query = one.query, None
    _running(world, actor)
    with _failing(world, one):
        found = _seen(world, one, table, by)
    if one.is_reading:
        rollback(world, actor)  # what only reads conflicts with nobody
    else:
        commit(world, actor)
    return found


def _seen(world: World, one: Transaction, table: TableId, by: str | None) -> tuple[Descriptor, list[str]]:
    descriptor = world.control.version(table, one.pins[table][1])
    if Without.EXISTENCE in world.control.without:
        start = prefix(descriptor, descriptor.placement.id)
        scans = (one.store.scan(storage, start, after(start)) for storage in storages_of(one, descriptor))
        pairs = [(k, b"" if v is None and is_existence(k) else v) for scan in scans for k, v in scan]
        rows = sorted(rows_of(descriptor, descriptor.placement, pairs), key=lambda row: row.key)
    else:
        rows = _all_rows(one, descriptor) if by is None else _rows_by_index(one, descriptor, by)
    return descriptor, [row_text(descriptor, row) for row in rows]


def _all_rows(one: Transaction, descriptor: Descriptor) -> list[StoredRow]:
    start = prefix(descriptor, descriptor.placement.id)
    scans = (one.store.scan(storage, start, after(start)) for storage in storages_of(one, descriptor))
    found = (row for pairs in scans for row in rows_of(descriptor, descriptor.placement, pairs))
    return sorted(found, key=lambda row: row.key)


def _readable_index(descriptor: Descriptor, by: str) -> Index:
    index = next((index for index in descriptor.indexes if index.name == by), None)
    if index is None:
        raise LabError(Sentence("there is no index {index} of {what}", index=by, what=version_of(descriptor)))
    if index.state is not State.PUBLIC:
        not_yet = "index {table}.{index} is {state}: queries may use it once it is public"
        values = {"table": descriptor.name, "index": index.name, "state": index.state.value}
        raise LabError(Sentence(not_yet, **values))
    return index


def _rows_by_index(one: Transaction, descriptor: Descriptor, by: str) -> list[StoredRow]:
    index = _readable_index(descriptor, by)
    start = prefix(descriptor, descriptor.placement.id, index.id)
    entries = [
        pair for storage in storages_of(one, descriptor) for pair in one.store.scan(storage, start, after(start))
    ]
    live = sorted((key, value) for key, value in entries if value is not None)
    keys = (name_of(descriptor, key).row_key or value for key, value in live)
    return [find_row(one, descriptor, key) for key in keys if key is not None]


def storages_of(one: Transaction, descriptor: Descriptor) -> range:
    return range(1, descriptor.placement.storage_count(one.store.store.storages) + 1)
