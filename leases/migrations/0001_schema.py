"""Nodes, leases and their history; the server functions of the lease protocol."""

from pathlib import Path

from django.db import migrations, models

HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = [("catalog", "0001_schema")]

    operations = [
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
        migrations.CreateModel(
            name="Lease",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.IntegerField(verbose_name="table")),
                ("version", models.IntegerField(verbose_name="version")),
                ("node", models.TextField(verbose_name="node")),
                ("incarnation", models.BigIntegerField(verbose_name="incarnation")),
                ("expires_at", models.DateTimeField(verbose_name="expires")),
                (
                    "acquired_at",
                    models.DateTimeField(
                        db_default=models.Func(function="clock_timestamp", output_field=models.DateTimeField()),
                        verbose_name="acquired",
                    ),
                ),
            ],
            options={
                "verbose_name": "lease",
                "verbose_name_plural": "leases",
                "ordering": ("table_id", "version", "node", "incarnation"),
                "permissions": (
                    ("release_lease", "Can release leases that nobody uses"),
                    ("revoke_lease", "Can revoke leases and end the sessions that use them"),
                ),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("table_id", "version", "node", "incarnation"),
                        name="leases_lease_one_per_version_and_node",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False, verbose_name="name")),
                ("incarnation", models.BigIntegerField(default=0, verbose_name="incarnation")),
                ("host", models.TextField(verbose_name="host")),
                ("port", models.IntegerField(verbose_name="port")),
                ("pid", models.IntegerField(verbose_name="process")),
                (
                    "state",
                    models.TextField(
                        choices=[("up", "up"), ("draining", "draining"), ("down", "down")],
                        default="up",
                        verbose_name="state",
                    ),
                ),
                ("is_drain_asked", models.BooleanField(default=False, verbose_name="drain asked")),
                ("heartbeat_at", models.DateTimeField(null=True, verbose_name="last heartbeat")),
            ],
            options={
                "verbose_name": "node",
                "verbose_name_plural": "nodes",
                "ordering": ("name",),
                "permissions": (("drain_node", "Can drain and undrain nodes"),),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^[a-z][a-z0-9_-]{0,23}$")),
                        name="leases_node_name_fits_session_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ("up", "draining", "down"))), name="leases_node_state_known"
                    ),
                ],
            },
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
            name="WithheldNews",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.IntegerField()),
                ("node", models.TextField()),
                ("until", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("table_id", "node"), name="leases_news_withheld_once")]
            },
        ),
        migrations.RunSQL(
            (HERE / "lease_functions.sql").read_text(),
            "DROP ROUTINE lease_assert_read_committed, lease_refusal, lease_acquire, lease_expiration, lease_remaining, lease_renew, lease_release, lease_sweep, lease_users, lease_is_session, lease_end_sessions, lease_revoke, node_session_prefix, node_forget_leases, node_register, node_heartbeat, node_drain, node_leave CASCADE",
        ),
        migrations.RunSQL(
            (HERE / "leases_of_nodes.sql").read_text(), "DROP ROUTINE node_acquire, node_release CASCADE"
        ),
        migrations.RunSQL((HERE / "lease_history.sql").read_text(), "DROP ROUTINE leases_keep_past CASCADE"),
        migrations.RunSQL(
            (HERE / "withheld_news.sql").read_text(),
            "DROP ROUTINE leases_news_is_withheld_so CASCADE; DROP VIEW leases_news_withheld_now",
        ),
    ]
