"""Past leases, and how each ended: released, expired or revoked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q

from catalog.models import StoryEvent, Table
from catalog.story import LEASES
from leases.models import CLOCK, Lease, Node, PastLease

SHOWN_MAX = 200
APART = timedelta(seconds=2)
"""A lease that an operator takes ends in the transaction that says so: no control transaction lasts longer."""
ENDED_BY = {"lease released": "released", "lease revoked": "revoked"}
Json = dict[str, Any]


def history(*, table_id: int | None, node: str | None) -> Json:
    leases, more = rows(table_id=table_id, node=node)
    # tables that exist or have remembered leases
    of_table = {"table_id": OuterRef("pk")}
    remembered = Exists(Lease.objects.filter(**of_table)) | Exists(PastLease.objects.filter(**of_table))
    return {
        "leases": leases,
        "more": more,
        "tables": list(
            Table.objects.exclude(state=Table.State.RESERVED)
            .filter(~Q(state=Table.State.DROPPED) | remembered)
            .order_by("name")
            .values_list("pk", "name")
        ),
        "nodes": list(Node.objects.order_by("name").values_list("name", flat=True)),
    }


def rows(**wanted: Any) -> tuple[list[Json], bool]:
    """The leases of a `table_id`, `version` or `node`, newest first, live before ended ones; True if more exist."""
    of = {name: value for name, value in wanted.items() if value is not None}
    is_over = ExpressionWrapper(Q(expires_at__lte=CLOCK), BooleanField())
    now = list(
        Lease.objects.filter(**of).annotate(is_over=is_over).order_by("is_over", "-acquired_at", "-pk")[:SHOWN_MAX]
    )
    past = list(PastLease.objects.filter(**of).order_by("-ended_at", "-pk")[: SHOWN_MAX + 1])
    names = dict(Table.objects.filter(pk__in={one.table_id for one in (*now, *past)}).values_list("pk", "name"))
    acts = _acts(past)
    found = [
        *(
            _row(one, names, ended_at=one.expires_at, how="ran out")  # and is not deleted yet
            if one.is_over
            else _row(one, names, ended_at=None, how="lasts")
            for one in now
        ),
        *(_row(one, names, ended_at=one.ended_at, **_how(one, names, acts)) for one in past[:SHOWN_MAX]),
    ]
    return found, len(past) > SHOWN_MAX


def _row(lease: Lease | PastLease, names: dict[int, str], *, ended_at: datetime | None, **how: str) -> Json:
    return {
        "table": names.get(lease.table_id, str(lease.table_id)),
        "version": lease.version,
        "node": lease.node,
        "incarnation": lease.incarnation,
        "acquired_at": lease.acquired_at,
        "ended_at": ended_at,
        "expires_at": lease.expires_at,
        "lasted_s": None if ended_at is None else (ended_at - lease.acquired_at).total_seconds(),
    } | how


def _how(lease: PastLease, names: dict[int, str], acts: Iterable[StoryEvent]) -> dict[str, str]:
    for act in acts:
        if abs(act.at - lease.ended_at) <= APART and _is_of(act.payload, lease, names):
            return {"how": ENDED_BY[act.kind], "who": act.payload["who"]}
    return {"how": "ran out" if lease.ended_at >= lease.expires_at else "given back"}


def _is_of(act: Json, lease: PastLease, names: dict[int, str]) -> bool:
    """True for an act on this lease. Acts of older releases name the table alone."""
    name = names.get(lease.table_id)
    is_of_table = act["table_id"] == lease.table_id if "table_id" in act else act["table"] == name
    return is_of_table and (act["node"], act["version"]) == (lease.node, lease.version)


def _acts(past: Sequence[PastLease]) -> list[StoryEvent]:
    if not past:
        return []
    between = (past[-1].ended_at - APART, past[0].ended_at + APART)
    return list(StoryEvent.objects.filter(stream=LEASES, kind__in=ENDED_BY, at__range=between))
