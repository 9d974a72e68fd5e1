"""News of sandbox tables withheld from nodes for a lesson, for a short while. News is a hint (L6): the node learns of
the newer version as it renews, and the publisher waits for its lease (L7). `migrations/withheld_news.sql` limits tables
and time."""

from collections.abc import Collection
from datetime import timedelta

from django.db import connection
from django.db.models.functions import Now

from leases.models import CLOCK, WithheldNews


def withhold(table_id: int, nodes: Collection[str], *, seconds: float) -> None:
    """Withholds news of this sandbox from these nodes; forgets what has expired."""
    WithheldNews.objects.filter(until__lt=Now()).delete()
    rows = [WithheldNews(table_id=table_id, node=node, until=CLOCK + timedelta(seconds=seconds)) for node in nodes]
    WithheldNews.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["table_id", "node"], update_fields=["until"]
    )


def spread(table_id: int, nodes: Collection[str] | None = None) -> None:
    found = WithheldNews.objects.filter(table_id=table_id)
    (found if nodes is None else found.filter(node__in=nodes)).delete()


def is_withheld(table_id: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM leases_news_withheld_now w WHERE w.table_id = %s)", [table_id])
        return bool(cursor.fetchone()[0])
