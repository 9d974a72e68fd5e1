"""Wrong passwords on the page, where every process sees them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="SignInTally",
            fields=[
                ("subject", models.TextField(primary_key=True, serialize=False)),
                ("failures", models.IntegerField(default=0)),
                ("last_at", models.DateTimeField(db_index=True)),
                ("is_known", models.BooleanField(default=False)),
            ],
        )
    ]
