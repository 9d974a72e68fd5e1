"""A job that ends its workers again and again is not tried for ever."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("spark_tasks", "0010_kinds_and_states_without_clearing"),
    ]

    operations = [
        migrations.AddField(
            model_name=name,
            name="silences",
            field=models.IntegerField(default=0, help_text="attempts whose workers fell silent, in a row as well"),
        )
        for name in ("auditjob", "loadjob", "reorgrun")
    ]
