"""What is kept of a finished change for its lanes over time."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0013_beginnings_of_proofs"),
    ]

    operations = [
        migrations.CreateModel(
            name="Record",
            fields=[
                (
                    "change",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="record",
                        serialize=False,
                        to="changes.change",
                    ),
                ),
                ("facts", models.JSONField()),
                ("kept_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
