"""Changes may need the approval of a second person; an approved one has a place of its own in the queues."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0015_destinations_of_notifications"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="change",
            options={
                "permissions": [
                    ("steer_any_change", "Can pause, resume and cancel changes of others"),
                    ("approve_change", "Can approve and reject changes of others"),
                ]
            },
        ),
        migrations.AddField(
            model_name="change",
            name="place",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name="change",
            name="status",
            field=models.CharField(
                choices=[
                    ("awaiting", "awaiting approval"),
                    ("queued", "queued"),
                    ("running", "running"),
                    ("waiting", "waiting"),
                    ("paused", "paused"),
                    ("rolling_back", "rolling back"),
                    ("done", "done"),
                    ("failed", "failed"),
                    ("cancelled", "cancelled"),
                ],
                default="queued",
                max_length=16,
            ),
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                (
                    "change",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="approval",
                        serialize=False,
                        to="changes.change",
                    ),
                ),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                ("is_approved", models.BooleanField(null=True)),
                ("who", models.TextField(default="")),
                ("why", models.TextField(default="")),
                ("decided_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at", None), ("is_approved", None), ("who", ""), ("why", "")),
                            models.Q(
                                ("decided_at__isnull", False),
                                ("is_approved__isnull", False),
                                models.Q(("who", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="a_decision_is_somebodys",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("is_approved", None),
                            ("is_approved", True),
                            models.Q(("why", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="a_rejection_has_a_reason",
                    ),
                ],
            },
        ),
    ]
