"""The theme of a browser, kept in a cookie for the server's first answer."""

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

THEMES = ("system", "light", "dark")
THEME_S = 365 * 24 * 3600


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    chosen, back = request.POST.get("theme", ""), request.POST.get("next", "/")
    if chosen not in THEMES:
        return HttpResponseBadRequest(f"theme must be one of {', '.join(THEMES)}")
    answer = redirect(back if url_has_allowed_host_and_scheme(back, {request.get_host()}) else "/")
    answer.set_cookie("theme", chosen, max_age=THEME_S, samesite="Lax")
    return answer
