"""Changes: list, new, one of them, and what may be done to it."""

from django.urls import path

from changes import views

urlpatterns = [
    path("changes/", views.changes, name="changes"),
    path("changes/new/", views.new, name="change-new"),
    path("changes/new/plan/", views.preview, name="change-preview"),
    path("changes/new/proof/<str:key>/", views.proof, name="change-proof"),
    path("changes/new/submit/", views.submit, name="change-submit"),
    path("changes/<int:change_id>/", views.change, name="change"),
    path("changes/<int:change_id>/throttle/", views.throttle, name="change-throttle"),
    path("changes/<int:change_id>/<str:intervention>/", views.act, name="change-act"),
]
