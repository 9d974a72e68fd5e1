"""Audits count their attempts as runs and loads do; the same columns are described alike."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("spark_tasks", "0007_ranges_lead_on_from_their_last_chunk"),
    ]

    operations = [
        migrations.AddField(
            model_name="auditjob",
            name="failures",
            field=models.IntegerField(
                default=0, help_text="in a row, with no row done in between", verbose_name="failures"
            ),
        ),
        migrations.AddField(
            model_name="auditjob",
            name="rows_done_at_failure",
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="auditjob",
            name="started_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AlterField(
            model_name="auditjob",
            name="attempt",
            field=models.IntegerField(
                default=0, help_text="claims: pauses and takeovers begin new ones", verbose_name="attempt"
            ),
        ),
        migrations.AlterField(
            model_name="auditjob",
            name="error",
            field=models.TextField(blank=True, default="", verbose_name="error"),
        ),
        migrations.AlterField(
            model_name="auditjob",
            name="state",
            field=models.CharField(
                choices=[
                    ("prepared", "prepared"),
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
        migrations.AlterField(
            model_name="loadjob",
            name="attempt",
            field=models.IntegerField(
                default=0, help_text="claims: pauses and takeovers begin new ones", verbose_name="attempt"
            ),
        ),
        migrations.AlterField(
            model_name="loadjob",
            name="error",
            field=models.TextField(blank=True, default="", verbose_name="error"),
        ),
        migrations.AlterField(
            model_name="loadjob",
            name="failures",
            field=models.IntegerField(
                default=0, help_text="in a row, with no row done in between", verbose_name="failures"
            ),
        ),
        migrations.AlterField(
            model_name="loadjob",
            name="state",
            field=models.CharField(
                choices=[
                    ("prepared", "prepared"),
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
    ]
