"""Tables on which the lab may break rules: a mark that is given with the row and never changes."""

from pathlib import Path

from django.db import migrations, models

HERE = Path(__file__).parent


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_story_events_notify")]

    operations = [
        migrations.AddField("table", "sandbox_of", models.TextField(null=True)),
        migrations.RunSQL((HERE / "sandbox.sql").read_text(), (HERE / "sandbox_drop.sql").read_text()),
    ]
