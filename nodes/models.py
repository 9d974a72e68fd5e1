"""SQL passwords and permissions of people who sign in at the nodes' ports."""

from django.conf import settings
from django.db import models


class SqlPassword(models.Model):
    """A person's password for the SQL ports, kept as what checks it (`nodes.wire.scram.Verifier`)."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="sql_password"
    )
    verifier = models.TextField()
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"SQL password of {self.user_id}"
