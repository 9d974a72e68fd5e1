"""Tables of courses and their members; progress may be of a member."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q


def delete_work_of_members(apps, schema_editor):
    """The table of before has no place for it."""
    apps.get_model("lab", "Progress").objects.filter(member__isnull=False).delete()
    schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def one_learner(condition):
    return models.CheckConstraint(condition=condition, name="lab_progress_is_of_one_learner")


class Migration(migrations.Migration):
    dependencies = [
        ("lab", "0002_progress_and_attempts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Course",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("chapters", models.JSONField()),
                ("language", models.CharField(max_length=10)),
                ("is_anonymous", models.BooleanField()),
                ("token", models.CharField(max_length=32, unique=True)),
                ("is_open", models.BooleanField(default=True)),
                ("is_shared", models.BooleanField(default=False)),
                ("joined", models.PositiveIntegerField(default=0)),
                ("made_at", models.DateTimeField()),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("name", models.CharField(blank=True, max_length=60)),
                ("joined_at", models.DateTimeField()),
                (
                    "course",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="members", to="lab.course"
                    ),
                ),
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
                "constraints": [
                    models.UniqueConstraint(fields=["course", "number"], name="lab_membership_has_its_number"),
                    models.UniqueConstraint(fields=["course", "user"], name="lab_membership_is_one_of_a_person"),
                ]
            },
        ),
        migrations.AddField(
            model_name="progress",
            name="member",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="progress",
                to="lab.membership",
            ),
        ),
        migrations.RemoveConstraint(model_name="progress", name="lab_progress_is_of_one_learner"),
        migrations.AddConstraint(
            model_name="progress",
            constraint=one_learner(
                Q(user__isnull=False, visitor="", member__isnull=True)
                | Q(user__isnull=True, member__isnull=True) & ~Q(visitor="")
                | Q(user__isnull=True, visitor="", member__isnull=False)
            ),
        ),
        migrations.AddConstraint(
            model_name="progress",
            constraint=models.UniqueConstraint(fields=["member", "exercise", "task"], name="lab_progress_of_member"),
        ),
        migrations.RunPython(migrations.RunPython.noop, delete_work_of_members),
    ]
