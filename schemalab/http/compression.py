"""Gzip for browsers, a stream as one member: browsers take the first of several, which Django makes, for the whole."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware, re_accepts_gzip
from django.utils.cache import patch_vary_headers

GZIP_BITS = 31
"""The largest window, in a frame of gzip."""


class Compression(GZipMiddleware):
    def process_response(self, request: HttpRequest, response: Any) -> HttpResponseBase:
        if not (response.streaming and response.is_async):
            answer: HttpResponseBase = super().process_response(request, response)
            return answer
        patch_vary_headers(response, ("Accept-Encoding",))
        if re_accepts_gzip.search(request.META.get("HTTP_ACCEPT_ENCODING", "")):
            response.streaming_content = one_member(response.streaming_content)
            response.headers["Content-Encoding"] = "gzip"
        return response


async def one_member(parts: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(wbits=GZIP_BITS)
    async with contextlib.aclosing(parts):
        async for part in parts:
            yield packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()
