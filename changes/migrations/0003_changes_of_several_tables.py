"""A change knows all its tables, and claims them while it moves. Filled and required by the next two."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0002_proofs_of_plans"),
    ]

    operations = [
        migrations.AddField(
            model_name="change",
            name="table_ids",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None),
        ),
        migrations.CreateModel(
            name="Claim",
            fields=[
                ("table_id", models.IntegerField(primary_key=True, serialize=False)),
                (
                    "change",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="claims", to="changes.change"
                    ),
                ),
            ],
        ),
    ]
