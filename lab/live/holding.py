"""Notes people who block a change of a sandbox in the story, each once. A node's report of its transactions
(`leases.holders`) is forgotten when they end, so the timetable looks while a change waits."""

from __future__ import annotations

from django.db import transaction

from catalog.models import StoryEvent
from catalog.selectors import sandboxes
from catalog.services import append_event
from catalog.story import change_stream
from changes.models import Change, Status
from changes.notices import streams_of
from leases.selectors import held_leases

HELD_BACK = "sandbox held back"


def note_who_holds() -> int:
    """Note whose open transactions keep changes of sandboxes waiting now; how many were not known before."""
    waiting = Change.objects.filter(status=Status.WAITING, table_id__in=sandboxes().values("id"))
    return sum(_note(change) for change in waiting)


def _note(change: Change) -> int:
    """The sessions on a version that is not the newest: those on the newest block nothing (L7, L9)."""
    known = {
        (payload["who"], payload["node"])
        for payload in StoryEvent.objects.filter(stream=change_stream(change.pk), kind=HELD_BACK).values_list(
            "payload", flat=True
        )
    }
    found = {
        (holder.user, lease.node): lease.version
        for lease in held_leases(change.table_id)
        if lease.version < lease.newest
        for holder in lease.holders
    }
    new = {key: version for key, version in found.items() if key not in known}
    with transaction.atomic():
        for (who, node), version in new.items():
            payload = {"who": who, "node": node, "version": version, "change": change.pk, "table": change.table_name}
            append_event(HELD_BACK, change.table_name, payload, streams_of(change))
    return len(new)
