"""Signs in with a password; a wrong one delays the next (`schemalab.people.throttle`). Sign-in links never wait."""

import logging
import math
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import ngettext

from nodes.people.attempts import NAME_CHARS_MAX, subjects_of
from schemalab.people.throttle import begin_try, note_success

log = logging.getLogger(__name__)

TOO_SOON = "too_soon"


class SlowedBackend(ModelBackend):
    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **more: Any
    ) -> AbstractBaseUser | None:
        if request is None or username is None or password is None:
            return super().authenticate(request, username, password, **more)
        address = request.META.get("REMOTE_ADDR") or ""
        subjects = subjects_of(username, address)
        left_s = begin_try(subjects)
        if left_s > 0:
            raise ValidationError(too_soon(math.ceil(left_s)), code=TOO_SOON)
        user = super().authenticate(request, username, password, **more)
        if user is None:
            log.warning("wrong password on the page for %r from %s", username[:NAME_CHARS_MAX], address)
        else:
            note_success(subjects)
        return user


def too_soon(seconds: int) -> str:
    return ngettext(
        "There were too many wrong passwords: wait %(n)s second, then try again.",
        "There were too many wrong passwords: wait %(n)s seconds, then try again.",
        seconds,
    ) % {"n": seconds}
