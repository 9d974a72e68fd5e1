"""Pages of the lowest floor: Cluster with its picture, tables, sign-in, help."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import NON_FIELD_ERRORS
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog import selectors
from catalog.live import snapshot
from catalog.models import Table
from catalog.story import CLUSTER, table_stream
from catalog.templatetags.glossary import glossary_words
from catalog.text.numbers import whole_number

ON_CLUSTER = (
    "headline", "remedy", "hold", "wrong", "lanes", "throughput", "traffic", "nodes", "storages", "changes", "spark",
    "load",
)  # fmt: skip
"""The parts that come with the page; the picture's come after it, since a browser has to draw them."""


@require_GET
def cluster(request: HttpRequest) -> HttpResponse:
    """The cluster now; without sign-in, an introduction."""
    if not request.user.is_authenticated:
        return render(request, "welcome.html")
    return render(request, "cluster.html", {"section": "cluster"} | snapshot.page_context(CLUSTER, ON_CLUSTER))


@login_required
@require_GET
def tables(request: HttpRequest) -> HttpResponse:
    return render(request, "tables.html", {"section": "tables"} | snapshot.page_context(CLUSTER, ("tables",)))


@login_required
@require_GET
def table(request: HttpRequest, table_id: int) -> HttpResponse:
    shown = Table.objects.filter(pk=table_id).first()
    if shown is None or not shown.descriptors.exists():
        raise Http404(f"there is no table with id {table_id}")
    context = {"section": "tables", "table": shown}
    return render(request, "table.html", context | snapshot.page_context(table_stream(table_id)))


@login_required
@require_GET
def table_named(request: HttpRequest) -> HttpResponse:
    """The table `name`, which may have slashes or be ".."."""
    name = request.GET.get("name", "")
    found = selectors.table_named(name)
    if found is None:
        raise Http404(f"no table is called {name}")
    return redirect("table", found.pk)


@never_cache
@require_GET
def poll(request: HttpRequest) -> HttpResponse:
    """Events for browsers without a WebSocket."""
    stream, typed = request.GET.get("stream", ""), request.GET.get("since", "")
    since = whole_number(typed, digits_max=15)
    if typed and since is None:
        return HttpResponseBadRequest("since must be the number of the last event seen")
    html = request.GET.get("html") == "1"
    try:
        snapshot.check_may_follow(request.user, stream)
    except snapshot.NoSuchStream as refusal:
        status = 404 if request.user.is_authenticated else 403
        return JsonResponse({"type": "error", "stream": stream, "message": str(refusal)}, status=status)
    if since is not None:
        news = [*snapshot.missed(stream, since, html=html), snapshot.state_message(stream, html=html)]
    else:
        news = [snapshot.snapshot_of(stream, html=html)]
    return JsonResponse({"messages": [snapshot.hello(), *news]})


class SignIn(LoginView):
    template_name = "sign-in.html"
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Tells apart a password that was not checked, after too many wrong ones."""
        too_soon = form.has_error(NON_FIELD_ERRORS, "too_soon")
        context = self.get_context_data(form=form, too_soon=too_soon)
        return self.render_to_response(context, status=429 if too_soon else 200)


sign_in = SignIn.as_view()
sign_out = LogoutView.as_view()


@require_GET
def help_page(request: HttpRequest) -> HttpResponse:
    return render(request, "help.html", {"section": "help"})


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"section": "help", "terms": glossary_words()})


@login_required
@require_GET
def about(request: HttpRequest) -> HttpResponse:
    return render(request, "about.html", {"facts": _facts()})


def _facts() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        (postgresql,) = cursor.fetchone()
        cursor.execute("SELECT existing FROM storage_layout")
        (storages,) = cursor.fetchone()
    packages = ("Django", "channels", "celery", "pyspark", "psycopg")
    return {
        "LEASE_S": settings.LEASE_S,
        "storages": storages,
        "BUCKET_COUNT": settings.BUCKET_COUNT,
        "SPARK_MASTER": settings.SPARK_MASTER,
        "IS_DATABASE_EMBEDDED": settings.IS_DATABASE_EMBEDDED,
        "IS_REDIS_EMBEDDED": settings.IS_REDIS_EMBEDDED,
        "postgresql": postgresql,
        "redis": _redis_version(),
        "packages": [(name, version(name)) for name in packages],
    }


def _redis_version() -> str:
    """Redis may be away (X3)."""
    from redis import Redis  # only here: the lab in a browser shares the other pages of this module
    from redis.exceptions import RedisError

    try:
        with Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1) as client:
            return str(client.info("server")["redis_version"])
    except (RedisError, OSError):
        return gettext("does not answer")
