"""/metrics for Prometheus: for bearers of METRICS_TOKEN; without one for this machine alone, by a name of its own.
Sessions do not count, since figures name tables and changes of all people. A proxied request is not of this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from schemalab.checks import is_loopback
from schemalab.metrics.reading import Cluster

FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
PLAIN = "text/plain; charset=utf-8"


@never_cache
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    refusal = why_refused(request)
    if refusal is not None:
        return refusal
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    registry = CollectorRegistry(auto_describe=False)
    try:
        registry.register(Cluster())
        return HttpResponse(encode(registry), content_type=content_type)
    except Error:
        return HttpResponse("the database does not answer\n", content_type=PLAIN, status=503)


def why_refused(request: HttpRequest) -> HttpResponse | None:
    if settings.METRICS_TOKEN:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and constant_time_compare(token.strip(), settings.METRICS_TOKEN):
            return None
        headers = {"WWW-Authenticate": 'Bearer realm="metrics"'}
        return HttpResponse("METRICS_TOKEN is asked for\n", content_type=PLAIN, status=401, headers=headers)
    if _is_of_this_machine(request):
        return None
    words = "figures are for this machine; set METRICS_TOKEN to read them from another\n"
    return HttpResponse(words, content_type=PLAIN, status=403)


def _is_of_this_machine(request: HttpRequest) -> bool:
    """A proxy without headers still asks for its client's host."""
    if settings.PUBLIC_URL or any(name in request.headers for name in FORWARDED):
        return False
    asked = urlsplit(f"//{request.get_host()}").hostname or ""
    return is_loopback(request.META.get("REMOTE_ADDR", "")) and is_loopback(asked)
