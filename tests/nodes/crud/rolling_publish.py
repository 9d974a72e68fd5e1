"""A rolling publish: under L7's condition every fence is set to v, which ends v-1; then storage 1, storage 2, .. get
the copy of v+1; then the catalog publishes it. So storages that disagree for a while refuse no node: v is found
everywhere, and no node plans with v+1 before all know it. A change publishes in one transaction; `lab.cluster.rolling`
is the same over the lab's cluster."""

from __future__ import annotations

from typing import Any

from catalog.descriptor import Descriptor
from catalog.hashing import schema_hash, sharding_hash
from changes.driver import publish
from changes.driver.publish import Blocked
from storage import pair_views
from storage import postgres as store


def begin(cur: Any, new: Descriptor, *, storages: int) -> Blocked | None:
    """Meet the condition of publishing `new`, and shut out what is older than its predecessor. None: done."""
    found = publish.hindrance_to(cur, [new])
    blocked = None if found is publish.DONE else found
    if blocked is None:
        publish.close_last_but_one(cur, [new], storages=storages)
    return blocked


def add_copy(cur: Any, storage: int, new: Descriptor) -> None:
    """Tell one storage of `new`."""
    store.insert_version_copies(
        cur, [storage], new.table_id, new.version, schema_hash=schema_hash(new), sharding_hash=sharding_hash(new)
    )


def finish(cur: Any, new: Descriptor, *, storages: int) -> Blocked | None:
    """Publish `new`, which every storage knows. None: done."""
    blocked = publish.publish(cur, [new], storages=0)
    if blocked is None:
        cur.execute("; ".join(pair_views.make_sql(new, storages)))
        publish.close_last_but_one(cur, [new], storages=storages)
    return blocked
