"""The picture of the cluster, for a template of a lower floor."""

from typing import Any

from django import template

from schemalab.operations.topology import as_context

register = template.Library()


@register.inclusion_tag("parts/topology.html")
def topology(facts: dict[str, Any]) -> dict[str, Any]:
    return as_context(facts)
