"""Changes, their steps, approvals, records and notifications; claims keep one change on a table (X1)."""

import uuid
from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Change",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.IntegerField(verbose_name="number of the table")),
                (
                    "table_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None, verbose_name="numbers of the tables"
                    ),
                ),
                ("table_name", models.TextField(verbose_name="table")),
                ("statement", models.TextField(verbose_name="statement")),
                ("names", models.JSONField(default=dict, verbose_name="names")),
                ("plan", models.JSONField(verbose_name="plan")),
                ("direction", models.CharField(default="forward", max_length=16, verbose_name="direction")),
                (
                    "status",
                    models.CharField(
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
                        verbose_name="status",
                    ),
                ),
                ("step", models.IntegerField(default=0, verbose_name="step")),
                ("executor_state", models.JSONField(null=True, verbose_name="state of the executor")),
                ("error", models.JSONField(null=True, verbose_name="error")),
                ("who", models.TextField(verbose_name="submitted by")),
                ("wishes", models.JSONField(default=list, verbose_name="pending requests")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="submitted")),
                ("started_at", models.DateTimeField(null=True, verbose_name="began")),
                ("ended_at", models.DateTimeField(null=True, verbose_name="ended")),
                ("place", models.BigIntegerField(null=True, verbose_name="place in the queue")),
            ],
            options={
                "verbose_name": "change",
                "verbose_name_plural": "changes",
                "permissions": [
                    ("steer_any_change", "Can pause, resume and cancel changes of others"),
                    ("approve_change", "Can approve and reject changes of others"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Claim", fields=[("table_id", models.IntegerField(primary_key=True, serialize=False))]
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name="number"
                    ),
                ),
                ("about", models.CharField(max_length=120, verbose_name="subject")),
                ("message", models.JSONField(verbose_name="message")),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "pending"), ("delivered", "delivered"), ("given_up", "given up")],
                        default="pending",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0, verbose_name="tries")),
                ("answer", models.TextField(blank=True, default="", verbose_name="answer")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("due_at", models.DateTimeField(verbose_name="due")),
                ("asked_until", models.DateTimeField(null=True, verbose_name="asked until")),
                ("ended_at", models.DateTimeField(null=True, verbose_name="ended")),
            ],
            options={
                "verbose_name": "delivery",
                "verbose_name_plural": "deliveries",
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Destination",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80, unique=True, verbose_name="name")),
                (
                    "kind",
                    models.CharField(
                        choices=[("webhook", "webhook"), ("email", "email")],
                        default="webhook",
                        max_length=8,
                        verbose_name="kind",
                    ),
                ),
                ("address", models.CharField(max_length=500, verbose_name="address")),
                (
                    "occasions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("waiting", "a change waits too long"),
                                ("failed", "a change failed"),
                                ("done", "a change is done"),
                                ("cancelled", "a change was cancelled"),
                                ("approval", "a change awaits approval, or was decided about"),
                            ],
                            max_length=16,
                        ),
                        default=list,
                        size=None,
                        verbose_name="occasions",
                    ),
                ),
                ("wait_s", models.PositiveIntegerField(default=60, verbose_name="seconds that are too long")),
                ("is_on", models.BooleanField(default=True, verbose_name="on")),
                ("secret", models.CharField(max_length=64, verbose_name="secret")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
            ],
            options={
                "verbose_name": "destination of notifications",
                "verbose_name_plural": "destinations of notifications",
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="OutboxPlace",
            fields=[("stream", models.TextField(primary_key=True, serialize=False)), ("seq", models.BigIntegerField())],
        ),
        migrations.CreateModel(
            name="Proof",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("plan", models.JSONField()),
                ("model", models.CharField(db_index=True, default="", max_length=64)),
                ("answer", models.JSONField(null=True)),
                ("asked_at", models.DateTimeField(db_index=True)),
                ("begun_at", models.DateTimeField(null=True)),
                ("beginnings", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("answered_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Reservation",
            fields=[
                ("table_id", models.IntegerField(primary_key=True, serialize=False)),
                ("node", models.TextField()),
                ("incarnation", models.BigIntegerField()),
                ("names", models.JSONField(default=list)),
                ("token", models.UUIDField(null=True)),
                ("reserved_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="SchemaChangeLease",
            fields=[
                (
                    "table_id",
                    models.IntegerField(primary_key=True, serialize=False, verbose_name="number of the table"),
                ),
                ("holder", models.TextField(verbose_name="holder")),
                ("token", models.BigIntegerField(verbose_name="token")),
                ("expires_at", models.DateTimeField(verbose_name="expires")),
            ],
            options={"verbose_name": "schema change lease", "verbose_name_plural": "schema change leases"},
        ),
        migrations.CreateModel(
            name="Step",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("road", models.CharField(default="forward", max_length=16, verbose_name="direction")),
                ("number", models.IntegerField(verbose_name="number")),
                ("kind", models.CharField(max_length=32, verbose_name="kind")),
                ("version", models.IntegerField(null=True, verbose_name="version")),
                ("started_at", models.DateTimeField(verbose_name="began")),
                ("ended_at", models.DateTimeField(null=True, verbose_name="ended")),
                ("waited_for", models.JSONField(default=list, verbose_name="waited for")),
                ("waited_s", models.FloatField(default=0, verbose_name="seconds waited")),
                ("tries", models.IntegerField(db_default=1, default=1, verbose_name="tries")),
            ],
            options={"verbose_name": "step", "verbose_name_plural": "steps", "ordering": ["-road", "number"]},
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
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                (
                    "change",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="record",
                        serialize=False,
                        to="changes.change",
                    ),
                ),
                ("facts", models.JSONField()),
                ("kept_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.AddIndex(
            model_name="change",
            index=django.contrib.postgres.indexes.GinIndex(fields=["table_ids"], name="changes_of_a_table"),
        ),
        migrations.AddField(
            model_name="claim",
            name="change",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="claims", to="changes.change"
            ),
        ),
        migrations.AddConstraint(
            model_name="destination",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("address__regex", "^https?://"), ("kind", "webhook")),
                    models.Q(("address__contains", "@"), ("kind", "email")),
                    _connector="OR",
                ),
                name="a_destination_has_an_address_of_its_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="destination",
            constraint=models.CheckConstraint(
                condition=models.Q(("secret", ""), _negated=True), name="a_destination_has_a_secret"
            ),
        ),
        migrations.AddConstraint(
            model_name="destination",
            constraint=models.CheckConstraint(
                condition=models.Q(("wait_s__gte", 1)), name="a_wait_is_too_long_after_a_second_at_least"
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="destination",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="changes.destination",
                verbose_name="destination of notifications",
            ),
        ),
        migrations.AddField(
            model_name="step",
            name="change",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="steps",
                to="changes.change",
                verbose_name="change",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
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
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("is_approved", None), ("is_approved", True), models.Q(("why", ""), _negated=True), _connector="OR"
                ),
                name="a_rejection_has_a_reason",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state", "pending")), fields=["due_at"], name="deliveries_that_are_due"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery", index=models.Index(fields=["-created_at"], name="deliveries_by_time")
        ),
        migrations.AddIndex(
            model_name="delivery", index=models.Index(fields=["ended_at"], name="deliveries_by_their_end")
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("destination", "about"), name="a_destination_is_notified_once"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at", None), ("state", "pending")),
                    models.Q(("ended_at__isnull", False), ("state__in", ("delivered", "given_up"))),
                    _connector="OR",
                ),
                name="a_delivery_has_ended_or_is_pending",
            ),
        ),
        migrations.AddConstraint(
            model_name="step",
            constraint=models.UniqueConstraint(
                fields=("change", "road", "number"), name="a_road_numbers_its_steps_once"
            ),
        ),
        migrations.RunSQL(
            (HERE / "claims.sql").read_text(), "DROP ROUTINE changes_claim_tables, changes_free_tables CASCADE"
        ),
    ]
