"""Passwords on the SQL ports, runs of traffic."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.CreateModel(
            name="SqlPassword",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="sql_password",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("verifier", models.TextField()),
                ("changed_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="TrafficRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.IntegerField()),
                ("table_name", models.TextField()),
                ("clients", models.IntegerField(help_text="for each node")),
                ("writes_percent", models.IntegerField()),
                ("who", models.TextField()),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("ends_at", models.DateTimeField(help_text="it ends by itself then")),
                ("reported_at", models.DateTimeField(auto_now_add=True)),
                ("stopped_by", models.TextField(blank=True, default="")),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("why", models.TextField(blank=True, default="")),
                ("figures", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ("-id",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("table_id",),
                        name="nodes_trafficrun_one_of_a_table_at_a_time",
                    )
                ],
            },
        ),
    ]
