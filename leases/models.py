"""The lease table: which node may use which version of which table until when (L1), as in seed 003.

Only the server functions of `migrations/lease_functions.sql` write nodes and leases, in one statement of the client
each, so no lock waits for a client (L3). A trigger keeps a deleted lease as a past one; `leases.recorder.trim` bounds
those and the recorded seconds.
"""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

# A database session of a node is named "schemalab node <name> <incarnation>"; PostgreSQL keeps 63 bytes of that.
NODE_NAME_PATTERN = r"^[a-z][a-z0-9_-]{0,23}$"
MAY_CONTROL_NODES = "leases.drain_node"
"""The permission to drain nodes, and to kill, freeze, thaw and start processes."""
CLOCK = models.Func(function="clock_timestamp", output_field=models.DateTimeField())


class Node(models.Model):
    """A server process. `heartbeat_at` is null after an orderly end."""

    class State(models.TextChoices):
        UP = "up", _("up")
        DRAINING = "draining", _("draining")
        DOWN = "down", _("down")

    name = models.TextField(_("name"), primary_key=True)
    incarnation = models.BigIntegerField(_("incarnation"), default=0)
    host = models.TextField(_("host"))
    port = models.IntegerField(_("port"))
    pid = models.IntegerField(_("process"))
    state = models.TextField(_("state"), choices=State.choices, default=State.UP)
    is_drain_asked = models.BooleanField(_("drain asked"), default=False)
    heartbeat_at = models.DateTimeField(_("last heartbeat"), null=True)

    class Meta:
        verbose_name = _("node")
        verbose_name_plural = _("nodes")
        ordering = ("name",)
        permissions = (("drain_node", _("Can drain and undrain nodes")),)
        constraints = (
            models.CheckConstraint(
                condition=Q(name__regex=NODE_NAME_PATTERN), name="leases_node_name_fits_session_name"
            ),
            models.CheckConstraint(condition=Q(state__in=("up", "draining", "down")), name="leases_node_state_known"),
        )

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """Incarnation `incarnation` of `node` may use `version` of table `table_id` until `expires_at`."""

    table_id = models.IntegerField(_("table"))
    version = models.IntegerField(_("version"))
    node = models.TextField(_("node"))
    incarnation = models.BigIntegerField(_("incarnation"))
    expires_at = models.DateTimeField(_("expires"))
    acquired_at = models.DateTimeField(_("acquired"), db_default=CLOCK)

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        ordering = ("table_id", "version", "node", "incarnation")
        permissions = (
            ("release_lease", _("Can release leases that nobody uses")),
            ("revoke_lease", _("Can revoke leases and end the sessions that use them")),
        )
        constraints = (
            # Its index begins with (table_id, version): what a publisher asks for (L7).
            models.UniqueConstraint(
                fields=("table_id", "version", "node", "incarnation"), name="leases_lease_one_per_version_and_node"
            ),
        )

    def __str__(self) -> str:
        shown = {"node": self.node, "version": self.version, "table": getattr(self, "table_name", self.table_id)}
        return gettext("%(node)s leases version %(version)s of table %(table)s") % shown


class PastLease(models.Model):
    """A lease that ended at `ended_at`: released, revoked, or expired at `expires_at`."""

    table_id = models.IntegerField()
    version = models.IntegerField()
    node = models.TextField()
    incarnation = models.BigIntegerField()
    acquired_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["table_id", "ended_at"], name="past_leases_of_a_table"),)

    def __str__(self) -> str:
        return f"{self.node} leased version {self.version} of table {self.table_id} until {self.ended_at:%H:%M:%S}"


class RecordedSecond(models.Model):
    """The second that ended at `at` (since 1970), of the `nodes` that reported it."""

    at = models.BigIntegerField(primary_key=True)
    statements_per_s = models.FloatField()
    p50_ms = models.FloatField(null=True)
    p99_ms = models.FloatField(null=True)
    nodes = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.statements_per_s:g} statements in the second up to {self.at}"


class WithheldNews(models.Model):
    """Until then `node` hears no news of a sandbox, for a lesson."""

    table_id = models.IntegerField()
    node = models.TextField()
    until = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("table_id", "node"), name="leases_news_withheld_once"),)

    def __str__(self) -> str:
        return f"{self.node} is sent no news of table {self.table_id} until {self.until:%H:%M:%S}"
