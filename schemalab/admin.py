"""People and roles in the administration: with plain fields, which everybody can read and use.

Django's two-list widgets and the date fields of times that nobody sets have parts without a name.
"""

from typing import ClassVar

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User

admin.site.unregister((User, Group))


@admin.register(User)
class PersonAdmin(UserAdmin):
    filter_horizontal = ()
    readonly_fields: ClassVar = ("last_login", "date_joined")


@admin.register(Group)
class RoleAdmin(GroupAdmin):
    filter_horizontal = ()
