"""The versions that the shadow shows, kept in the comment of its database: it changes in the transaction of the ALTERs,
and no client sees it. Its first line is the digest by which a node tells whether the shadow is current."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from storage.shadow.alters import Known, Piece

DIGEST_SQL = """
SELECT md5(concat_ws(';',
  (SELECT string_agg(id || '@' || version, ',' ORDER BY id) FROM catalog_table WHERE state = 'live'),
  (SELECT string_agg(id || '@' || revision || name, ',' ORDER BY id) FROM catalog_view))) AS digest
"""
"""At the store: what is published, in one word."""
COMMENT_SQL = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()"
SHOWS_SQL = f"SELECT split_part(({COMMENT_SQL}), E'\\n', 1)"
"""At the shadow: the digest of its position, and the name of its owner's store."""
TABLES_SQL = "SELECT id, version FROM catalog_table WHERE state = 'live' ORDER BY id"
VIEWS_SQL = "SELECT id, name, revision, body FROM catalog_view ORDER BY id"
STORE_SQL = """
SELECT concat_ws('/', (SELECT oid FROM pg_database WHERE datname = current_database()), min(applied))
FROM django_migrations"""
"""A sign of the store: another one has ids of its own, which would mean other tables."""


@dataclass(frozen=True)
class Position:
    """Versions of tables and revisions of views, by id. `lacking`: pieces that PostgreSQL refuses, with reasons.
    `setup`: the form of role, rights and schemas. `life` changes with all oids, when it is rebuilt."""

    setup: int = 0
    life: str = ""
    store: str = ""
    digest: str = ""
    tables: Mapping[int, int] = field(default_factory=dict)
    views: Mapping[int, Known] = field(default_factory=dict)
    lacking: Mapping[Piece, str] = field(default_factory=dict)

    @property
    def sign(self) -> str:
        return f"{self.digest} {self.life}"

    def to_text(self) -> str:
        body: dict[str, Any] = {"setup": self.setup, "store": self.store, "tables": self.tables}
        body["views"] = {view_id: [known.revision, known.name] for view_id, known in self.views.items()}
        if self.lacking:
            body["lacking"] = [(p.table_id, p.kind, p.number, p.name, why) for p, why in self.lacking.items()]
        return f"{self.sign}\n{json.dumps(body, separators=(',', ':'))}"


def position_of(comment: str | None) -> Position:
    """The position in a comment; of a database without one a new one."""
    first, _, rest = (comment or "").partition("\n")
    if not rest:
        return Position()
    digest, _, life = first.partition(" ")
    body = json.loads(rest)
    tables = {int(table_id): version for table_id, version in body["tables"].items()}
    views = {int(view_id): Known(*known) for view_id, known in body["views"].items()}
    lacking = {Piece(*piece): why for *piece, why in body.get("lacking", ())}
    return Position(body["setup"], life, body["store"], digest, tables, views, lacking)
