"""A node's lease is committed before its notification: the lock of NOTIFY is not held until it is flushed.

`lease_acquire` and `lease_release` notify in their own transaction, as before, unless they are told not to.
"""

import re
from importlib import import_module
from pathlib import Path

from django.db import migrations

HERE = Path(__file__).parent
former = import_module("leases.migrations.0006_nodes_do_not_listen").former
ACQUIRE = (HERE / "lease_acquire.sql").read_text()
RELEASE = former("lease_release")
DROP = {
    "acquire": "DROP FUNCTION lease_acquire(int, text, bigint, float8{});",
    "release": "DROP FUNCTION lease_release(int, int, text, bigint{});",
}


def that_may_be_silent(function):
    """The same with one more parameter."""
    told = re.sub(r"(FUNCTION \w+\([^)]*)\)", r"\1, p_notifies boolean DEFAULT true)", function, count=1)
    return told.replace(
        "PERFORM pg_notify('schemalab_lease', p_table::text);",
        "IF p_notifies THEN PERFORM pg_notify('schemalab_lease', p_table::text); END IF;",
    )


class Migration(migrations.Migration):
    dependencies = [("leases", "0006_nodes_do_not_listen")]

    operations = [
        migrations.RunSQL(
            DROP[name].format("") + that_may_be_silent(function), DROP[name].format(", boolean") + function
        )
        for name, function in (("acquire", ACQUIRE), ("release", RELEASE))
    ] + [
        migrations.RunSQL(
            (HERE / "leases_of_nodes.sql").read_text(),
            "DROP PROCEDURE node_release(int, int, text, bigint);"
            "DROP PROCEDURE node_acquire(int, text, bigint, float8);",
        ),
    ]
