"""Forms of the account, which ask for the old password: an open browser must not suffice to take an account over."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from nodes.people.attempts import subjects_of
from nodes.services import is_sql_password, set_sql_password, sql_password_changed_at
from schemalab.people.passwords import TOO_SOON, too_soon
from schemalab.people.throttle import begin_try, note_success

old_password = PasswordChangeForm.base_fields["old_password"]


class OldPassword(forms.Form):
    def ask(self, user: User, address: str, fits: Callable[[str], bool] | None) -> None:
        self.user, self.address, self.fits = user, address, fits
        if fits is not None:
            self.fields = {"old_password": copy.deepcopy(old_password)} | self.fields

    def clean_old_password(self) -> str:
        given: str = self.cleaned_data["old_password"]
        subjects = subjects_of(self.user.get_username(), self.address)
        if (left_s := begin_try(subjects)) > 0:
            raise ValidationError(too_soon(math.ceil(left_s)), code=TOO_SOON)
        if self.fits is None or not self.fits(given):
            raise ValidationError(PasswordChangeForm.error_messages["password_incorrect"], code="password_incorrect")
        note_success(subjects)
        return given


class PagePasswordForm(OldPassword, SetPasswordForm):
    """A new password for the page, typed twice."""


class SqlPasswordForm(OldPassword, SetPasswordForm):
    def save(self, commit: bool = True) -> Any:
        set_sql_password(self.user, self.cleaned_data["new_password1"], who=self.user.get_username())
        return self.user


def has_password(user: User) -> bool:
    """True when some password could sign in: an empty hash fits none."""
    return bool(user.password) and user.has_usable_password()


def page_password_form(request: HttpRequest, data: Any = None) -> PagePasswordForm:
    user = _user(request)
    form = PagePasswordForm(user, data, prefix="page")
    form.ask(user, _address(request), user.check_password if has_password(user) else None)
    return form


def sql_password_form(request: HttpRequest, data: Any = None) -> SqlPasswordForm:
    form = SqlPasswordForm(_user(request), data, prefix="sql")
    form.ask(_user(request), _address(request), _sql_password_fits(_user(request)))
    return form


def sql_removal_form(request: HttpRequest, data: Any = None) -> OldPassword:
    form = OldPassword(data, prefix="remove")
    form.ask(_user(request), _address(request), _sql_password_fits(_user(request)))
    return form


def _sql_password_fits(user: User) -> Callable[[str], bool] | None:
    return (lambda given: is_sql_password(user, given)) if sql_password_changed_at(user) else None


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR") or "")
