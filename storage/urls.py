"""The pair browser."""

from django.urls import path

from storage import views

urlpatterns = [path("tables/<int:table_id>/pairs/", views.pairs, name="pairs")]
