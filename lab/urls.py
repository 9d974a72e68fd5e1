"""The lab: its front page, and the stage."""

from django.urls import path

from lab import views

urlpatterns = [
    path("lab/", views.lab, name="lab"),
    path("lab/stage/", views.stage, name="stage"),
    path("lab/stage/random/", views.random_step, name="stage-random"),
]
