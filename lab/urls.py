"""The lab: its front page, the stage, the explorer, and doors from other pages."""

from django.urls import path

from lab import views
from lab.pages import explorer

urlpatterns = [
    path("lab/", views.lab, name="lab"),
    path("lab/stage/", views.stage, name="stage"),
    path("lab/explorer/", explorer.explorer, name="lab-explorer"),
    path("lab/models/<str:name>/", explorer.model, name="lab-model"),
    path("lab/without/<str:rule>/", explorer.without, name="lab-without"),
    path("lab/why/<str:situation>/", explorer.why, name="lab-why"),
    path("lab/stage/random/", views.random_step, name="stage-random"),
]
