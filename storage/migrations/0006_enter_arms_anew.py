"""`enter` stops the deadline's timer before it starts it, whatever the setting says.

ROLLBACK TO SAVEPOINT gives the setting its zero back and leaves the timer running, over the transaction's end too: what
was armed after it kept the time of before, longer than its lease or shorter (T4).
"""

from importlib import import_module

from django.db import migrations

BEFORE = import_module("storage.migrations.0005_enter_costs_less")
ONLY_IF_SET = """
    -- the timer starts only when the setting leaves zero (T4), where it is in a transaction that has not entered yet
    IF current_setting('transaction_timeout') <> '0' THEN
        armed := set_config('transaction_timeout', '0', true);
    END IF;"""
ALWAYS = """
    -- setting zero stops the timer, which only leaving zero starts (T4)
    armed := set_config('transaction_timeout', '0', true);"""
HEAD, BODY = BEFORE.HEAD, BEFORE.BODY.replace(ONLY_IF_SET, ALWAYS)


class Migration(migrations.Migration):
    dependencies = [("storage", "0005_enter_costs_less")]

    operations = [
        migrations.RunSQL(BEFORE.on_each_storage(HEAD + BODY), BEFORE.on_each_storage(HEAD + BEFORE.BODY)),
    ]
