"""The search's worker: Django without a database, because apps register their kinds of questions with it."""

from __future__ import annotations

from typing import Any

import django

django.setup()

from schemalab.anywhere import searches  # noqa: E402


def search(asked: str, post: Any) -> str:
    """The answer to a question; its progress is posted."""
    return searches.search(asked, lambda progress: post({"progress": progress}))
