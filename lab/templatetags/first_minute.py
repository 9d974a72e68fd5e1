"""The first minute, as a part of any page."""

from collections.abc import Mapping
from typing import Any

from django import template

from lab.pages.first_minute import first_minute as described

register = template.Library()


@register.inclusion_tag("lab/parts/first_minute.html")
def first_minute() -> Mapping[str, Any]:
    return {"first_minute": described()}
