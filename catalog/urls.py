"""The pages of the lowest floor, the theme, and polling for browsers without WebSockets."""

from django.urls import path

from catalog import views

urlpatterns = [
    path("", views.cluster, name="cluster"),
    path("tables/", views.tables, name="tables"),
    path("tables/<int:table_id>/", views.table, name="table"),
    path("tables/named/<str:name>/", views.table_named, name="table-named"),
    path("live/poll", views.poll, name="live-poll"),
    path("theme/", views.theme, name="theme"),
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("help/", views.help_page, name="help"),
    path("glossary/", views.glossary, name="glossary"),
    path("about/", views.about, name="about"),
]
