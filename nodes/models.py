"""SQL passwords of people who sign in at the nodes' ports, and runs of traffic."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class SqlPassword(models.Model):
    """A person's password for the SQL ports, kept as what checks it (`nodes.wire.scram.Verifier`)."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="sql_password"
    )
    verifier = models.TextField()
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"SQL password of {self.user_id}"


class TrafficRun(models.Model):
    """Traffic that was started from the page. While it goes on `figures` are those of its last second."""

    table_id = models.IntegerField()
    table_name = models.TextField()
    clients = models.IntegerField(help_text="for each node")
    writes_percent = models.IntegerField()
    who = models.TextField()
    started_at = models.DateTimeField(auto_now_add=True)
    ends_at = models.DateTimeField(help_text="it ends by itself then")
    reported_at = models.DateTimeField(auto_now_add=True)
    stopped_by = models.TextField(default="", blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    why = models.TextField(default="", blank=True)
    figures = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("table_id",), condition=Q(ended_at=None), name="nodes_trafficrun_one_of_a_table_at_a_time"
            ),
        )

    def __str__(self) -> str:
        return f"run {self.pk} of traffic on {self.table_name}"
