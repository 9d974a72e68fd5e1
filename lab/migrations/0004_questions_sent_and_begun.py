"""When word of a question was sent last, and how often its search has begun."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("lab", "0003_courses_and_their_members"),)
    operations = (
        migrations.AddField("question", "sent_at", models.DateTimeField(null=True)),
        migrations.AddField("question", "beginnings", models.PositiveSmallIntegerField(default=0, db_default=0)),
    )
