"""The one function that publishes past L7 and the fence; for sandbox tables only."""

from pathlib import Path

from django.db import migrations

PUBLISH = (Path(__file__).parent / "lab_publish.sql").read_text()


class Migration(migrations.Migration):
    dependencies = [
        ("lab", "0005_polls_and_their_votes"),
        ("catalog", "0003_sandbox_tables"),
        ("changes", "0001_changes_steps_and_schema_change_leases"),
        ("storage", "0002_layout_is_kept"),
    ]

    operations = [
        migrations.RunSQL(PUBLISH, "DROP FUNCTION lab_publish(int, text, jsonb, text, text, text)"),
    ]
