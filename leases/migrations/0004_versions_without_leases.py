"""`lease_acquire` answers with the newest version of a table with `coordination = 'hash'`, and keeps no lease of it."""

import re
from pathlib import Path

from django.db import migrations

HERE = Path(__file__).parent


def former():
    """The function as it was."""
    found = re.search(
        r"CREATE FUNCTION lease_acquire.*?\nEND \$\$;", (HERE / "lease_functions.sql").read_text(), re.DOTALL
    )
    return found[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


class Migration(migrations.Migration):
    dependencies = [("leases", "0003_history_of_leases_and_seconds")]

    operations = [migrations.RunSQL((HERE / "lease_acquire.sql").read_text(), former())]
