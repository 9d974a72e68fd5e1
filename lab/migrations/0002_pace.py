"""The screen up to which a class may go."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lab", "0001_schema")]

    operations = [
        migrations.AddField(
            "course", "paced_chapter", models.CharField(max_length=100, blank=True, default="", db_default="")
        ),
        migrations.AddField(
            "course", "paced_screen", models.CharField(max_length=100, blank=True, default="", db_default="")
        ),
    ]
