"""The site's worker: its calls, with values of JavaScript on one side and of Python on the other."""

from __future__ import annotations

import gc
import random
from typing import Any

import django

django.setup()

from schemalab.anywhere import searches  # noqa: E402
from schemalab.anywhere import site as sites  # noqa: E402

_running: list[sites.Site] = []


def prepare(prefix: str, languages: str) -> None:
    """Make the site and answer its first page, so that a copy of the memory starts at once. No progress is in it."""
    _running[:] = [sites.Site(prefix)]
    _running[0].answer("GET", f"{prefix}lab/", b"", {"Accept-Language": languages})
    _running[0].take(None)
    gc.collect()


def start(kept: Any, post: Any) -> bool:
    """Go on with the kept progress; False when it is of another version, and the site starts without."""
    random.seed()  # a copy of the memory would go on with the same numbers
    searches.QUEUE.notify = lambda: post({"search": True})
    try:
        _running[0].take(None if kept is None else kept.to_bytes())
    except sites.NotKept:
        return False
    return True


def answer(request: Any, _: Any) -> dict[str, Any]:
    """The answer to {method, address, body, headers, cookies, languages}: {status, headers, content}."""
    headers = {**request.headers.to_py(), "Accept-Language": request.languages}
    found = _running[0].answer(request.method, request.address, request.body.to_bytes(), headers, request.cookies)
    return {"status": found.status, "headers": [list(pair) for pair in found.headers], "content": found.body}


def kept(_: Any) -> bytes:
    return _running[0].kept()


def news(_: Any) -> bytes | None:
    return _running[0].news()


def may_keep(file: Any, _: Any) -> bool:
    """True for a file that is progress of this version."""
    return sites.is_kept(file.to_bytes())


def next_search(_: Any) -> str:
    return _running[0].next_search()


def search_goes_on(pk: int, progress: str, _: Any) -> bool:
    return _running[0].search_goes_on(pk, progress)


def searched(pk: int, answer: str, _: Any) -> None:
    _running[0].searched(pk, answer)
