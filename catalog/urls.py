"""Pages of the lowest floor, and polling without WebSockets."""

from django.urls import path

from catalog import views
from catalog.story_list import views as story_list

urlpatterns = [
    path("", views.cluster, name="cluster"),
    path("tables/", views.tables, name="tables"),
    path("tables/<int:table_id>/", views.table, name="table"),
    path("tables/named/", views.table_named, name="table-named"),
    path("story/", story_list.story, name="story"),
    path("story/events.json", story_list.file, {"form": "json"}, name="story-json"),
    path("story/events.csv", story_list.file, {"form": "csv"}, name="story-csv"),
    path("live/poll", views.poll, name="live-poll"),
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("help/", views.help_page, name="help"),
    path("glossary/", views.glossary, name="glossary"),
    path("about/", views.about, name="about"),
]
