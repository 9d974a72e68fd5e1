"""The record of a change, so that any worker can go on with it (X3).

    Change             the statement, its plan, where the executor's machine stands
    Step               one leg of the way: which version, how long it took, whom it waited for
    Claim              that this change moves that table, now
    SchemaChangeLease  which worker may move a table's schema, and its token (X2)
    Reservation        the names that a transaction on some node holds for the table it is making (T9)
    Proof              what the explorer says of a plan, whoever asked for it
    Record             the window of time around it, for its lanes over time, once it has ended

That one change at a time moves a table (X1) is a constraint of the database, not a habit of the workers: a change
that moves has a claim on each of its tables, and a table has room for one.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models


class Status(models.TextChoices):
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    WAITING = "waiting", "waiting"
    PAUSED = "paused", "paused"
    ROLLING_BACK = "rolling_back", "rolling back"
    DONE = "done", "done"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


MOVING = (Status.RUNNING, Status.WAITING, Status.PAUSED, Status.ROLLING_BACK)
OPEN = (Status.QUEUED, *MOVING)
ENDED = (Status.DONE, Status.FAILED, Status.CANCELLED)


class Change(models.Model):
    """One DDL statement on its way. `table_id` is known from the start: CREATE TABLE takes a spare one.

    `table_ids` are all the tables it moves, in the order in which they are locked: with a foreign key the other table,
    too (L11). They are settled once the change begins, when it is planned on the tables as they are then. `names` are
    what the statement's names stand for, settled when it was submitted (`changes.ddl.bindings`).
    `executor_state` is the machine's, without its plan. `wishes` are pending requests of people, in the order in
    which they came, until the driver has heard them: {"wish": "cancel", "who": ..}. Whoever publishes looks at them
    under the row's lock (X6).
    """

    table_id = models.IntegerField()
    table_ids = ArrayField(models.IntegerField())
    table_name = models.TextField()
    statement = models.TextField()
    names = models.JSONField(default=dict)
    plan = models.JSONField()
    direction = models.CharField(max_length=16, default="forward")
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    step = models.IntegerField(default=0)
    executor_state = models.JSONField(null=True)
    error = models.JSONField(null=True)
    who = models.TextField()
    wishes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [GinIndex(fields=["table_ids"], name="changes_of_a_table")]
        permissions = [("steer_any_change", "Can pause, resume and cancel changes of others")]

    def __str__(self) -> str:
        return f"change {self.pk}: {self.statement} ({self.status})"

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def was_needless(self) -> bool:
        """It is done without a step: when its turn came, there was nothing to do."""
        return self.status == Status.DONE and self.executor_state is None


class Step(models.Model):
    """A step of a change, once it has begun: publish, drain (a wait), fill, .. `number` counts in its direction."""

    change = models.ForeignKey(Change, on_delete=models.CASCADE, related_name="steps")
    road = models.CharField(max_length=16, default="forward")
    number = models.IntegerField()
    kind = models.CharField(max_length=32)
    version = models.IntegerField(null=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    waited_for = models.JSONField(default=list)
    waited_s = models.FloatField(default=0)
    tries = models.IntegerField(default=1, db_default=1)
    """How often it was begun: once, again after each failure, and by each worker that took the change over."""

    class Meta:
        ordering = ["-road", "number"]  # forward, then back
        constraints = [
            models.UniqueConstraint(fields=["change", "road", "number"], name="a_road_numbers_its_steps_once")
        ]

    def __str__(self) -> str:
        return f"step {self.number} of change {self.change_id}: {self.kind}"


class Claim(models.Model):
    """Change `change` moves `table_id`, and no other does (X1).

    Kept by triggers on the change's row (`migrations/claims.sql`): they come when it begins to move and go with its
    end, whoever writes its status.
    """

    table_id = models.IntegerField(primary_key=True)
    change = models.ForeignKey(Change, on_delete=models.CASCADE, related_name="claims")

    def __str__(self) -> str:
        return f"table {self.table_id} is moved by change {self.change_id}"


class SchemaChangeLease(models.Model):
    """Holder `holder` may move the schema of `table_id` until `expires_at`; each new holder has a higher token."""

    table_id = models.IntegerField(primary_key=True)
    holder = models.TextField()
    token = models.BigIntegerField()
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"table {self.table_id} moved by {self.holder} (token {self.token})"


class Reservation(models.Model):
    """An explicit transaction of `node` is making `table_id`; its names are freed when it ends, or its node dies.

    The table's own name stands in its row; `names` are those of its unique indexes.
    """

    table_id = models.IntegerField(primary_key=True)
    node = models.TextField()
    incarnation = models.BigIntegerField()
    names = models.JSONField(default=list)
    reserved_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"table {self.table_id} reserved by {self.node}"


class Proof(models.Model):
    """A plan, and the explorer's answer once there is one. `key` stands for the plan and the rules it was judged by.

    `model` stands for what was explored; plans that differ only in names have the same, and share an answer.
    `beginnings`: how many searches have begun since the last one that ended with an answer.
    """

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
    """The facts of the time around a finished change (`leases.staircase.facts`), after they have gone elsewhere."""

    change = models.OneToOneField(Change, on_delete=models.CASCADE, primary_key=True, related_name="record")
    facts = models.JSONField()
    kept_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"record of change {self.change_id}"
