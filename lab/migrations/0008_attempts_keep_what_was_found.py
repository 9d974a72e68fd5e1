"""An attempt keeps what its grade said and revealed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lab", "0007_replays_on_live_nodes")]

    operations = [migrations.AddField("attempt", "found", models.JSONField(default=dict))]
