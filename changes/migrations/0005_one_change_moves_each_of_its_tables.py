"""Tables are required, found by an index, and claimed by triggers: what a unique constraint did for one table."""

from pathlib import Path

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

HERE = Path(__file__).parent


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0004_fill_tables_of_changes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="change",
            name="table_ids",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None),
        ),
        migrations.RunSQL((HERE / "claims.sql").read_text(), (HERE / "claims_drop.sql").read_text()),
        migrations.RemoveConstraint(model_name="change", name="one_change_moves_a_table"),
        migrations.RemoveIndex(model_name="change", name="changes_of_a_table"),
        migrations.AddIndex(
            model_name="change",
            index=django.contrib.postgres.indexes.GinIndex(fields=["table_ids"], name="changes_of_a_table"),
        ),
    ]
