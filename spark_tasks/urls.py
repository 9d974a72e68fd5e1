"""Audits."""

from django.urls import path

from spark_tasks import views

urlpatterns = [path("tables/<int:table_id>/audit/", views.audit, name="audit")]
