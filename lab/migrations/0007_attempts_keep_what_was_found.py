"""An attempt keeps what its grade said and revealed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lab", "0006_publish_past_the_rules")]

    operations = [migrations.AddField("attempt", "found", models.JSONField(default=dict))]
