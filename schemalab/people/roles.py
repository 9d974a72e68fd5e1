"""Permissions: four roles, each a Django group whose permissions follow from this table.

Pages ask for a permission (`user.has_perm("changes.add_change")`), never for a role, so they need not import this.
The groups are kept in step after every `migrate`.
"""

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.models import Group, Permission, User
from django.db.models import Q

READ = "view_"
# role -> for each app, the beginnings of the permissions' codenames ("" is all of them)
ROLES: dict[str, dict[str, tuple[str, ...]]] = {
    "learner": {"catalog": (READ,), "leases": (READ,), "changes": (READ,), "spark_tasks": (READ,), "lab": (READ,)},
    "submitter": {"changes": ("add_change", "change_change")},
    "operator": {"catalog": (READ,), "leases": ("",), "changes": ("",), "spark_tasks": ("",)},
    "instructor": {"lab": ("",)},
}


def keep_roles(app_config: AppConfig, using: str, **_: Any) -> None:
    """After an app's migrations: give each role the permissions it has in this app."""
    if app_config.label == "auth":
        for role in ROLES:
            Group.objects.using(using).get_or_create(name=role)
    for role, apps in ROLES.items():
        if app_config.label in apps:
            group, _created = Group.objects.using(using).get_or_create(name=role)
            group.permissions.add(*_permissions(app_config.label, apps[app_config.label], using=using))


def _permissions(app_label: str, beginnings: tuple[str, ...], *, using: str) -> list[Permission]:
    named = Q()
    for beginning in beginnings:
        named |= Q(codename__startswith=beginning)
    return list(Permission.objects.using(using).filter(named, content_type__app_label=app_label))


def give_roles(user: User, roles: tuple[str, ...]) -> None:
    """Everybody is a learner; operators are Django's staff."""
    user.groups.add(*Group.objects.filter(name__in={"learner", *roles}))
    if "operator" in roles and not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])


def take_roles(user: User) -> None:
    """The user has none of the roles any more, and is staff only where they may do everything anyway."""
    user.groups.remove(*Group.objects.filter(name__in=ROLES))
    if user.is_staff and not user.is_superuser:
        user.is_staff = False
        user.save(update_fields=["is_staff"])
