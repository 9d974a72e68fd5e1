"""Changes: list, new, one of them, and what may be done to it."""

from django.urls import path

from changes import views
from changes.notifications import views as notifications

urlpatterns = [
    path("changes/", views.changes, name="changes"),
    path("incident/", views.incident, name="incident"),
    path("notifications/", notifications.page, name="notifications"),
    path("notifications/<int:destination_id>/test/", notifications.test, name="notification-test"),
    path("changes/new/", views.new, name="change-new"),
    path("changes/new/plan/", views.preview, name="change-preview"),
    path("changes/new/proof/<str:key>/", views.proof, name="change-proof"),
    path("changes/new/submit/", views.submit, name="change-submit"),
    path("changes/<int:change_id>/", views.change, name="change"),
    path("changes/<int:change_id>/approve/", views.decide, {"is_approved": True}, name="change-approve"),
    path("changes/<int:change_id>/reject/", views.decide, {"is_approved": False}, name="change-reject"),
    path("changes/<int:change_id>/throttle/", views.throttle, name="change-throttle"),
    path("changes/<int:change_id>/retry/", views.retry, name="change-retry"),
    path("changes/<int:change_id>/<str:intervention>/", views.act, name="change-act"),
]
