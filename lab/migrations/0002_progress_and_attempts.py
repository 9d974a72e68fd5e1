"""Tables of how far learners are, and of their answers."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("lab", "0001_questions_to_the_explorer"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Progress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("visitor", models.CharField(blank=True, max_length=32)),
                ("exercise", models.CharField(max_length=100)),
                ("task", models.CharField(max_length=100)),
                ("hints", models.PositiveSmallIntegerField(default=0)),
                ("begun_at", models.DateTimeField()),
                ("answered_at", models.DateTimeField(null=True)),
                ("passed_at", models.DateTimeField(null=True)),
                ("was_helped", models.BooleanField(default=False)),
                ("shown_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "progress",
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("answer", models.JSONField()),
                ("outcome", models.CharField(max_length=10)),
                ("hints", models.PositiveSmallIntegerField()),
                ("was_shown", models.BooleanField()),
                ("at", models.DateTimeField()),
                (
                    "progress",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attempts", to="lab.progress"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="progress",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("user__isnull", False), ("visitor", "")),
                    models.Q(("user__isnull", True), models.Q(("visitor", ""), _negated=True)),
                    _connector="OR",
                ),
                name="lab_progress_is_of_one_learner",
            ),
        ),
        migrations.AddConstraint(
            model_name="progress",
            constraint=models.UniqueConstraint(
                condition=models.Q(("visitor", "")), fields=("user", "exercise", "task"), name="lab_progress_of_person"
            ),
        ),
        migrations.AddConstraint(
            model_name="progress",
            constraint=models.UniqueConstraint(
                condition=models.Q(("visitor", ""), _negated=True),
                fields=("visitor", "exercise", "task"),
                name="lab_progress_of_visitor",
            ),
        ),
    ]
