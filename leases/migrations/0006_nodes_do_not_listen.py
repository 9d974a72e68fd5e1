"""Nothing is notified to nodes: they do not listen. A call over Redis, or the next heartbeat, has them look.

A commit that notifies waits for all others that do, to the end of their flush.
"""

import re
from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "lease_functions.sql").read_text()
TO_NODES = re.compile(r"\n    PERFORM pg_notify\('schemalab_node', p_node\);[^\n]*")


def former(name):
    """The function as it was."""
    found = re.search(rf"CREATE FUNCTION {name}\(.*?\nEND \$\$;", FUNCTIONS, re.DOTALL)
    return found[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


class Migration(migrations.Migration):
    dependencies = [("leases", "0005_news_withheld_for_a_lesson")]

    operations = [
        migrations.RunSQL(TO_NODES.sub("", former(name)), former(name)) for name in ("lease_revoke", "node_drain")
    ]
