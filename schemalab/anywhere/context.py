"""The one thing that templates know of the place: pages leave out here all that leads to a cluster."""

from django.http import HttpRequest


def anywhere(request: HttpRequest) -> dict[str, bool]:
    """`is_anywhere`, which a cluster's pages do not have."""
    return {"is_anywhere": True}
