"""The story is searched by kind and by time, and the audit trail by time among the events that name somebody.

Added one after the other beside those who write: a story of millions of events is not locked meanwhile.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("catalog", "0003_sandbox_tables")]

    operations = [
        AddIndexConcurrently("storyevent", models.Index(fields=["stream", "kind", "seq"], name="events_by_kind")),
        AddIndexConcurrently("storyevent", models.Index(fields=["stream", "at", "seq"], name="events_by_time")),
        AddIndexConcurrently(
            "storyevent",
            models.Index(
                fields=["stream", "at", "seq"], condition=models.Q(payload__has_key="who"), name="acts_by_time"
            ),
        ),
    ]
