"""The pair browser and the row page."""

from django.urls import path

from storage import views

urlpatterns = [
    path("tables/<int:table_id>/pairs/", views.pairs, name="pairs"),
    path("tables/<int:table_id>/row/", views.row, name="row"),
]
