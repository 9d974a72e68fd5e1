"""Where notifications of changes go, those on their way, and how far the story was read for them."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0014_records_of_changes"),
    ]

    operations = [
        migrations.CreateModel(
            name="OutboxPlace",
            fields=[
                ("stream", models.TextField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField()),
            ],
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
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("address__regex", "^https?://"), ("kind", "webhook")),
                            models.Q(("address__contains", "@"), ("kind", "email")),
                            _connector="OR",
                        ),
                        name="a_destination_has_an_address_of_its_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("secret", ""), _negated=True), name="a_destination_has_a_secret"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("wait_s__gte", 1)), name="a_wait_is_too_long_after_a_second_at_least"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("about", models.CharField(max_length=120)),
                ("message", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "pending"), ("delivered", "delivered"), ("given_up", "given up")],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("answer", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("due_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "destination",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="changes.destination"
                    ),
                ),
            ],
            options={
                "verbose_name": "delivery",
                "verbose_name_plural": "deliveries",
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pending")), fields=["due_at"], name="deliveries_that_are_due"
                    ),
                    models.Index(fields=["-created_at"], name="deliveries_by_time"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("destination", "about"), name="a_destination_is_notified_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at", None), ("state", "pending")),
                            models.Q(("ended_at__isnull", False), ("state__in", ("delivered", "given_up"))),
                            _connector="OR",
                        ),
                        name="a_delivery_has_ended_or_is_pending",
                    ),
                ],
            },
        ),
    ]
