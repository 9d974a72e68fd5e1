"""When each action of a replay was done."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lab", "0002_pace")]

    operations = [migrations.AddField("replay", "times", models.JSONField(default=list))]
