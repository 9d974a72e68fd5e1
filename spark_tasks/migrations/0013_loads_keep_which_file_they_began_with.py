"""A load knows its file again: a replaced one is refused."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("spark_tasks", "0012_runs_work_as_hard_as_others_do_not_mind"),
    ]

    operations = [
        migrations.AddField(
            "loadjob",
            "file",
            models.JSONField(default=dict, help_text="when the load began: size, time of the last change, digest"),
        ),
    ]
