from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0001_changes_steps_and_schema_change_leases"),
    ]

    operations = [
        migrations.CreateModel(
            name="Proof",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("plan", models.JSONField()),
                ("model", models.CharField(db_index=True, default="", max_length=64)),
                ("answer", models.JSONField(null=True)),
                ("asked_at", models.DateTimeField(db_index=True)),
                ("begun_at", models.DateTimeField(null=True)),
                ("answered_at", models.DateTimeField(null=True)),
            ],
        ),
    ]
