"""Questions, progress, courses, polls and replays; the one function that publishes past the rules, for sandboxes."""

from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

HERE = Path(__file__).parent


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("catalog", "0001_schema"),
        ("changes", "0001_schema"),
        ("storage", "0001_pairs"),
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
        ),
        migrations.CreateModel(
            name="Poll",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("made_at", models.DateTimeField()),
                ("token", models.CharField(max_length=32, unique=True)),
                ("link", models.TextField()),
                ("question", models.CharField(max_length=200)),
                ("choices", models.JSONField()),
                ("right", models.PositiveSmallIntegerField(null=True)),
                ("language", models.CharField(max_length=10)),
                ("is_revealed", models.BooleanField(default=False)),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"ordering": ("-made_at",)},
        ),
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
                    "member",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="progress",
                        to="lab.membership",
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
            options={"verbose_name_plural": "progress"},
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("answer", models.JSONField()),
                ("outcome", models.CharField(max_length=10)),
                ("found", models.JSONField(default=dict)),
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
        migrations.CreateModel(
            name="Question",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("owner", models.CharField(max_length=80)),
                ("key", models.CharField(db_index=True, max_length=64)),
                ("asked", models.JSONField()),
                ("asked_at", models.DateTimeField()),
                ("sent_at", models.DateTimeField(null=True)),
                ("begun_at", models.DateTimeField(null=True)),
                ("beginnings", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("looked_at", models.DateTimeField(null=True)),
                ("progress", models.JSONField(null=True)),
                ("is_stopped", models.BooleanField(default=False)),
                ("answer", models.JSONField(null=True)),
            ],
            options={"indexes": [models.Index(fields=["asked_at"], name="lab_question_asked_at")]},
        ),
        migrations.CreateModel(
            name="Replay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("owner", models.CharField(max_length=150)),
                ("link", models.TextField()),
                ("asked_at", models.DateTimeField()),
                ("begun_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("done", models.PositiveSmallIntegerField(default=0)),
                ("table", models.TextField(default="")),
                ("outcome", models.JSONField(null=True)),
                ("away", models.JSONField(default=list)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("owner",),
                        name="lab_replay_is_one_of_a_person",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="Vote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("voter", models.CharField(max_length=80)),
                ("choice", models.PositiveSmallIntegerField()),
                (
                    "poll",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="votes", to="lab.poll"),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(fields=("course", "number"), name="lab_membership_has_its_number"),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(fields=("course", "user"), name="lab_membership_is_one_of_a_person"),
        ),
        migrations.AddConstraint(
            model_name="progress",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("member__isnull", True), ("user__isnull", False), ("visitor", "")),
                    models.Q(
                        ("member__isnull", True), ("user__isnull", True), models.Q(("visitor", ""), _negated=True)
                    ),
                    models.Q(("member__isnull", False), ("user__isnull", True), ("visitor", "")),
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
        migrations.AddConstraint(
            model_name="progress",
            constraint=models.UniqueConstraint(fields=("member", "exercise", "task"), name="lab_progress_of_member"),
        ),
        migrations.AddConstraint(
            model_name="vote", constraint=models.UniqueConstraint(fields=("poll", "voter"), name="lab_vote_once")
        ),
        migrations.RunSQL((HERE / "lab_publish.sql").read_text(), "DROP ROUTINE lab_publish CASCADE"),
    ]
