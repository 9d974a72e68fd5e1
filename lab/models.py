"""Questions to the explorer, progress in chapters, courses, polls and replays."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class Question(models.Model):
    owner = models.CharField(max_length=80)
    key = models.CharField(max_length=64, db_index=True)
    """The question and the rules: equal questions have one answer."""

    asked = models.JSONField()
    asked_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    """The last message to the worker."""

    begun_at = models.DateTimeField(null=True)
    beginnings = models.PositiveSmallIntegerField(default=0, db_default=0)
    looked_at = models.DateTimeField(null=True)
    """The last sign of life of the search."""

    progress = models.JSONField(null=True)
    is_stopped = models.BooleanField(default=False)
    answer = models.JSONField(null=True)

    class Meta:
        indexes = (models.Index(fields=["asked_at"], name="lab_question_asked_at"),)

    def __str__(self) -> str:
        return f"question {self.pk} of {self.owner}"


class Course(models.Model):
    """Chapters that a teacher takes a class through. The token lets learners join while it is open."""

    name = models.CharField(max_length=100)
    chapters = models.JSONField()
    language = models.CharField(max_length=10)
    is_anonymous = models.BooleanField()
    """No account and no name of a member is stored, only a number."""

    token = models.CharField(max_length=32, unique=True)
    is_open = models.BooleanField(default=True)
    is_shared = models.BooleanField(default=False)
    """Members see how everybody answered the predictions that they have answered themselves."""

    paced_chapter = models.CharField(max_length=100, blank=True, default="", db_default="")
    paced_screen = models.CharField(max_length=100, blank=True, default="", db_default="")
    """The screen up to which members may go (`lab.classroom.pace`); "": as far as they like."""

    joined = models.PositiveIntegerField(default=0)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A learner in a course: a person with an account, a name, or, in an anonymous course, a number only."""

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="members")
    number = models.PositiveIntegerField()
    """Counted from 1 in the order of joining, and never given twice."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60, blank=True)
    joined_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["course", "number"], name="lab_membership_has_its_number"),
            models.UniqueConstraint(fields=["course", "user"], name="lab_membership_is_one_of_a_person"),
        )

    def __str__(self) -> str:
        return f"member {self.number} of {self.course}"


class Progress(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    visitor = models.CharField(max_length=32, blank=True)
    member = models.ForeignKey(Membership, null=True, on_delete=models.CASCADE, related_name="progress")
    exercise = models.CharField(max_length=100)
    task = models.CharField(max_length=100)
    hints = models.PositiveSmallIntegerField(default=0)
    begun_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    passed_at = models.DateTimeField(null=True)
    was_helped = models.BooleanField(default=False)
    """Passed after a hint, or after the solution was shown."""

    shown_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "progress"
        constraints = (
            models.CheckConstraint(
                condition=Q(user__isnull=False, visitor="", member__isnull=True)
                | Q(user__isnull=True, member__isnull=True) & ~Q(visitor="")
                | Q(user__isnull=True, visitor="", member__isnull=False),
                name="lab_progress_is_of_one_learner",
            ),
            models.UniqueConstraint(
                fields=["user", "exercise", "task"], condition=Q(visitor=""), name="lab_progress_of_person"
            ),
            models.UniqueConstraint(
                fields=["visitor", "exercise", "task"], condition=~Q(visitor=""), name="lab_progress_of_visitor"
            ),
            models.UniqueConstraint(fields=["member", "exercise", "task"], name="lab_progress_of_member"),
        )

    def __str__(self) -> str:
        return f"{self.member or self.user or 'a visitor'} at {self.exercise}: {self.task}"

    @property
    def is_open(self) -> bool:
        return self.answered_at is not None or self.shown_at is not None

    @property
    def is_done(self) -> bool:
        return self.passed_at is not None


class Attempt(models.Model):
    """An answer: stored before its solution is shown."""

    progress = models.ForeignKey(Progress, on_delete=models.CASCADE, related_name="attempts")
    answer = models.JSONField()
    outcome = models.CharField(max_length=10)
    """right, wrong or unknown."""

    found = models.JSONField(default=dict)
    """What the grade said and revealed (`lab.learning.findings`)."""

    hints = models.PositiveSmallIntegerField()
    was_shown = models.BooleanField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.progress}: {self.outcome}"


class Poll(models.Model):
    """A question about a session on the stage; the token lets a browser vote until it is revealed."""

    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    made_at = models.DateTimeField()
    token = models.CharField(max_length=32, unique=True)
    link = models.TextField()
    """The session's link: at its position it is shown before the vote, whole after it is revealed."""

    question = models.CharField(max_length=200)
    choices = models.JSONField()
    right = models.PositiveSmallIntegerField(null=True)
    """The place of the right choice among `choices`; none when there is no right one."""

    language = models.CharField(max_length=10)
    is_revealed = models.BooleanField(default=False)

    class Meta:
        ordering = ("-made_at",)

    def __str__(self) -> str:
        return self.question


class Vote(models.Model):
    poll = models.ForeignKey(Poll, on_delete=models.CASCADE, related_name="votes")
    voter = models.CharField(max_length=80)
    choice = models.PositiveSmallIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["poll", "voter"], name="lab_vote_once"),)

    def __str__(self) -> str:
        return f"choice {self.choice} in poll {self.poll_id}"


class Replay(models.Model):
    """A trace that is carried out on live nodes (`lab.live.replays`)."""

    owner = models.CharField(max_length=150)
    """The name of an account: a replay submits changes."""

    link = models.TextField()
    """The session, as the text of a link."""

    asked_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    attempt = models.PositiveSmallIntegerField(default=0)
    done = models.PositiveSmallIntegerField(default=0)
    """How many of its actions are done, of this attempt."""

    times = models.JSONField(default=list)
    """The seconds from the start of this attempt to the end of each action that is done."""

    table = models.TextField(default="")
    outcome = models.JSONField(null=True)
    """Both verdicts, or why it has none."""

    away = models.JSONField(default=list)
    """[command, node] for each node that it has taken away: the command brings it back (`lab.live.absent_nodes`)."""

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["owner"], condition=Q(ended_at__isnull=True), name="lab_replay_is_one_of_a_person"
            ),
        )

    def __str__(self) -> str:
        return f"replay {self.pk} of {self.owner}"
