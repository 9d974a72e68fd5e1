"""The lease table of seed 003, and the nodes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Lease",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.IntegerField(verbose_name="table")),
                ("version", models.IntegerField(verbose_name="version")),
                ("node", models.TextField(verbose_name="node")),
                ("incarnation", models.BigIntegerField(verbose_name="incarnation")),
                ("expires_at", models.DateTimeField(verbose_name="expires")),
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
    ]
