"""What checks each person's password on the SQL ports."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("nodes", "0001_identity_numbers"),
    ]

    operations = [
        migrations.CreateModel(
            name="SqlPassword",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="sql_password",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("verifier", models.TextField()),
                ("changed_at", models.DateTimeField(auto_now=True)),
            ],
        ),
    ]
