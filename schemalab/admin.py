"""People and roles in the administration, with plain fields: Django's two-list widgets have parts without a name."""

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

admin.site.unregister((User, Group))


@admin.register(User)
class PersonAdmin(UserAdmin):
    filter_horizontal = ()
    readonly_fields: ClassVar = ("last_login", "date_joined")

    def user_change_password(self, request: HttpRequest, **where: Any) -> HttpResponse:
        """One's own password is changed on the account's page, which asks for the old one."""
        is_own = where["id"] == str(request.user.pk)
        return redirect("account") if is_own else super().user_change_password(request, **where)


@admin.register(Group)
class RoleAdmin(GroupAdmin):
    filter_horizontal = ()
