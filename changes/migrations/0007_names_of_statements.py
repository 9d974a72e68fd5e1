"""A change keeps what the names in its statement stand for. Filled and required by the next two."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0006_reservations_of_index_names"),
    ]

    operations = [
        migrations.AddField(
            model_name="change",
            name="names",
            field=models.JSONField(null=True),
        ),
    ]
