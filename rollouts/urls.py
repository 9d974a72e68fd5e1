"""The page *Design a rollout*."""

from django.urls import path

from rollouts.pages import views

urlpatterns = [
    path("lab/rollouts/", views.rollout, name="rollout"),
    path("lab/rollouts/ask/", views.ask, name="rollout-ask"),
    path("lab/rollouts/tiles/", views.tiles, name="rollout-tiles"),
    path("lab/rollouts/answers/<int:pk>/", views.answer, name="rollout-answer"),
]
