"""The course that a browser works in, for any page of the lab that says so."""

from typing import Any

from django import template

from lab.classroom import selectors
from lab.models import Membership

register = template.Library()


@register.simple_tag(takes_context=True)
def member_here(context: dict[str, Any]) -> Membership | None:
    return selectors.member_here(context["request"])
