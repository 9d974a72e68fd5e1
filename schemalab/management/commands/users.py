"""`manage.py users`: the people of this cluster, their roles and passwords."""

import getpass
import json
import sys
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from nodes.models import SqlPassword
from nodes.services import remove_sql_password, set_sql_password
from schemalab.people.forms import has_password
from schemalab.people.roles import ROLES, give_roles, take_roles
from schemalab.people.sign_in_links import OWNER

PASSWORD_CHARS_MAX = 1000


class Command(BaseCommand):
    help = "The people of this cluster: list them, add one, change roles, close an account, set passwords."
    requires_system_checks = ("settings",)  # the other checks import every page

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the list as JSON")
        actions = parser.add_subparsers(dest="action", metavar="ACTION")
        actions.add_parser("list", help="who there is (what happens without an action, too)")
        add = actions.add_parser("add", help="a new person; signs in by `signin-link --user NAME` or a password")
        roles = actions.add_parser("roles", help="exactly these roles from now on")
        for one in (add, roles):
            one.add_argument("name", metavar="NAME")
            one.add_argument("roles", nargs="*", metavar="ROLE", help=f"of {', '.join(ROLES)}; everybody is a learner")
        for action, what in {
            "password": "set the page's password",
            "sql-password": "set the password of the SQL ports",
            "close": "close the account: sessions end, nothing it did is lost",
            "open": "open a closed account",
        }.items():
            one = actions.add_parser(action, help=what)
            one.add_argument("name", metavar="NAME")
            if action == "sql-password":
                one.add_argument("--remove", action="store_true", help="forget it")

    def handle(self, *args: Any, action: str | None, name: str = "", **options: Any) -> None:
        match action:
            case None | "list":
                self._list(as_json=options["json"])
            case "add":
                self._add(name, options["roles"])
            case "roles":
                user = person(name)
                roles = known(options["roles"])
                with transaction.atomic():
                    take_roles(user)
                    give_roles(user, roles)
                self.stdout.write(f"{user.username}: {', '.join(sorted({'learner', *roles}))}")
            case "password":
                self._set_password(person(name))
            case "sql-password":
                self._set_sql_password(person(name), remove=options["remove"])
            case "close" | "open":
                self._set_active(person(name), is_active=action == "open")

    def _list(self, *, as_json: bool) -> None:
        with_sql = set(SqlPassword.objects.values_list("user_id", flat=True))
        people = [
            {
                "name": user.username,
                "roles": sorted(group.name for group in user.groups.all()),
                "is_superuser": user.is_superuser,
                "is_active": user.is_active,
                "has_password": has_password(user),
                "has_sql_password": user.pk in with_sql,
            }
            for user in User.objects.prefetch_related("groups").order_by("username")
        ]
        if as_json:
            self.stdout.write(json.dumps(people, indent=2))
        elif not people:
            self.stdout.write("nobody yet: `manage.py up` makes the owner")
        for one in [] if as_json else people:
            self.stdout.write(line_of(one))

    def _add(self, name: str, roles: list[str]) -> None:
        chosen, user = known(roles), User(username=name)
        user.set_unusable_password()
        try:
            user.full_clean()
        except ValidationError as wrong:
            raise CommandError(f"{name!r} cannot be added: {' '.join(wrong.messages)}", returncode=2) from None
        with transaction.atomic():
            user.save()
            give_roles(user, chosen)
        self.stdout.write(f"{name} added; a link that signs them in: manage.py signin-link --user {name}")

    def _set_password(self, user: User) -> None:
        password = asked_for(user)
        user.set_password(password)
        user.save(update_fields=["password"])
        self.stdout.write(f"{user.username} signs in on the page with it from now on")

    def _set_sql_password(self, user: User, *, remove: bool) -> None:
        if not remove:
            set_sql_password(user, asked_for(user), who=getpass.getuser())
            self.stdout.write(f"{user.username} signs in on the SQL ports with it from now on")
        elif remove_sql_password(user, who=getpass.getuser()):
            self.stdout.write(f"{user.username} has no SQL password any more")
        else:
            raise CommandError(f"{user.username} has no SQL password", returncode=1)

    def _set_active(self, user: User, *, is_active: bool) -> None:
        if user.username == OWNER and not is_active:
            raise CommandError("the owner's account stays open: nobody else could open it again", returncode=1)
        user.is_active = is_active
        user.save(update_fields=["is_active"])
        self.stdout.write(f"the account {user.username} is {'open' if is_active else 'closed'}")


def person(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"nobody is called {name!r}; `manage.py users` lists everybody", returncode=2)
    return user


def known(roles: list[str]) -> tuple[str, ...]:
    unknown = [role for role in roles if role not in ROLES]
    if unknown:
        raise CommandError(f"there is no role {', '.join(unknown)}; there are {', '.join(ROLES)}", returncode=2)
    return tuple(roles)


def asked_for(user: User) -> str:
    """A password, typed twice or from standard input: all users of the machine see arguments."""
    if sys.stdin.isatty():
        password = getpass.getpass(f"new password of {user.username}: ")
        if getpass.getpass("again: ") != password:
            raise CommandError("the two are not the same: nothing was changed", returncode=2)
    else:
        password = sys.stdin.readline(PASSWORD_CHARS_MAX).rstrip("\n")
    try:
        validate_password(password, user)
    except ValidationError as wrong:
        raise CommandError(f"nothing was changed: {' '.join(wrong.messages)}", returncode=2) from None
    return password


def line_of(one: dict[str, Any]) -> str:
    roles = "everything" if one["is_superuser"] else ", ".join(one["roles"]) or "no role"
    facts = [
        roles,
        *(["password"] if one["has_password"] else []),
        *(["SQL password"] if one["has_sql_password"] else []),
        *([] if one["is_active"] else ["closed"]),
    ]
    return f"{one['name']}  {'; '.join(facts)}"
