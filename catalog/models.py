"""Tables of the catalog: tables, versions, the story."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Table(models.Model):
    """A table of the lab, with an id that is never reused. Publishing locks its row FOR UPDATE, a lease FOR SHARE."""

    class State(models.TextChoices):
        RESERVED = "reserved"
        LIVE = "live"
        DROPPED = "dropped"

    id = models.IntegerField(_("number"), primary_key=True)
    name = models.TextField(_("name"))
    version = models.IntegerField(_("version"), default=0)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.RESERVED)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    sandbox_of = models.TextField(_("sandbox of"), null=True)
    """The sandbox that the table belongs to, where alone the lab may break rules; None: an ordinary table. It never
    changes, and no foreign key touches the table: the database ensures both (`migrations/sandbox.sql`)."""

    class Meta:
        verbose_name = _("table")
        verbose_name_plural = _("tables")
        db_table = "catalog_table"
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=~models.Q(state="dropped"), name="a name belongs to one table"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


class Descriptor(models.Model):
    """One immutable version of a table; `body` is `catalog.descriptor.Descriptor.to_json()`."""

    table = models.ForeignKey(Table, verbose_name=_("table"), on_delete=models.PROTECT, related_name="descriptors")
    version = models.IntegerField(_("version"))
    body = models.JSONField(_("content"))
    schema_hash = models.CharField(_("schema hash"), max_length=16)
    sharding_hash = models.CharField(_("sharding hash"), max_length=16)
    modified_at = models.DateTimeField(_("published"), auto_now_add=True)

    class Meta:
        verbose_name = _("descriptor")
        verbose_name_plural = _("descriptors")
        db_table = "catalog_descriptor"
        constraints = [models.UniqueConstraint(fields=["table", "version"], name="one descriptor for each version")]
        ordering = ["table_id", "version"]

    def __str__(self) -> str:
        return f"{self.body['name']}@{self.version}"


class View(models.Model):
    """A stored query; `body` is `ViewDefinition.to_json()`. Written under the lock of submissions, read in a
    snapshot."""

    id = models.AutoField(primary_key=True)
    name = models.TextField(unique=True)
    revision = models.IntegerField(default=1)
    body = models.JSONField()
    modified_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "catalog_view"

    def __str__(self) -> str:
        return self.name


class Stream(models.Model):
    """The counter of a stream, incremented in the event's transaction, so seq order is commit order."""

    name = models.TextField(primary_key=True)
    seq = models.BigIntegerField(default=0)

    class Meta:
        db_table = "catalog_stream"

    def __str__(self) -> str:
        return f"{self.name} at {self.seq}"


class StoryEvent(models.Model):
    """Event `seq` of a stream (`catalog.story`)."""

    stream = models.TextField(_("stream"))
    seq = models.BigIntegerField(_("number"))
    kind = models.TextField(_("kind"))
    subject = models.TextField(_("subject"))
    payload = models.JSONField(_("content"), default=dict)
    at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("story event")
        verbose_name_plural = _("story events")
        db_table = "catalog_storyevent"
        constraints = [models.UniqueConstraint(fields=["stream", "seq"], name="a stream numbers its events once")]
        indexes = [
            models.Index(fields=["stream", "kind", "seq"], name="events_by_kind"),
            models.Index(fields=["stream", "at", "seq"], name="events_by_time"),
            models.Index(
                fields=["stream", "at", "seq"], condition=models.Q(payload__has_key="who"), name="acts_by_time"
            ),
        ]
        ordering = ["stream", "seq"]

    def __str__(self) -> str:
        return f"{self.stream}#{self.seq} {self.kind}"
