"""What was removed by the migration before has no name any more."""

from django.db import migrations, models

KINDS = [("fill", "fill"), ("verify", "verify"), ("delete", "delete"), ("purge", "purge")]
STATES = [("waiting", "waiting"), ("running", "running"), ("done", "done"), ("failed", "failed")]


class Migration(migrations.Migration):
    dependencies = [
        ("spark_tasks", "0009_clearing_is_part_of_the_fill"),
    ]

    operations = [
        migrations.AlterField(
            model_name="reorgrun",
            name="kind",
            field=models.CharField(choices=KINDS, max_length=8, verbose_name="kind"),
        ),
        *(
            migrations.AlterField(
                model_name=name,
                name="state",
                field=models.CharField(choices=STATES, default="waiting", max_length=8, verbose_name="state"),
            )
            for name in ("auditjob", "loadjob", "reorgrun")
        ),
    ]
