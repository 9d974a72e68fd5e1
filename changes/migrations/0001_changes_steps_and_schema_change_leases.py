import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Reservation",
            fields=[
                ("table_id", models.IntegerField(primary_key=True, serialize=False)),
                ("node", models.TextField()),
                ("incarnation", models.BigIntegerField()),
                ("reserved_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="SchemaChangeLease",
            fields=[
                ("table_id", models.IntegerField(primary_key=True, serialize=False)),
                ("holder", models.TextField()),
                ("token", models.BigIntegerField()),
                ("expires_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Change",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.IntegerField()),
                ("table_name", models.TextField()),
                ("statement", models.TextField()),
                ("plan", models.JSONField()),
                ("direction", models.CharField(default="forward", max_length=16)),
                (
                    "status",
                    models.CharField(
                        choices=[
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
                ("step", models.IntegerField(default=0)),
                ("executor_state", models.JSONField(null=True)),
                ("error", models.JSONField(null=True)),
                ("who", models.TextField()),
                ("wishes", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["table_id", "id"], name="changes_of_a_table")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ("running", "waiting", "paused", "rolling_back"))),
                        fields=("table_id",),
                        name="one_change_moves_a_table",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Step",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("road", models.CharField(default="forward", max_length=16)),
                ("number", models.IntegerField()),
                ("kind", models.CharField(max_length=32)),
                ("version", models.IntegerField(null=True)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("waited_for", models.JSONField(default=list)),
                ("waited_s", models.FloatField(default=0)),
                (
                    "change",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="steps", to="changes.change"
                    ),
                ),
            ],
            options={
                "ordering": ["-road", "number"],
                "constraints": [
                    models.UniqueConstraint(fields=("change", "road", "number"), name="a_road_numbers_its_steps_once")
                ],
            },
        ),
    ]
