"""The site's worker: its calls, with values of JavaScript on one side and of Python on the other."""

from __future__ import annotations

import gc
import json
import random
from typing import Any

import django

django.setup()

from schemalab.anywhere import site as sites  # noqa: E402

FIRST_STEPS = (("delete-only", "publish.2"), ("leases", "step"))
"""A step on each kind of machine."""

_running: list[sites.Site] = []


def prepare(prefix: str, languages: str) -> None:
    """Makes the site and answers its first page and first steps on the stage, so that a copy of the memory has them."""
    site, headers = sites.Site(prefix), {"Accept-Language": languages}
    _running[:] = [site]
    site.answer("GET", f"{prefix}lab/", b"", headers)
    for setup, step in FIRST_STEPS:
        session = {"setup": setup, "steps": [step]}
        site.answer("POST", f"{prefix}lab/stage/", json.dumps({"session": session}).encode(), headers)
    site.take(None)
    gc.collect()
    gc.freeze()  # all that is there stays: to look through it again would take a step 50 ms now and then


def start(progress: Any = None) -> bool:
    """Go on with the stored progress; False when it is of another version, and the site starts without."""
    random.seed()  # a copy of the memory would go on with the same numbers
    try:
        _running[0].take(None if progress is None else progress.to_bytes())
    except sites.NotKept:
        return False
    return True


def answer(request: Any) -> dict[str, Any]:
    """The answer to {method, address, body, headers, cookies}: {status, headers, content}, and what follows of it."""
    headers, body = request.headers.to_py(), request.body.to_bytes()
    found = _running[0].answer(request.method, request.address, body, headers, request.cookies)
    return {"status": found.status, "headers": found.headers, "content": found.body, **_followed()}


def kept() -> bytes:
    return _running[0].kept()


def may_keep(file: Any) -> bool:
    return sites.is_kept(file.to_bytes())


def search_goes_on(pk: int, progress: str) -> bool:
    return _running[0].search_goes_on(pk, progress)


def searched(pk: int, answer: str | None = None) -> dict[str, Any]:
    _running[0].searched(pk, answer)
    return _followed()


def _followed() -> dict[str, Any]:
    """Progress to store, when there is some; number and text of a question to search for."""
    return {"progress": _running[0].news(), "search": _running[0].next_search()}
