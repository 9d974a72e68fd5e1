"""The words of the picture, for the page that draws it."""

from typing import Any

from django import template

from schemalab.operations.picture_words import lane_words, picture_words

register = template.Library()


@register.simple_tag
def words_of_picture() -> dict[str, Any]:
    return picture_words()


@register.simple_tag
def words_of_lanes() -> dict[str, str]:
    return lane_words()
