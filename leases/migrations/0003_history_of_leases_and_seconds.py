"""When a lease was acquired, the leases that are over, and the seconds of the cluster: what pictures over time need."""

from pathlib import Path

from django.db import migrations, models

HERE = Path(__file__).parent


class Migration(migrations.Migration):
    dependencies = [("leases", "0002_lease_functions")]

    operations = [
        migrations.AddField(
            model_name="lease",
            name="acquired_at",
            field=models.DateTimeField(
                db_default=models.Func(function="clock_timestamp", output_field=models.DateTimeField()),
                verbose_name="acquired",
            ),
        ),
        migrations.CreateModel(
            name="PastLease",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.IntegerField()),
                ("version", models.IntegerField()),
                ("node", models.TextField()),
                ("incarnation", models.BigIntegerField()),
                ("acquired_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
            ],
            options={"indexes": [models.Index(fields=["table_id", "ended_at"], name="past_leases_of_a_table")]},
        ),
        migrations.CreateModel(
            name="RecordedSecond",
            fields=[
                ("at", models.BigIntegerField(primary_key=True, serialize=False)),
                ("statements_per_s", models.FloatField()),
                ("p50_ms", models.FloatField(null=True)),
                ("p99_ms", models.FloatField(null=True)),
                ("nodes", models.IntegerField()),
            ],
        ),
        migrations.RunSQL((HERE / "lease_history.sql").read_text(), (HERE / "lease_history_drop.sql").read_text()),
    ]
