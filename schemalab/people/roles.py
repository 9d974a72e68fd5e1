"""Four roles, each a Django group whose permissions follow from this table after every `migrate`. Pages ask for a
permission, never for a role."""

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
    if app_config.label == "auth":
        for role in ROLES:
            Group.objects.using(using).get_or_create(name=role)
    for role, apps in ROLES.items():
        if app_config.label in apps:
            group, _created = Group.objects.using(using).get_or_create(name=role)
            named = Q()
            for beginning in apps[app_config.label]:
                named |= Q(codename__startswith=beginning)
            group.permissions.add(
                *list(Permission.objects.using(using).filter(named, content_type__app_label=app_config.label))
            )


def give_roles(user: User, roles: tuple[str, ...]) -> None:
    """All people are learners; operators are staff."""
    user.groups.add(*Group.objects.filter(name__in={"learner", *roles}))
    if "operator" in roles and not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])


def take_roles(user: User) -> None:
    """Removes all roles; only superusers stay staff."""
    user.groups.remove(*Group.objects.filter(name__in=ROLES))
    if user.is_staff and not user.is_superuser:
        user.is_staff = False
        user.save(update_fields=["is_staff"])
