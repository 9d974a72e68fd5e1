"""Tables and their versions, views, and the story with its numbering function."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Stream",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField(default=0)),
            ],
            options={"db_table": "catalog_stream"},
        ),
        migrations.CreateModel(
            name="View",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.TextField(unique=True)),
                ("revision", models.IntegerField(default=1)),
                ("body", models.JSONField()),
                ("modified_at", models.DateTimeField(auto_now=True)),
            ],
            options={"db_table": "catalog_view"},
        ),
        migrations.CreateModel(
            name="StoryEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stream", models.TextField(verbose_name="stream")),
                ("seq", models.BigIntegerField(verbose_name="number")),
                ("kind", models.TextField(verbose_name="kind")),
                ("subject", models.TextField(verbose_name="subject")),
                ("payload", models.JSONField(default=dict, verbose_name="content")),
                ("at", models.DateTimeField(verbose_name="time")),
            ],
            options={
                "verbose_name": "story event",
                "verbose_name_plural": "story events",
                "db_table": "catalog_storyevent",
                "ordering": ["stream", "seq"],
                "indexes": [
                    models.Index(fields=["stream", "kind", "seq"], name="events_by_kind"),
                    models.Index(fields=["stream", "at", "seq"], name="events_by_time"),
                    models.Index(
                        condition=models.Q(("payload__has_key", "who")),
                        fields=["stream", "at", "seq"],
                        name="acts_by_time",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("stream", "seq"), name="a stream numbers its events once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Table",
            fields=[
                ("id", models.IntegerField(primary_key=True, serialize=False, verbose_name="number")),
                ("name", models.TextField(verbose_name="name")),
                ("version", models.IntegerField(default=0, verbose_name="version")),
                (
                    "state",
                    models.CharField(
                        choices=[("reserved", "Reserved"), ("live", "Live"), ("dropped", "Dropped")],
                        default="reserved",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("sandbox_of", models.TextField(null=True, verbose_name="sandbox of")),
            ],
            options={
                "verbose_name": "table",
                "verbose_name_plural": "tables",
                "db_table": "catalog_table",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "dropped"), _negated=True),
                        fields=("name",),
                        name="a name belongs to one table",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Descriptor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.IntegerField(verbose_name="version")),
                ("body", models.JSONField(verbose_name="content")),
                ("schema_hash", models.CharField(max_length=16, verbose_name="schema hash")),
                ("sharding_hash", models.CharField(max_length=16, verbose_name="sharding hash")),
                ("modified_at", models.DateTimeField(auto_now_add=True, verbose_name="published")),
                (
                    "table",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="descriptors",
                        to="catalog.table",
                        verbose_name="table",
                    ),
                ),
            ],
            options={
                "verbose_name": "descriptor",
                "verbose_name_plural": "descriptors",
                "db_table": "catalog_descriptor",
                "ordering": ["table_id", "version"],
                "constraints": [
                    models.UniqueConstraint(fields=("table", "version"), name="one descriptor for each version")
                ],
            },
        ),
        migrations.RunSQL((HERE / "story.sql").read_text(), "DROP ROUTINE catalog_tell, catalog_notify_story CASCADE"),
        migrations.RunSQL(
            (HERE / "sandbox.sql").read_text(),
            "DROP ROUTINE catalog_sandbox_is_made_so, catalog_sandbox_stands_alone CASCADE",
        ),
    ]
