"""`manage.py check`: Django's checks, and which Java Spark runs on."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import check

from spark_tasks.spark.java import NoJava, find_java


class Command(check.Command):
    def handle(self, *app_labels: Any, **options: Any) -> None:
        super().handle(*app_labels, **options)
        try:
            self.stdout.write(f"Spark: {find_java()}")
        except NoJava as none:
            raise CommandError(str(none)) from None
