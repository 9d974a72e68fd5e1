"""`manage.py signin-link [--user NAME]`: a link that signs in once, within 15 minutes."""

import json
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from schemalab.launch.plan import reach
from schemalab.people.sign_in_links import MINUTES_MAX, make_token, owner


class Command(BaseCommand):
    help = f"Print a link that signs in once, within {MINUTES_MAX} minutes."
    requires_system_checks = ("settings",)  # the other checks import every page

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", metavar="NAME", help="whom it signs in (default: the owner)")
        parser.add_argument("--json", action="store_true", help="print the link as JSON")

    def handle(self, *args: Any, user: str | None, **options: Any) -> None:
        known = User.objects.filter(username=user, is_active=True).first() if user else owner()
        if known is None:
            raise CommandError(f"no active user is called {user!r}", returncode=2)
        address = settings.PUBLIC_URL or f"http://{reach(settings.HOST)}:{settings.PORT or 8000}"
        link = f"{address}/sign-in/{make_token(known)}/"
        shown = json.dumps({"link": link, "minutes_max": MINUTES_MAX}) if options["json"] else link
        self.stdout.write(shown)
