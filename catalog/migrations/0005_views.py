"""Views: stored queries, each a row that transactions read in their own snapshot."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0004_indexes_of_the_story")]

    operations = [
        migrations.CreateModel(
            name="View",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.TextField(unique=True)),
                ("revision", models.IntegerField(default=1)),
                ("body", models.JSONField()),
                ("modified_at", models.DateTimeField(auto_now=True)),
            ],
            options={"db_table": "catalog_view"},
        ),
    ]
