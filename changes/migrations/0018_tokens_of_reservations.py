"""A reservation has a token of its maker, who can free it without knowing the table's id."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("changes", "0017_limits_of_deliveries_and_approvals")]

    operations = [migrations.AddField("reservation", "token", models.UUIDField(null=True))]
