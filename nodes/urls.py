"""The SQL console, the page of requests, and that of a view."""

from django.urls import path

from nodes import views

urlpatterns = [
    path("console/", views.console, name="console"),
    path("console/<str:number>/run/", views.run, name="console-run"),
    path("console/<str:number>/transaction/", views.transaction, name="console-transaction"),
    path("console/<str:number>/end/", views.end, name="console-end"),
    path("console/<str:number>/stop/", views.stop, name="console-stop"),
    path("requests/", views.requests, name="requests"),
    path("views/<int:view_id>/", views.stored_view, name="stored-view"),
    path("requests/trace/", views.request_trace, name="request-trace"),
]
