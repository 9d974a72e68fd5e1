"""Requests an audit; the table's page shows its result."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from catalog.models import Table
from spark_tasks.services import request_audit


@login_required
@permission_required("spark_tasks.add_auditjob", raise_exception=True)
@require_POST
def audit(request: HttpRequest, table_id: int) -> HttpResponse:
    if not Table.objects.filter(pk=table_id, state=Table.State.LIVE).exists():
        raise Http404(f"there is no live table with id {table_id}")
    request_audit(table_id)
    return redirect("table", table_id)
