"""Sandbox tables: on them, and on no other, the lab may break the rules of the protocol on the real cluster. The
database refuses to give or change the mark of a table (catalog/migrations/sandbox.sql), and no foreign key leads from
or to it. Each person has at most a few; the owner, or after an hour the timetable, drops it as any change."""

from __future__ import annotations

import logging
import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.timezone import now

from catalog import selectors as catalog
from catalog.models import Table
from catalog.text.sql_names import quoted
from changes import notices, selectors
from changes import services as changes
from changes.ddl.errors import DdlError
from changes.models import Change

log = logging.getLogger(__name__)

LIFE = timedelta(hours=1)
COLUMNS = "id bigint PRIMARY KEY, a bigint"
TIMETABLE = "the timetable"
"""The name that drops expired sandboxes; no person has it, since it has a space."""


class NoSuchSandbox(changes.ChangeError):
    """There is no sandbox of this name, or it is somebody else's."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox table; the timetable drops it at `ends_at`."""

    table_id: int
    name: str
    owner: str
    state: str
    ends_at: datetime

    def to_json(self) -> dict[str, Any]:
        return {"table": self.name, "id": self.table_id, "owner": self.owner, "state": self.state,
                "ends_at": self.ends_at.isoformat()}  # fmt: skip


def sandboxes(owner: str | None = None) -> list[Sandbox]:
    """Those there are, of one person or of all, oldest first; the ones that are being made or dropped included."""
    found = catalog.sandboxes()
    if owner is not None:
        found = found.filter(sandbox_of=owner)
    return [_sandbox(table) for table in found.order_by("created_at", "id")]


def _sandbox(table: Table) -> Sandbox:
    assert table.sandbox_of is not None, table
    return Sandbox(table.pk, table.name, table.sandbox_of, table.state, table.created_at + LIFE)


def make(who: str, name: str = "") -> Change:
    """Submit the change that makes a sandbox of `who`. Raises what `changes.services.submit` raises."""
    chosen = name or f"sandbox_{secrets.token_hex(3)}"
    return changes.submit(f"CREATE TABLE {quoted(chosen)} ({COLUMNS})", who=who, is_sandbox=True)


def drop(name: str, *, who: str, may_drop_all: bool = False) -> Change:
    """The change that drops a sandbox, submitted now or before; raises `NoSuchSandbox` and what `submit` raises."""
    table = catalog.sandboxes().filter(name=name).first()
    if table is None or not (may_drop_all or table.sandbox_of == who):
        raise NoSuchSandbox(f"{who} has no sandbox called {name}")
    return _dropping(table) or _drop(table, who)


def drop_one_that_is_over() -> int | None:
    """The change that drops the oldest sandbox whose hour is over, if there is one; one at a time is pace enough."""
    for table in catalog.sandboxes().filter(state=Table.State.LIVE, created_at__lt=now() - LIFE).order_by("created_at"):
        if _dropping(table) is not None:
            continue
        try:
            return int(_drop(table, TIMETABLE).pk)
        except (changes.ChangeError, DdlError) as error:
            log.warning("sandbox %s is not dropped now: %s", table.name, error)
    return None


def _drop(table: Table, who: str) -> Change:
    return changes.submit(f"DROP TABLE {quoted(table.name)}", who=who, may_change_all=True)


def wait(change: Change, *, seconds: float) -> Change:
    for event in notices.follow(change.pk, until=time.monotonic() + seconds):
        log.debug("change %s: %s", change.pk, event["sentence"])
    change.refresh_from_db()
    return change


def _dropping(table: Table) -> Change | None:
    dropping = (
        change for change in selectors.open_changes(table.pk) if selectors.execution_of(change).plan.drops_table
    )
    return next(dropping, None)
