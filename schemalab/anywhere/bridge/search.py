"""The search's worker: Django without a database, because apps register their kinds of questions with it."""

from __future__ import annotations

import django

django.setup()

from schemalab.anywhere import searches  # noqa: E402


def search(asked: str) -> str:
    import js  # not before: a copy of the memory keeps no object of a page

    return searches.search(asked, js.postMessage)
