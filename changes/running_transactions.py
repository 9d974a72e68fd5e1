"""Transactions that block a change when no lease does (L7, L9). Without leases they last until `LEASE_S` after they
began; otherwise they have outlived their lease and their sessions are ended soon (L8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings

from catalog.elements import Coordination
from changes.driver.publish import node_of
from changes.plan.model import StepKind
from storage.postgres import holders

Json = dict[str, Any]
COORDINATION = "SELECT body ->> 'coordination' FROM catalog_descriptor WHERE table_id = %s AND version = %s"


def running(cursor: Any, table_id: int, version: int, kind: StepKind) -> list[Json]:
    """The transactions that block publishing `version` or draining at it, each with its latest end."""
    used = version - (2 if kind is StepKind.PUBLISH else 1)
    cursor.execute(COORDINATION, [table_id, used])
    known = cursor.fetchone()
    if known is None:
        return []
    has_leases = Coordination(known[0]).has_leases
    return [
        {
            "node": node_of(one.application_name),
            "table_id": table_id,
            "version": used,
            "until": None if has_leases else (one.since + timedelta(seconds=settings.LEASE_S)).isoformat(),
        }
        for one in holders(cursor, table_id, used)
    ]
