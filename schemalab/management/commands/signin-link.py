"""`manage.py signin-link [--user NAME]`: a link that signs in once, within 15 minutes."""

import json
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from schemalab.people.sign_in_links import MINUTES_MAX, make_token, owner


class Command(BaseCommand):
    help = f"Print a link that signs in once, within {MINUTES_MAX} minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", metavar="NAME", help="whom it signs in (default: the owner)")
        parser.add_argument("--json", action="store_true", help="print the link as JSON")

    def handle(self, *args: Any, user: str | None, json: bool, **options: Any) -> None:
        link = f"{page_address()}/sign-in/{make_token(user_named(user) if user else owner())}/"
        self.stdout.write(as_json(link) if json else link)


def user_named(name: str) -> User:
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise CommandError(f"no active user is called {name!r}", returncode=2)
    return user


def page_address() -> str:
    return settings.PUBLIC_URL or f"http://{settings.HOST}:{settings.PORT or 8000}"


def as_json(link: str) -> str:
    return json.dumps({"link": link, "minutes_max": MINUTES_MAX})
