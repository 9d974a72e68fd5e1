"""Reads tables, descriptors and the story."""

from collections.abc import Iterable
from typing import Any

from django.db.models import F, QuerySet
from django.utils.translation import gettext

from catalog import descriptor as descriptors
from catalog.elements import TableId
from catalog.models import Descriptor, StoryEvent, Stream, Table, View
from catalog.story import UnknownKind, particulars, sentence
from catalog.view_definition import ViewDefinition, view_from_json


def live_tables() -> list[Table]:
    """Tables that exist or are being made, by name."""
    return list(Table.objects.exclude(state=Table.State.DROPPED).order_by("name"))


def table_named(name: str) -> Table | None:
    return Table.objects.exclude(state=Table.State.DROPPED).filter(name=name).first()


def sandboxes() -> QuerySet[Table]:
    """Tables on which the lab may break rules, also while being made or dropped."""
    return Table.objects.exclude(state=Table.State.DROPPED).filter(sandbox_of__isnull=False)


def newest_descriptor(table_id: int) -> descriptors.Descriptor | None:
    """The newest version of a table, or None."""
    row = Descriptor.objects.filter(table_id=table_id).order_by("-version").first()
    return None if row is None else descriptors.from_json(row.body)


def stored_views() -> tuple[ViewDefinition, ...]:
    rows = View.objects.order_by("name").values_list("id", "name", "revision", "body")
    return tuple(view_from_json(*row) for row in rows)


VIEWS_LISTED_MAX = 200


def listed_views() -> list[dict[str, Any]]:
    """The first views by name, without queries."""
    rows = View.objects.order_by("name").values_list("id", "name", "body__columns", "body__tables", "body__views")
    return [
        {
            "id": view_id,
            "name": name,
            "columns": [column[0] for column in columns],
            "table_ids": [table_id for _, table_id, _ in tables],
            "view_ids": [other for _, other, *_ in views],
        }
        for view_id, name, columns, tables, views in rows[:VIEWS_LISTED_MAX]
    ]


def columns_by_table() -> dict[str, list[str]]:
    """Tables that statements may name, with their public columns."""
    newest = Descriptor.objects.filter(version=F("table__version"), table__state=Table.State.LIVE)
    bodies = [descriptors.from_json(body) for body in newest.order_by("table__name").values_list("body", flat=True)]
    return {body.name: [column.name for column in body.public_columns] for body in bodies}


def tables_beside(versions: Iterable[descriptors.Descriptor]) -> dict[TableId, descriptors.Descriptor]:
    """The tables at the other ends of these versions' foreign keys, as they are now, by id."""
    ids = {c.references for version in versions for c in version.constraints if c.references is not None}
    found = {table_id: newest_descriptor(table_id) for table_id in ids}
    return {table_id: body for table_id, body in found.items() if body is not None}


def descriptor_at(table_id: int, version: int) -> descriptors.Descriptor:
    return descriptors.from_json(Descriptor.objects.get(table_id=table_id, version=version).body)


def newest_seq(stream: str) -> int:
    """The number of the stream's last event; 0 before the first."""
    return Stream.objects.filter(name=stream).values_list("seq", flat=True).first() or 0


def events_since(stream: str, since: int, limit: int = 500) -> list[dict[str, Any]]:
    return [event_json(e) for e in StoryEvent.objects.filter(stream=stream, seq__gt=since).order_by("seq")[:limit]]


def event_json(event: StoryEvent) -> dict[str, Any]:
    """A stored event with its sentence in the active language."""
    try:
        words = sentence(event.kind, event.payload, gettext)
    except UnknownKind:
        words = event.kind
    return {
        "stream": event.stream,
        "seq": event.seq,
        "kind": event.kind,
        "subject": event.subject,
        "payload": event.payload,
        "at": event.at.isoformat(),
        "sentence": words,
        "particulars": particulars(event.payload),
    }
