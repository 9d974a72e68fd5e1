"""How often a proof was begun since it was last answered: what ends its process each time is not begun for ever."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("changes", "0012_clearing_is_part_of_the_fill"),)
    operations = (
        migrations.AddField("proof", "beginnings", models.PositiveSmallIntegerField(default=0, db_default=0)),
    )
