"""The picture of what the cluster is made of, for a template of a floor that knows nothing of its processes."""

from typing import Any

from django import template

from schemalab.operations.topology import as_context

register = template.Library()


@register.inclusion_tag("parts/topology.html")
def topology(facts: dict[str, Any]) -> dict[str, Any]:
    return as_context(facts)
