"""Hashes by which a router and a storage see that they mean different schemas.

A hash is computed when a schema is written, never per request, over one canonical
text (sorted keys, no spaces, every default spelled out), so two processes always agree.
The version number is not part of it: the hash says what a schema is, not when.
"""

import hashlib
import json

from catalog.descriptor import Descriptor, Json

HASH_BYTES = 8


def schema_hash(descriptor: Descriptor) -> str:
    """16 hex digits over everything in the descriptor but its version."""
    body = descriptor.to_json()
    del body["version"]
    return _digest(body)


def sharding_hash(descriptor: Descriptor) -> str:
    """16 hex digits over what decides where a row lies: placements and the key they use."""
    body = descriptor.to_json()
    types = {column.id: column.type.value for column in descriptor.columns}
    key = [[column_id, types[column_id]] for column_id in descriptor.sharding_key]
    return _digest({"placements": body["placements"], "key": key, "coordination": body["coordination"]})


def _digest(body: Json) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=HASH_BYTES).hexdigest()
