"""My account: roles, and the passwords of the page and of the SQL ports."""

import re
from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from leases.models import Node
from nodes.people.rights import MAY_WRITE
from nodes.services import remove_sql_password, sql_password_changed_at
from schemalab.people.forms import page_password_form, sql_password_form, sql_removal_form
from schemalab.people.roles import ROLES

NODES_SHOWN = 10
ROLE_NAMES = {name: gettext_noop(name) for name in ROLES}


OWN = '.may-approve[data-by="{name}"] {{ display: none; }}\n'
"""Parts of pages are drawn once for all readers, so a page hides what its reader is not offered of their own."""


@login_required
@require_GET
def own_style(request: HttpRequest) -> HttpResponse:
    """Hides what others may do with the reader's changes. The address has the name, for caches."""
    name = re.sub(r"[^0-9A-Za-z_]", lambda found: f"\\{ord(found[0]):x} ", request.user.get_username())
    cached = {"Cache-Control": "private, max-age=86400"}
    return HttpResponse(OWN.format(name=name), content_type="text/css; charset=utf-8", headers=cached)


@never_cache
@login_required
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    return _page(request)


@never_cache
@sensitive_post_parameters()
@require_POST
@login_required
def set_sql(request: HttpRequest) -> HttpResponse:
    form = sql_password_form(request, request.POST)
    if not form.is_valid():
        return _page(request, sql=form)
    form.save()
    messages.success(request, _("Your SQL password is set. It counts from the next connection on."))
    return redirect("account")


@never_cache
@sensitive_post_parameters()
@require_POST
@login_required
def remove_sql(request: HttpRequest) -> HttpResponse:
    form = sql_removal_form(request, request.POST)
    if not form.is_valid():
        return _page(request, removal=form)
    remove_sql_password(_user(request), who=request.user.get_username())
    messages.success(request, _("Your SQL password is removed."))
    return redirect("account")


@never_cache
@sensitive_post_parameters()
@require_POST
@login_required
def set_page(request: HttpRequest) -> HttpResponse:
    """Sets the page's password; other browsers are signed out."""
    form = page_password_form(request, request.POST)
    if not form.is_valid():
        return _page(request, page=form)
    form.save()
    update_session_auth_hash(request, form.user)
    messages.success(request, _("Your password for this page is set. Other browsers of yours are signed out."))
    return redirect("account")


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _page(request: HttpRequest, *, sql: Any = None, page: Any = None, removal: Any = None) -> HttpResponse:
    user = _user(request)
    roles = user.groups.order_by("name").values_list("name", flat=True)
    shown = {
        "roles": [_(ROLE_NAMES.get(name, name)) for name in roles],
        "may_write": user.has_perm(MAY_WRITE),
        "sql_changed_at": sql_password_changed_at(user),
        "sql": sql or sql_password_form(request),
        "page": page or page_password_form(request),
        "removal": removal or sql_removal_form(request),
        "nodes": Node.objects.filter(port__gt=0).order_by("name")[:NODES_SHOWN],
    }
    return render(request, "account.html", shown)
