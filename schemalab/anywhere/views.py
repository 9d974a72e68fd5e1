"""The answer to every page that needs a cluster."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def needs_a_cluster(request: HttpRequest, **_: object) -> HttpResponse:
    """One sentence and a link to the lab; with 501, so that scripts can tell."""
    return render(request, "anywhere/needs_a_cluster.html", {"section": "lab"}, status=501)
