"""Publishes a version of a sandbox past L7 and the fence, as no other code of the product may. The database decides on
which tables (lab/migrations/lab_publish.sql). No news is sent (L6): a node gets the version with its next heartbeat,
or, where that is withheld, as it renews its lease."""

from __future__ import annotations

import json

from django.db import DatabaseError

from catalog.descriptor import Descriptor
from catalog.hashing import schema_hash, sharding_hash
from catalog.services import control_transaction

REFUSALS = ("SL201", "SL202", "SL203")
"""Not a sandbox of this person; a foreign key; not this version, or not now."""


class NotPublished(Exception):
    """The database refused: the table is no sandbox of this person, or cannot have this version now."""


def lab_publish(new: Descriptor, *, who: str, what: str) -> None:
    """Make `new` the newest version of its sandbox; `what` is for the story. Raises `NotPublished`."""
    body = json.dumps(new.to_json())
    try:
        with control_transaction() as cursor:
            cursor.execute(
                "SELECT lab_publish(%s, %s, %s, %s, %s, %s)",
                [new.table_id, who, body, schema_hash(new), sharding_hash(new), what],
            )
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", None) not in REFUSALS:
            raise
        raise NotPublished(str(error).partition("\n")[0]) from error
