"""Forms of people's own account."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User

from nodes.services import set_sql_password


class SqlPasswordForm(SetPasswordForm):
    """A new password for the SQL ports, typed twice."""

    def save(self, commit: bool = True) -> Any:
        set_sql_password(self.user, self.cleaned_data["new_password1"], who=self.user.get_username())
        return self.user


def has_password(user: User) -> bool:
    """True when the user could sign in with some password: an empty hash fits none."""
    return bool(user.password) and user.has_usable_password()


def page_password_form(user: User, data: Any = None) -> SetPasswordForm:
    """For the page's password; whoever has one proves to know it."""
    form = PasswordChangeForm if has_password(user) else SetPasswordForm
    return form(user, data, prefix="page")


def sql_password_form(user: User, data: Any = None) -> SqlPasswordForm:
    return SqlPasswordForm(user, data, prefix="sql")
