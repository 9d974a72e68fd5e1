"""Changes of before moved one table each; those on their way claim it. May be run again."""

from django.db import migrations

FILL = "UPDATE changes_change SET table_ids = ARRAY[table_id] WHERE table_ids IS NULL"
CLAIM = """
INSERT INTO changes_claim (table_id, change_id)
SELECT table_id, id FROM changes_change WHERE status IN ('running', 'waiting', 'paused', 'rolling_back')
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [
        ("changes", "0003_changes_of_several_tables"),
    ]

    operations = [
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(CLAIM, migrations.RunSQL.noop),
    ]
