"""`manage.py shadow` and `manage.py shadow rebuild`."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from storage.shadow.address import name_of
from storage.shadow.database import ShadowUnusable
from storage.shadow.following import catch_up, rebuild


class Command(BaseCommand):
    help = "The database that answers questions to the catalog: bring it to what is published, or make it anew."
    requires_system_checks = ("settings",)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=["rebuild"], help="other oids for all: drivers must reconnect")

    def handle(self, *args: Any, action: str | None, **options: Any) -> None:
        work = catch_up if action is None else rebuild
        try:
            now = work(settings.DATABASE_URL, settings.SHADOW_DATABASE_URL)
        except ShadowUnusable as error:
            raise CommandError(str(error)) from None
        shown = f"{name_of(settings.SHADOW_DATABASE_URL)} shows {len(now.tables)} tables and {len(now.views)} views"
        self.stdout.write(shown)
        if action is not None:
            self.stdout.write("all oids are new: clients that keep oids must connect again")
