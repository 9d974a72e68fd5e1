"""Hashes by which router and storage notice that they mean different schemas: of canonical text, without the
version."""

import hashlib
import json

from catalog.descriptor import Descriptor, Json

HASH_BYTES = 8


def schema_hash(descriptor: Descriptor) -> str:
    """16 hex digits over the descriptor without its version."""
    body = descriptor.to_json()
    del body["version"]
    return _digest(body)


def sharding_hash(descriptor: Descriptor) -> str:
    """16 hex digits over placements and their keys."""
    body = descriptor.to_json()
    types = {column.id: column.type.value for column in descriptor.columns}
    key = [[column_id, types[column_id]] for column_id in descriptor.sharding_key]
    return _digest({"placements": body["placements"], "key": key, "coordination": body["coordination"]})


def _digest(body: Json) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=HASH_BYTES).hexdigest()
