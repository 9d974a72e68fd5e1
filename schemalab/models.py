"""Tallies of people who try to sign in, for every process of the page."""

from django.db import models


class SignInTally(models.Model):
    subject = models.TextField(primary_key=True)
    failures = models.IntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    is_known = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.subject}: {self.failures}"
