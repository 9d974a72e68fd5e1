"""The server functions of the lease protocol: see `lease_functions.sql`."""

from pathlib import Path

from django.db import migrations

HERE = Path(__file__).parent


class Migration(migrations.Migration):
    dependencies = [("leases", "0001_nodes_and_leases"), ("catalog", "__first__")]

    operations = [
        migrations.RunSQL((HERE / "lease_functions.sql").read_text(), (HERE / "lease_functions_drop.sql").read_text())
    ]
