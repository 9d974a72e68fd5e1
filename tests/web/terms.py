"""A page as its text was written: words of the glossary are links on it, wherever they stand first."""

import re
from typing import Any

TERM = re.compile(r'<a class="term"[^>]*>(.*?)</a>', re.DOTALL)


def without_terms(answer: Any) -> str:
    """The page of a response, its words of the glossary as plain words."""
    return TERM.sub(r"\1", answer.content.decode())
