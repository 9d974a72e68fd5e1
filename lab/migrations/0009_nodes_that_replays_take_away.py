"""What brings nodes back that a replay has killed, frozen or drained."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("lab", "0008_attempts_keep_what_was_found"),
    ]

    operations = [
        migrations.AddField(
            model_name="replay",
            name="away",
            field=models.JSONField(default=list),
        ),
    ]
