"""Pages that belong to no app: sign-in links, and health for scripts."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from schemalab.health import health
from schemalab.people.sign_in_links import MINUTES_MAX, LinkRefused, use_token


@never_cache
@require_GET
def sign_in_with_link(request: HttpRequest, token: str) -> HttpResponse:
    try:
        user = use_token(token)
    except LinkRefused as refused:
        reason = {
            "expired": _("This sign-in link is older than %(minutes)s minutes.") % {"minutes": MINUTES_MAX},
            "used": _("This sign-in link was used already."),
            "unknown": _("This is not a sign-in link of this cluster."),
        }[str(refused)]
        what_next = _("Make a new one in the cluster's terminal: manage.py signin-link")
        return render(request, "sign-in-refused.html", {"reason": reason, "what_next": what_next}, status=403)
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    messages.success(request, _("Signed in as %(name)s.") % {"name": user.get_username()})
    return redirect(settings.LOGIN_REDIRECT_URL)


@never_cache
@require_GET
def healthz(request: HttpRequest) -> JsonResponse:
    found = health()
    return JsonResponse(found.as_dict(), status=200 if found.is_well else 503)
