"""Tables of jobs on Spark. Any worker can continue a job from its rows (X2, X3). Every chunk locks the run's row FOR
SHARE (R7), so `ReorgPulse` has what changes often. A range's mark is written with its pairs (R3)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from spark_tasks.runs.feedback import SLOWER_MS_MAX, THROUGHPUT_MIN


class Kind(models.TextChoices):
    """The work of a run, as a plan's step kinds."""

    FILL = "fill", _("fill")
    VERIFY = "verify", _("verify")
    DELETE = "delete", _("delete")
    PURGE = "purge", _("purge")


class RunState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class RunRequest(models.TextChoices):
    """Requests to a run. `close` and `pause` come before the token moves, so that no chunk begins (R7)."""

    RUN = "run", _("run")
    PAUSE = "pause", _("pause")
    CLOSE = "close", _("close")


class Job(models.Model):
    """Columns of attempts (`spark_tasks.jobs.lifecycle`)."""

    state = models.CharField(_("state"), max_length=8, choices=RunState, default=RunState.WAITING)
    attempt = models.IntegerField(_("attempt"), default=0, help_text="claims: pauses and takeovers begin new ones")
    failures = models.IntegerField(_("failures"), default=0, help_text="in a row, with no row done in between")
    silences = models.IntegerField(default=0, help_text="attempts whose workers fell silent, in a row as well")
    rows_done_at_failure = models.BigIntegerField(default=0)
    error = models.TextField(_("error"), blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def seconds(self) -> float:
        """From the first attempt to the end."""
        if self.started_at is None or self.ended_at is None:
            return 0.0
        return float((self.ended_at - self.started_at).total_seconds())


class ReorgRun(Job):
    """A reorganisation, unique by change, kind and version. `violations`: the first of each kind, with its `total`."""

    change_id = models.BigIntegerField(_("change"))
    table_id = models.IntegerField(_("table"))
    kind = models.CharField(_("kind"), max_length=8, choices=Kind)
    elements = models.JSONField(_("elements"), help_text="each {kind, id, name}, in the order to be worked on")
    version = models.IntegerField(_("version"))
    token = models.BigIntegerField(_("token"), default=0)
    are_ranges_stored = models.BooleanField(_("ranges stored"), default=False)
    is_closed = models.BooleanField(_("closed"), default=False)
    violations = models.JSONField(_("violations"), default=list)

    class Meta:
        verbose_name = _("reorganisation")
        verbose_name_plural = _("reorganisations")
        constraints = [
            models.UniqueConstraint(fields=["change_id", "kind", "version"], name="a_change_runs_each_step_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} run {self.pk} of change {self.change_id}"


class ReorgRange(models.Model):
    """Keys low <= key < high of one storage, and the mark of the last chunk."""

    run = models.ForeignKey(ReorgRun, on_delete=models.CASCADE, related_name="ranges")
    number = models.IntegerField()
    storage = models.IntegerField()
    low = models.BinaryField()
    high = models.BinaryField()
    rows_total = models.BigIntegerField(help_text="estimated from a sample until the range is read, exact from then on")
    rows_done = models.BigIntegerField(default=0)
    is_done = models.BooleanField(default=False)
    chunks = models.IntegerField(default=0, help_text="committed so far")
    reached_storage = models.IntegerField(null=True)
    reached_key = models.BinaryField(
        null=True, help_text="the last pair of the last chunk: what follows leads on there"
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="ranges_are_numbered_once")]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"range {self.number} of run {self.run_id}"


class ReorgPulse(models.Model):
    """The live side of a run. `rows_done` and `share` never go back."""

    run = models.OneToOneField(ReorgRun, on_delete=models.CASCADE, primary_key=True, related_name="pulse")
    wanted = models.CharField(max_length=8, choices=RunRequest, default=RunRequest.RUN)
    rows_per_s_max = models.FloatField(_("throttle"), null=True)
    throttle_reason = models.TextField(blank=True, default="")
    traffic = models.FloatField(default=0, help_text="transactions of nodes at a time")
    works = models.FloatField(default=1, help_text="the share of its time that it works, beside traffic")
    is_quiet = models.BooleanField(default=False, help_text="no node does anything, as far as they say")
    felt = models.JSONField(default=dict, help_text="why it works so much: what statements took before, and take now")
    slower_ms_max = models.FloatField(default=SLOWER_MS_MAX, help_text="what statements may take longer for it")
    throughput_min = models.FloatField(
        default=THROUGHPUT_MIN, help_text="the share of statements that others must keep"
    )
    rows_done = models.BigIntegerField(default=0)
    rows_total = models.BigIntegerField(default=0)
    share = models.FloatField(default=0, help_text="of all rows, as far as they are known")
    rows_per_s = models.FloatField(default=0, help_text="of late; what it was last while it is stalled")
    is_stalled = models.BooleanField(default=False)
    heartbeat_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"pulse of run {self.run_id}"


class LoadJob(Job):
    table_id = models.IntegerField()
    path = models.TextField()
    file = models.JSONField(default=dict, help_text="when the load began: size, time of the last change, digest")
    parts_total = models.IntegerField(default=0)
    rows_total = models.BigIntegerField(default=0)
    rows_done = models.BigIntegerField(default=0)
    rows_per_s = models.FloatField(default=0)
    duplicates = models.JSONField(default=list)
    heartbeat_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"load {self.pk} of {self.path}"


class LoadMark(models.Model):
    """Rows `first` to `first + rows` are loaded, committed with this row. No foreign key: its check would read the job
    in a data transaction (T6)."""

    job = models.ForeignKey(LoadJob, on_delete=models.CASCADE, related_name="marks", db_constraint=False)
    first = models.BigIntegerField()
    rows = models.IntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "first"], name="a_chunk_is_loaded_once")]

    def __str__(self) -> str:
        return f"rows from {self.first} of load {self.job_id}"


class AuditJob(Job):
    """The seven clauses over a table, in one snapshot of `snapshot_s` seconds."""

    table_id = models.IntegerField()
    versions = models.JSONField(default=list)
    rows = models.BigIntegerField(default=0)
    pairs = models.BigIntegerField(default=0)
    violations = models.JSONField(default=list)
    violations_total = models.BigIntegerField(null=True, help_text="null: not counted by the version that judged")
    snapshot_s = models.FloatField(default=0)
    heartbeat_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"audit {self.pk} of table {self.table_id}"
