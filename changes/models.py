"""Tables of changes. Any worker can continue a change from its row (X3).

A constraint of the database keeps X1: a moving change has a claim on each of its tables, and a table has room for one.
"""

from __future__ import annotations

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _


class Status(models.TextChoices):
    AWAITING = "awaiting", "awaiting approval"
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    WAITING = "waiting", "waiting"
    PAUSED = "paused", "paused"
    ROLLING_BACK = "rolling_back", "rolling back"
    DONE = "done", "done"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


MOVING = (Status.RUNNING, Status.WAITING, Status.PAUSED, Status.ROLLING_BACK)
IN_QUEUE = (Status.QUEUED, *MOVING)
"""Others of its tables wait for it, and are planned on what it will leave."""
OPEN = (Status.AWAITING, *IN_QUEUE)
ENDED = (Status.DONE, Status.FAILED, Status.CANCELLED)


class Change(models.Model):
    """One DDL statement. `table_ids` are the tables it moves, in lock order (L11), settled when it begins; a new table
    has a reserved id. `names` are the meanings of the statement's names (`changes.ddl.bindings`). `wishes` are pending
    requests in order, which a publish looks at under the row's lock (X6): {"wish": "cancel", "who": ..}. `place` is the
    place in the queue after an approval, from the sequence of the ids, which are the places of other changes."""

    table_id = models.IntegerField(_("number of the table"))
    table_ids = ArrayField(models.IntegerField(), verbose_name=_("numbers of the tables"))
    table_name = models.TextField(_("table"))
    statement = models.TextField(_("statement"))
    names = models.JSONField(_("names"), default=dict)
    plan = models.JSONField(_("plan"))
    direction = models.CharField(_("direction"), max_length=16, default="forward")
    status = models.CharField(_("status"), max_length=16, choices=Status.choices, default=Status.QUEUED)
    step = models.IntegerField(_("step"), default=0)
    executor_state = models.JSONField(_("state of the executor"), null=True)
    error = models.JSONField(_("error"), null=True)
    who = models.TextField(_("submitted by"))
    wishes = models.JSONField(_("pending requests"), default=list)
    created_at = models.DateTimeField(_("submitted"), auto_now_add=True)
    started_at = models.DateTimeField(_("began"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    place = models.BigIntegerField(_("place in the queue"), null=True)

    class Meta:
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        indexes = [GinIndex(fields=["table_ids"], name="changes_of_a_table")]
        permissions = [
            ("steer_any_change", "Can pause, resume and cancel changes of others"),
            ("approve_change", "Can approve and reject changes of others"),
        ]

    def __str__(self) -> str:
        return gettext("change %(id)s: %(statement)s") % {"id": self.pk, "statement": self.statement}

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def was_needless(self) -> bool:
        """Done without a step: there was nothing to do."""
        return self.status == Status.DONE and self.executor_state is None


class Approval(models.Model):
    """A change waits for a second person, or `who` has decided, for reason `why`."""

    change = models.OneToOneField(Change, on_delete=models.CASCADE, primary_key=True, related_name="approval")
    asked_at = models.DateTimeField(auto_now_add=True)
    is_approved = models.BooleanField(null=True)
    who = models.TextField(default="")
    why = models.TextField(default="")
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(is_approved=None, who="", why="", decided_at=None)
                | (models.Q(is_approved__isnull=False, decided_at__isnull=False) & ~models.Q(who="")),
                name="a_decision_is_somebodys",
            ),
            models.CheckConstraint(
                condition=models.Q(is_approved=None) | models.Q(is_approved=True) | ~models.Q(why=""),
                name="a_rejection_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        decided = {None: "waits for approval", True: f"approved by {self.who}", False: f"rejected by {self.who}"}
        return f"change {self.change_id} {decided[self.is_approved]}"


class Step(models.Model):
    """A step that has begun. `number` counts in its direction."""

    change = models.ForeignKey(Change, verbose_name=_("change"), on_delete=models.CASCADE, related_name="steps")
    road = models.CharField(_("direction"), max_length=16, default="forward")
    number = models.IntegerField(_("number"))
    kind = models.CharField(_("kind"), max_length=32)
    version = models.IntegerField(_("version"), null=True)
    started_at = models.DateTimeField(_("began"))
    ended_at = models.DateTimeField(_("ended"), null=True)
    waited_for = models.JSONField(_("waited for"), default=list)
    waited_s = models.FloatField(_("seconds waited"), default=0)
    tries = models.IntegerField(_("tries"), default=1, db_default=1)
    """Once, again after each failure, and by each worker that took the change over."""

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        ordering = ["-road", "number"]  # forward, then back
        constraints = [
            models.UniqueConstraint(fields=["change", "road", "number"], name="a_road_numbers_its_steps_once")
        ]

    def __str__(self) -> str:
        shown = {"number": self.number, "id": self.change_id, "kind": pgettext("step", self.kind)}
        return gettext("step %(number)s of change %(id)s: %(kind)s") % shown


class Claim(models.Model):
    """Change `change` moves `table_id`, and no other does (X1); set by triggers (`migrations/claims.sql`)."""

    table_id = models.IntegerField(primary_key=True)
    change = models.ForeignKey(Change, on_delete=models.CASCADE, related_name="claims")

    def __str__(self) -> str:
        return f"table {self.table_id} is moved by change {self.change_id}"


class SchemaChangeLease(models.Model):
    """X2: `holder` may move the schema of `table_id` until `expires_at`; each new holder has a higher token."""

    table_id = models.IntegerField(_("number of the table"), primary_key=True)
    holder = models.TextField(_("holder"))
    token = models.BigIntegerField(_("token"))
    expires_at = models.DateTimeField(_("expires"))

    class Meta:
        verbose_name = _("schema change lease")
        verbose_name_plural = _("schema change leases")

    def __str__(self) -> str:
        shown = {"table": self.table_id, "holder": self.holder, "token": self.token}
        if self.holder:
            return gettext("table %(table)s is moved by %(holder)s (token %(token)s)") % shown
        return gettext("table %(table)s is moved by nobody (token %(token)s)") % shown


class Reservation(models.Model):
    """A transaction of `node` is making `table_id`; its names are free when it ends or the node dies (T9). `names`: the
    table's first name, its indexes', and later ones."""

    table_id = models.IntegerField(primary_key=True)
    node = models.TextField()
    incarnation = models.BigIntegerField()
    names = models.JSONField(default=list)
    token = models.UUIDField(null=True)
    """Made by who reserves: it can free the names although the answer to its COMMIT, and so the id, was lost."""
    reserved_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"table {self.table_id} reserved by {self.node}"


class Proof(models.Model):
    """A plan and the explorer's answer. `key` stands for the plan and the rules. Plans that differ only in names have
    the same `model`, and share an answer. `beginnings`: searches since the last answer."""

    key = models.CharField(max_length=64, primary_key=True)
    plan = models.JSONField()
    model = models.CharField(max_length=64, default="", db_index=True)
    answer = models.JSONField(null=True)
    asked_at = models.DateTimeField(db_index=True)
    begun_at = models.DateTimeField(null=True)
    beginnings = models.PositiveSmallIntegerField(default=0, db_default=0)
    answered_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"proof {self.key[:8]}: {self.answer['verdict'] if self.answer else 'not answered yet'}"


class Record(models.Model):
    """The facts around an ended change (`leases.staircase.facts`), kept before their source is trimmed."""

    change = models.OneToOneField(Change, on_delete=models.CASCADE, primary_key=True, related_name="record")
    facts = models.JSONField()
    kept_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"record of change {self.change_id}"


class Destination(models.Model):
    """A webhook (signed with `secret`) or email addresses; operators choose them. A wait is too long after `wait_s`."""

    class Kind(models.TextChoices):
        WEBHOOK = "webhook", _("webhook")
        EMAIL = "email", _("email")

    class Occasion(models.TextChoices):
        WAITING = "waiting", _("a change waits too long")
        FAILED = "failed", _("a change failed")
        DONE = "done", _("a change is done")
        CANCELLED = "cancelled", _("a change was cancelled")
        APPROVAL = "approval", _("a change awaits approval, or was decided about")

    name = models.CharField(_("name"), max_length=80, unique=True)
    kind = models.CharField(_("kind"), max_length=8, choices=Kind, default=Kind.WEBHOOK)
    address = models.CharField(_("address"), max_length=500)
    occasions = ArrayField(models.CharField(max_length=16, choices=Occasion), verbose_name=_("occasions"), default=list)
    wait_s = models.PositiveIntegerField(_("seconds that are too long"), default=60)
    is_on = models.BooleanField(_("on"), default=True)
    secret = models.CharField(_("secret"), max_length=64)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("destination of notifications")
        verbose_name_plural = _("destinations of notifications")
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind="webhook", address__regex="^https?://")
                | models.Q(kind="email", address__contains="@"),
                name="a_destination_has_an_address_of_its_kind",
            ),
            models.CheckConstraint(condition=~models.Q(secret=""), name="a_destination_has_a_secret"),
            models.CheckConstraint(
                condition=models.Q(wait_s__gte=1), name="a_wait_is_too_long_after_a_second_at_least"
            ),
        )

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """A notification for one destination; `about` is unique for it. A sender moves `due_at` ahead first, so that no
    other sends it; after a crash it is due again, with the same id."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        DELIVERED = "delivered", _("delivered")
        GIVEN_UP = "given_up", _("given up")

    id = models.UUIDField(_("number"), primary_key=True, default=uuid4, editable=False)
    destination = models.ForeignKey(
        Destination, verbose_name=_("destination of notifications"), on_delete=models.CASCADE, related_name="deliveries"
    )
    about = models.CharField(_("subject"), max_length=120)
    message = models.JSONField(_("message"))
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.PENDING)
    tries = models.PositiveSmallIntegerField(_("tries"), default=0)
    answer = models.TextField(_("answer"), default="", blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    due_at = models.DateTimeField(_("due"))
    asked_until = models.DateTimeField(_("asked until"), null=True)
    """Until then a message that asks a worker to send it may be on its way."""
    ended_at = models.DateTimeField(_("ended"), null=True)

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=["due_at"], name="deliveries_that_are_due", condition=models.Q(state="pending")),
            models.Index(fields=["-created_at"], name="deliveries_by_time"),
            models.Index(fields=["ended_at"], name="deliveries_by_their_end"),
        )
        constraints = (
            models.UniqueConstraint(fields=["destination", "about"], name="a_destination_is_notified_once"),
            models.CheckConstraint(
                condition=models.Q(state="pending", ended_at=None)
                | models.Q(state__in=("delivered", "given_up"), ended_at__isnull=False),
                name="a_delivery_has_ended_or_is_pending",
            ),
        )

    def __str__(self) -> str:
        return f"{self.about} to {self.destination_id}: {self.state}"


class OutboxPlace(models.Model):
    """The last event of a stream for which deliveries were made."""

    stream = models.TextField(primary_key=True)
    seq = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.stream} up to {self.seq}"
