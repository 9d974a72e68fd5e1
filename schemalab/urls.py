"""URLs of the site, then of each app in the order of the floors."""

from importlib.util import find_spec

from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.urls import include, path
from django.views.generic import RedirectView
from django.views.i18n import JavaScriptCatalog

from schemalab import documents, views
from schemalab.metrics import views as metrics
from schemalab.operations import audit_trail, faults, first_visit, hold_pages, leases, traffic
from schemalab.people import account, theme
from schemalab.tables import versions

APPS_WITH_PAGES = ("rollouts", "lab", "nodes", "changes", "spark_tasks", "leases", "storage", "catalog")

admin.autodiscover()

urlpatterns = [
    path("docs/", documents.index, name="docs"),
    path("docs/<path:path>", documents.page, name="docs-page"),
    path("source/<path:path>", documents.source, name="source"),
    path("healthz", views.healthz, name="healthz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("sign-in/<str:token>/", views.sign_in_with_link, name="sign-in-link"),
    path("theme/", theme.theme, name="theme"),
    path("account/", account.account, name="account"),
    path("account/own.css", account.own_style, name="own-style"),
    path("account/sql-password/", account.set_sql, name="account-sql"),
    path("account/sql-password/remove/", account.remove_sql, name="account-sql-remove"),
    path("account/password/", account.set_page, name="account-page"),
    path("processes/", faults.processes, name="processes"),
    path("processes/<str:name>/<str:command>/", faults.act, name="process-control"),
    path("traffic/", traffic.page, name="traffic"),
    path("traffic/start/", traffic.start, name="traffic-start"),
    path("traffic/<int:number>/stop/", traffic.stop, name="traffic-stop"),
    path("hold/<str:node>/", hold_pages.begin, name="hold"),
    path("hold/<str:node>/end/", hold_pages.end, name="hold-end"),
    path("first-visit/", first_visit.show, name="first-visit"),
    path("audit-trail/", audit_trail.page, name="audit-trail"),
    path("leases/", leases.leases, name="leases"),
    path("leases/history/", leases.history, name="lease-history"),
    path("leases/<int:lease_id>/release/", leases.release, name="lease-release"),
    path("leases/<int:lease_id>/revoke/", leases.revoke, name="lease-revoke"),
    path("tables/<int:table_id>/versions/<int:number>/", versions.version, name="table-version"),
    path("admin/password_change/", login_required(RedirectView.as_view(pattern_name="account"))),  # slows guesses
    path("admin/", admin.site.urls),
    path("language/", include("django.conf.urls.i18n")),
    path("jsi18n/", JavaScriptCatalog.as_view(), name="javascript-catalog"),
    *(path("", include(f"{app}.urls")) for app in APPS_WITH_PAGES if find_spec(f"{app}.urls")),
]
