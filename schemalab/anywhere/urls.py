"""The map of the site in a browser. Addresses are those of a cluster, so that links work in both."""

from django.urls import include, path, re_path
from django.views.generic import RedirectView

from schemalab import documents
from schemalab.anywhere import views
from schemalab.people.theme import theme

ELSEWHERE = {
    "about": "about/",
    "account": "account/",
    "audit-trail": "audit-trail/",
    "changes": "changes/",
    "console": "console/",
    "courses": "lab/courses/",
    "help": "help/",
    "leave-course": "lab/course/leave/",
    "my-course": "lab/course/",
    "pace-here": "lab/course/pace/",
    "polls": "lab/polls/",
    "sign-in": "sign-in/",
    "sign-out": "sign-out/",
    "step-out": "lab/course/step-out/",
    "story": "story/",
    "tables": "tables/",
}
"""Pages that need a cluster and that the lab's pages link to, by name."""

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="lab"), name="cluster"),
    path("", include("lab.pages.urls")),
    path("", include("rollouts.urls")),
    path("theme/", theme, name="theme"),
    path("language/", include("django.conf.urls.i18n")),
    path("glossary/", views.glossary, name="glossary"),
    path("docs/", documents.index, name="docs"),
    path("docs/<path:path>", documents.page, name="docs-page"),
    path("lab/live/", views.replays, name="replays"),
    *(path(route, views.needs_a_cluster, name=name) for name, route in ELSEWHERE.items()),
    path("source/<path:path>", views.needs_a_cluster, name="source"),
    re_path(r"^(?:admin|changes|console|join|tables|vote)/", views.needs_a_cluster),
    re_path(r"^lab/(?:course|courses|live|polls|why)/", views.needs_a_cluster),
]
