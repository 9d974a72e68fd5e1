"""The first-visit card, whose state depends on the reader."""

from typing import Any

from django import template

from schemalab.operations.first_visit import card

register = template.Library()


@register.inclusion_tag("parts/first_visit.html", takes_context=True)
def first_visit(context: Any) -> dict[str, Any]:
    request = context["request"]
    return {"card": card(request), "request": request, "csrf_token": context.get("csrf_token")}
