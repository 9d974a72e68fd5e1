"""News that is withheld from nodes, for a lesson: of sandbox tables, for a short while, and never for longer.

    withhold ── rows ──► heartbeats of these nodes do not tell of the table
                    └──► who publishes a version of it sends no news; the other nodes hear with their next heartbeat

News is a hint (L6): the node goes on under the version that it leases, learns of the newer one as it renews, and who
publishes waits for its lease as ever (L7). The database decides of which tables, and for how long at most
(`migrations/withheld_news.sql`).
"""

from collections.abc import Collection
from datetime import timedelta

from django.db import connection
from django.db.models.functions import Now

from leases.models import CLOCK, WithheldNews


def withhold(table_id: int, nodes: Collection[str], *, seconds: float) -> None:
    """From now on these nodes are sent no news of this sandbox; what was withheld and is over is forgotten."""
    WithheldNews.objects.filter(until__lt=Now()).delete()
    rows = [WithheldNews(table_id=table_id, node=node, until=CLOCK + timedelta(seconds=seconds)) for node in nodes]
    WithheldNews.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["table_id", "node"], update_fields=["until"]
    )


def spread(table_id: int, nodes: Collection[str] | None = None) -> None:
    """From now on these nodes, or all, hear again: at the latest with their next heartbeat."""
    found = WithheldNews.objects.filter(table_id=table_id)
    (found if nodes is None else found.filter(node__in=nodes)).delete()


def is_withheld(table_id: int) -> bool:
    """True if some node is to hear nothing of this table now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM leases_news_withheld_now w WHERE w.table_id = %s)", [table_id])
        return bool(cursor.fetchone()[0])
