"""The trace of one statement: which versions it used, how it was tried, what it read by, which pairs it changed.

It is sent as a notice before the statement's result, or its error, with `SQLSTATE` as its code and JSON as its detail:
    {"kind": "update", "sql": "UPDATE ..", "ms": 4.1, "tables": [{"id": 7, "name": "flights", "version": 14, ..}],
     "steps": [{"do": "lease", "ms": 0.1, ..}, ..], "scans": [..], "hidden": [..], "pairs": [..], "operations": 3,
     "keys": 3, "left_out": 0, "transaction": {"status": "open", ..}}
A failed statement reports no pair: it kept none. `left_out` counts the operations at keys whose end is not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter
from typing import Any

from catalog.descriptor import Descriptor
from leases.node.uses import Pin
from nodes.trace.writes import KEYS_MAX

SQLSTATE = "00SL1"
STEPS_MAX = 40
SQL_CHARS_MAX = 2000
Json = dict[str, Any]


@dataclass(eq=False)
class Trace:
    """The work on a statement so far. `kind` is the statement's (`nodes.sql.statements`)."""

    kind: str
    sql: str
    began: float = field(default_factory=perf_counter)
    tables: list[Json] = field(default_factory=list)
    steps: list[Json] = field(default_factory=list)
    scans: list[Json] = field(default_factory=list)
    hidden: list[Json] = field(default_factory=list)
    pairs: list[Json] = field(default_factory=list)
    operations: int = 0
    keys: int = 0
    left_out: int = 0

    @property
    def keys_left(self) -> int:
        return max(0, KEYS_MAX - self.keys)

    def step(self, do: str, **more: Any) -> None:
        if len(self.steps) < STEPS_MAX:
            self.steps.append({"do": do, "ms": self._ms()} | more)

    def amend(self, do: str, **more: Any) -> None:
        step = next((one for one in reversed(self.steps) if one["do"] == do), None)
        if step is not None:
            step.update(more)

    def leased(self, pin: Pin, *, was_held: bool, fresh: bool) -> None:
        """The transaction uses a version from now on; `was_held`: the node had it, and asked nobody."""
        about = {"table": pin.descriptor.name, "version": pin.version, "until": pin.expires_at_now.isoformat()}
        self.step("lease" if pin.is_leased else "version", **about, was_held=was_held, fresh=fresh)

    def planned(
        self, pins: Mapping[int, Pin], used: Iterable[Descriptor], scans: Sequence[Json], hidden: Sequence[Json]
    ) -> None:
        self.scans, self.hidden, self.tables = list(scans), list(hidden), []
        for one in used:
            pin = pins.get(one.table_id)  # a table that the transaction itself has made has none
            until = None if pin is None else pin.expires_at_now.isoformat()
            self.tables.append({"id": one.table_id, "name": one.name, "version": one.version, "until": until})
        self.step("plan", versions=[[one["name"], one["version"]] for one in self.tables])

    def again(self, do: str, **more: Any) -> None:
        """The statement is tried anew, and nothing that was written is kept: a "retry", or a "reload"."""
        self.forget()
        self.step(do, **more)

    def forget(self) -> None:
        self.pairs, self.operations, self.keys, self.left_out = [], 0, 0, 0

    def wrote(self, pairs: Iterable[Json], *, operations: int, keys: int, left_out: int) -> None:
        """Pairs were written; of `keys` keys it is known what became of them, `left_out` operations are at others."""
        self.pairs += pairs
        self.operations += operations
        self.keys += keys
        self.left_out += left_out
        self.step("write", operations=operations)

    def words(self) -> str:
        used = ", ".join(f"{one['name']} v{one['version']}" for one in self.tables) or "no table"
        signs = [pair["sign"] for pair in self.pairs]
        counted = " ".join(f"{sign}{signs.count(sign)}" for sign in "+-~" if sign in signs)
        return f"{self.kind}: {used}{f'; pairs {counted}' if counted else ''}"

    def to_text(self, transaction: Json) -> str:
        shown = {
            "kind": self.kind,
            "sql": self.sql[:SQL_CHARS_MAX],
            "ms": self._ms(),
            "tables": self.tables,
            "steps": self.steps,
            "scans": self.scans,
            "hidden": self.hidden,
            "pairs": self.pairs,
            "operations": self.operations,
            "keys": self.keys,
            "left_out": self.left_out,
            "transaction": transaction,
        }
        return json.dumps(shown, separators=(",", ":"))

    def _ms(self) -> float:
        return round((perf_counter() - self.began) * 1000, 2)


def transaction_json(
    status: str, since: datetime | None, pins: Iterable[Pin] = (), *, has_written: bool = False
) -> Json:
    """The session's transaction after a statement: "idle", "open" or "failed", since when, and what it uses."""
    return {
        "status": status,
        "since": None if since is None else since.isoformat(),
        "has_written": has_written,
        "tables": [
            {
                "id": pin.table_id,
                "name": pin.descriptor.name,
                "version": pin.version,
                "until": pin.expires_at_now.isoformat(),
            }
            for pin in pins
        ],
    }
