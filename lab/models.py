"""Questions to the explorer that learners ask from the stage."""

from django.db import models


class Question(models.Model):
    """A question, who asked it, how far its search is, and its answer."""

    owner = models.CharField(max_length=80)
    key = models.CharField(max_length=64, db_index=True)
    """What is asked, under which rules: equal questions have one answer."""

    asked = models.JSONField()
    asked_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True)
    """The last time the search gave a sign of life."""

    progress = models.JSONField(null=True)
    is_stopped = models.BooleanField(default=False)
    answer = models.JSONField(null=True)

    class Meta:
        indexes = (models.Index(fields=["asked_at"], name="lab_question_asked_at"),)

    def __str__(self) -> str:
        return f"question {self.pk} of {self.owner}"
