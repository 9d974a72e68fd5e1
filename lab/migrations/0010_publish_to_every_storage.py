"""A sandbox's versions are known to every storage there is, those that were added included."""

from pathlib import Path

from django.db import migrations

PUBLISH = (Path(__file__).parent / "lab_publish.sql").read_text()
PUBLISH_TO_EACH = PUBLISH.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)


class Migration(migrations.Migration):
    dependencies = [("lab", "0009_nodes_that_replays_take_away"), ("storage", "0004_storages_can_be_added")]

    operations = [migrations.RunSQL(PUBLISH_TO_EACH, migrations.RunSQL.noop)]
