"""A page without the line breaks of its templates: tests need not know how these are laid out."""

import re


def flat(page: str) -> str:
    beside_tags = re.sub(r"(?<=>)\s*\n\s*|\s*\n\s*(?=</?\w|>)", "", page)
    return re.sub(r"\s*\n\s*", " ", beside_tags)
