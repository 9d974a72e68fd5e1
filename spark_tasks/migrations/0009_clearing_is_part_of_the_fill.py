"""A fill clears by itself, so no run of that kind is left, and none whose ranges are stored and that waits to begin.

Both have done nothing that a fill does not do again before its first range is read. May be run again.
"""

from django.db import migrations


def remove(apps, schema_editor):
    runs = apps.get_model("spark_tasks", "ReorgRun").objects
    runs.filter(kind="clear").delete()
    runs.filter(state="prepared").delete()


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("spark_tasks", "0008_jobs_keep_their_attempts_alike"),
    ]

    operations = [
        migrations.RunPython(remove, migrations.RunPython.noop),
    ]
