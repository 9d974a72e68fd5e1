"""The transaction that a pane has left open, statement by statement: what is lost when another person ends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.errors import SqlError
from nodes.sql.statements import parse

CHARS_MAX = 20_000
"""Of its statements so many characters are kept."""
Json = dict[str, Any]


@dataclass(slots=True)
class Unfinished:
    since: str | None = None
    tables: dict[tuple[int, int], int] = field(default_factory=dict)
    """Each version that it uses, by its table's id, with the number of the cluster's story before it did."""
    statements: list[str] = field(default_factory=list)
    left_out: int = 0
    """Statements for which there was no room."""
    writes: int = 0
    heard: int = 0
    """The number of the story before its newest statement."""

    @property
    def sql(self) -> str:
        return ";\n".join(self.statements)

    def add(self, trace: Json, heard: int) -> None:
        """A statement of it was answered; `heard` is the number of the story before it was sent."""
        self.since, self.heard = trace["transaction"]["since"], heard
        for one in trace["transaction"]["tables"]:
            self.tables.setdefault((one["id"], one["version"]), heard)
        self.writes += trace["operations"] > 0
        if self.left_out or sum(map(len, self.statements)) + len(trace["sql"]) > CHARS_MAX:
            self.left_out += 1
        else:
            self.statements.append(trace["sql"])


def follow(before: Unfinished | None, trace: Json, *, heard: int) -> Unfinished | None:
    """The pane's transaction after a statement with this trace; a failed one is not over, but has done nothing more."""
    about = trace["transaction"]
    if about["status"] == "idle":
        return None
    if about["status"] == "failed":
        return before
    now = before if before is not None and before.since in (None, about["since"]) else Unfinished()
    now.add(trace, heard)
    return now


def may_commit(sql: str) -> bool:
    """True if a text sent within a transaction may keep something: it commits, or goes on after a ROLLBACK."""
    try:
        kinds = [one.node.kind if one.kind == "transaction" else None for one in parse(sql)]
    except SqlError:
        return False
    return pb.TransactionStmtKind.TRANS_STMT_COMMIT in kinds or pb.TransactionStmtKind.TRANS_STMT_ROLLBACK in kinds[:-1]
