"""Reorganisations, loads and audits, with the ranges and marks from which they resume."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AuditJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("running", "running"),
                            ("done", "done"),
                            ("failed", "failed"),
                        ],
                        default="waiting",
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                (
                    "attempt",
                    models.IntegerField(
                        default=0, help_text="claims: pauses and takeovers begin new ones", verbose_name="attempt"
                    ),
                ),
                (
                    "failures",
                    models.IntegerField(
                        default=0, help_text="in a row, with no row done in between", verbose_name="failures"
                    ),
                ),
                (
                    "silences",
                    models.IntegerField(default=0, help_text="attempts whose workers fell silent, in a row as well"),
                ),
                ("rows_done_at_failure", models.BigIntegerField(default=0)),
                ("error", models.TextField(blank=True, default="", verbose_name="error")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("table_id", models.IntegerField()),
                ("versions", models.JSONField(default=list)),
                ("rows", models.BigIntegerField(default=0)),
                ("pairs", models.BigIntegerField(default=0)),
                ("violations", models.JSONField(default=list)),
                (
                    "violations_total",
                    models.BigIntegerField(help_text="null: not counted by the version that judged", null=True),
                ),
                ("snapshot_s", models.FloatField(default=0)),
                ("heartbeat_at", models.DateTimeField(null=True)),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            name="LoadJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("running", "running"),
                            ("done", "done"),
                            ("failed", "failed"),
                        ],
                        default="waiting",
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                (
                    "attempt",
                    models.IntegerField(
                        default=0, help_text="claims: pauses and takeovers begin new ones", verbose_name="attempt"
                    ),
                ),
                (
                    "failures",
                    models.IntegerField(
                        default=0, help_text="in a row, with no row done in between", verbose_name="failures"
                    ),
                ),
                (
                    "silences",
                    models.IntegerField(default=0, help_text="attempts whose workers fell silent, in a row as well"),
                ),
                ("rows_done_at_failure", models.BigIntegerField(default=0)),
                ("error", models.TextField(blank=True, default="", verbose_name="error")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("table_id", models.IntegerField()),
                ("path", models.TextField()),
                (
                    "file",
                    models.JSONField(
                        default=dict, help_text="when the load began: size, time of the last change, digest"
                    ),
                ),
                ("parts_total", models.IntegerField(default=0)),
                ("rows_total", models.BigIntegerField(default=0)),
                ("rows_done", models.BigIntegerField(default=0)),
                ("rows_per_s", models.FloatField(default=0)),
                ("duplicates", models.JSONField(default=list)),
                ("heartbeat_at", models.DateTimeField(null=True)),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            name="ReorgRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("running", "running"),
                            ("done", "done"),
                            ("failed", "failed"),
                        ],
                        default="waiting",
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                (
                    "attempt",
                    models.IntegerField(
                        default=0, help_text="claims: pauses and takeovers begin new ones", verbose_name="attempt"
                    ),
                ),
                (
                    "failures",
                    models.IntegerField(
                        default=0, help_text="in a row, with no row done in between", verbose_name="failures"
                    ),
                ),
                (
                    "silences",
                    models.IntegerField(default=0, help_text="attempts whose workers fell silent, in a row as well"),
                ),
                ("rows_done_at_failure", models.BigIntegerField(default=0)),
                ("error", models.TextField(blank=True, default="", verbose_name="error")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("change_id", models.BigIntegerField(verbose_name="change")),
                ("table_id", models.IntegerField(verbose_name="table")),
                (
                    "kind",
                    models.CharField(
                        choices=[("fill", "fill"), ("verify", "verify"), ("delete", "delete"), ("purge", "purge")],
                        max_length=8,
                        verbose_name="kind",
                    ),
                ),
                (
                    "elements",
                    models.JSONField(
                        help_text="each {kind, id, name}, in the order to be worked on", verbose_name="elements"
                    ),
                ),
                ("version", models.IntegerField(verbose_name="version")),
                ("token", models.BigIntegerField(default=0, verbose_name="token")),
                ("are_ranges_stored", models.BooleanField(default=False, verbose_name="ranges stored")),
                ("is_closed", models.BooleanField(default=False, verbose_name="closed")),
                ("violations", models.JSONField(default=list, verbose_name="violations")),
            ],
            options={"verbose_name": "reorganisation", "verbose_name_plural": "reorganisations"},
        ),
        migrations.CreateModel(
            name="ReorgRange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.IntegerField()),
                ("storage", models.IntegerField()),
                ("low", models.BinaryField()),
                ("high", models.BinaryField()),
                (
                    "rows_total",
                    models.BigIntegerField(
                        help_text="estimated from a sample until the range is read, exact from then on"
                    ),
                ),
                ("rows_done", models.BigIntegerField(default=0)),
                ("is_done", models.BooleanField(default=False)),
                ("chunks", models.IntegerField(default=0, help_text="committed so far")),
                ("reached_storage", models.IntegerField(null=True)),
                (
                    "reached_key",
                    models.BinaryField(
                        help_text="the last pair of the last chunk: what follows leads on there", null=True
                    ),
                ),
            ],
            options={"ordering": ["number"]},
        ),
        migrations.CreateModel(
            name="LoadMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first", models.BigIntegerField()),
                ("rows", models.IntegerField()),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="marks",
                        to="spark_tasks.loadjob",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ReorgPulse",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="pulse",
                        serialize=False,
                        to="spark_tasks.reorgrun",
                    ),
                ),
                (
                    "wanted",
                    models.CharField(
                        choices=[("run", "run"), ("pause", "pause"), ("close", "close")], default="run", max_length=8
                    ),
                ),
                ("rows_per_s_max", models.FloatField(null=True, verbose_name="throttle")),
                ("throttle_reason", models.TextField(blank=True, default="")),
                ("traffic", models.FloatField(default=0, help_text="transactions of nodes at a time")),
                (
                    "works",
                    models.FloatField(default=1, help_text="the share of its time that it works, beside traffic"),
                ),
                ("is_quiet", models.BooleanField(default=False, help_text="no node does anything, as far as they say")),
                (
                    "felt",
                    models.JSONField(
                        default=dict, help_text="why it works so much: what statements took before, and take now"
                    ),
                ),
                ("slower_ms_max", models.FloatField(default=20.0, help_text="what statements may take longer for it")),
                (
                    "throughput_min",
                    models.FloatField(default=0.85, help_text="the share of statements that others must keep"),
                ),
                ("rows_done", models.BigIntegerField(default=0)),
                ("rows_total", models.BigIntegerField(default=0)),
                ("share", models.FloatField(default=0, help_text="of all rows, as far as they are known")),
                ("rows_per_s", models.FloatField(default=0, help_text="of late; what it was last while it is stalled")),
                ("is_stalled", models.BooleanField(default=False)),
                ("heartbeat_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddConstraint(
            model_name="reorgrun",
            constraint=models.UniqueConstraint(
                fields=("change_id", "kind", "version"), name="a_change_runs_each_step_once"
            ),
        ),
        migrations.AddField(
            model_name="reorgrange",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="ranges", to="spark_tasks.reorgrun"
            ),
        ),
        migrations.AddConstraint(
            model_name="loadmark",
            constraint=models.UniqueConstraint(fields=("job", "first"), name="a_chunk_is_loaded_once"),
        ),
        migrations.AddConstraint(
            model_name="reorgrange",
            constraint=models.UniqueConstraint(fields=("run", "number"), name="ranges_are_numbered_once"),
        ),
    ]
