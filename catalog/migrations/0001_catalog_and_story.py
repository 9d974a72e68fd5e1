"""Tables of the lab, their versions, and the story with its numbering function."""

from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

TELL = (Path(__file__).parent / "tell.sql").read_text()


class Migration(migrations.Migration):
    initial = True
    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Table",
            fields=[
                ("id", models.IntegerField(primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("version", models.IntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[("reserved", "Reserved"), ("live", "Live"), ("dropped", "Dropped")],
                        default="reserved",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={"db_table": "catalog_table"},
        ),
        migrations.AddConstraint(
            model_name="table",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "dropped"), _negated=True),
                fields=("name",),
                name="a name belongs to one table",
            ),
        ),
        migrations.CreateModel(
            name="Descriptor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.IntegerField()),
                ("body", models.JSONField()),
                ("schema_hash", models.CharField(max_length=16)),
                ("sharding_hash", models.CharField(max_length=16)),
                ("modified_at", models.DateTimeField(auto_now_add=True)),
                (
                    "table",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="descriptors", to="catalog.table"
                    ),
                ),
            ],
            options={"db_table": "catalog_descriptor", "ordering": ["table_id", "version"]},
        ),
        migrations.AddConstraint(
            model_name="descriptor",
            constraint=models.UniqueConstraint(fields=("table", "version"), name="one descriptor for each version"),
        ),
        migrations.CreateModel(
            name="Stream",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField(default=0)),
            ],
            options={"db_table": "catalog_stream"},
        ),
        migrations.CreateModel(
            name="StoryEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stream", models.TextField()),
                ("seq", models.BigIntegerField()),
                ("kind", models.TextField()),
                ("subject", models.TextField()),
                ("payload", models.JSONField(default=dict)),
                ("at", models.DateTimeField()),
            ],
            options={"db_table": "catalog_storyevent", "ordering": ["stream", "seq"]},
        ),
        migrations.AddConstraint(
            model_name="storyevent",
            constraint=models.UniqueConstraint(fields=("stream", "seq"), name="a stream numbers its events once"),
        ),
        migrations.RunSQL(TELL, "DROP FUNCTION catalog_tell(text[], text, text, jsonb)"),
    ]
