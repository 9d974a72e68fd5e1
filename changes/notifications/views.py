"""The page of notifications: destinations, the latest deliveries, and a test message."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.contenttypes.models import ContentType
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from changes.models import Delivery, Destination
from changes.notifications import sending

SHOWN = 50
TESTS_PENDING_MAX = 5
MAY = "changes.change_destination"


@login_required
@permission_required(MAY, raise_exception=True)
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    pending = Count("deliveries", filter=Q(deliveries__state=Delivery.State.PENDING))
    given_up = Count("deliveries", filter=Q(deliveries__state=Delivery.State.GIVEN_UP))
    deliveries = list(Delivery.objects.select_related("destination")[:SHOWN])
    context = {
        "section": "changes",
        "destinations": Destination.objects.annotate(pending=pending, given_up=given_up),
        "deliveries": deliveries,
        "is_busy": any(one.state == Delivery.State.PENDING for one in deliveries),
        "has_email": bool(settings.EMAIL_HOST),
        "occasions": dict(Destination.Occasion.choices),
        "tries_max": sending.TRIES_MAX,
    }
    return render(request, "notifications.html", context)


@login_required
@permission_required(MAY, raise_exception=True)
@require_POST
def test(request: HttpRequest, destination_id: int) -> HttpResponse:
    """Sends a test message, and logs who asked in the admin's log."""
    destination = get_object_or_404(Destination, pk=destination_id)
    pending = destination.deliveries.filter(state=Delivery.State.PENDING, about__startswith="test ").count()
    if pending >= TESTS_PENDING_MAX:
        messages.error(request, _("%(n)s test messages are on their way already.") % {"n": pending})
        return redirect("notifications")
    sending.ask_for_test(destination, who=request.user.get_username())
    LogEntry.objects.create(
        user_id=request.user.pk,
        content_type=ContentType.objects.get_for_model(Destination),
        object_id=str(destination.pk),
        object_repr=str(destination),
        action_flag=CHANGE,
        change_message="Test message",
    )
    messages.success(request, _("A test message to %(name)s is on its way.") % {"name": destination.name})
    return redirect("notifications")
