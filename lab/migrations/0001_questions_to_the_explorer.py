"""A table of questions to the explorer."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = ()
    operations = (
        migrations.CreateModel(
            name="Question",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("owner", models.CharField(max_length=80)),
                ("key", models.CharField(db_index=True, max_length=64)),
                ("asked", models.JSONField()),
                ("asked_at", models.DateTimeField()),
                ("begun_at", models.DateTimeField(null=True)),
                ("looked_at", models.DateTimeField(null=True)),
                ("progress", models.JSONField(null=True)),
                ("is_stopped", models.BooleanField(default=False)),
                ("answer", models.JSONField(null=True)),
            ],
            options={"indexes": [models.Index(fields=["asked_at"], name="lab_question_asked_at")]},
        ),
    )
