"""How hard a run works is found by what nodes measure, against a target that operators may move."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("spark_tasks", "0011_silences_are_counted_apart_from_failures"),
    ]

    operations = [
        migrations.AddField(
            "reorgpulse",
            "works",
            models.FloatField(default=1, help_text="the share of its time that it works, beside traffic"),
        ),
        migrations.AddField(
            "reorgpulse",
            "is_quiet",
            models.BooleanField(default=False, help_text="no node does anything, as far as they say"),
        ),
        migrations.AddField(
            "reorgpulse",
            "felt",
            models.JSONField(default=dict, help_text="why it works so much: what statements took before, and take now"),
        ),
        migrations.AddField(
            "reorgpulse",
            "slower_ms_max",
            models.FloatField(default=20, help_text="what statements may take longer for it"),
        ),
        migrations.AddField(
            "reorgpulse",
            "throughput_min",
            models.FloatField(default=0.85, help_text="the share of statements that others must keep"),
        ),
        migrations.AlterField(
            "reorgpulse", "traffic", models.FloatField(default=0, help_text="transactions of nodes at a time")
        ),
    ]
