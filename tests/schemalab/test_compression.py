"""What streams is compressed as browsers read it: one member of gzip, sent part by part."""

import asyncio
import zlib
from collections.abc import AsyncIterator

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from schemalab.http.compression import GZIP_BITS, Compression

PARTS = [b"first ", b"second ", b"third"]


def answered(response: HttpResponseBase, **headers: str) -> HttpResponseBase:
    found: HttpResponseBase = Compression(lambda _: response)(RequestFactory().get("/", headers=headers))
    return found


def stream(ended: list[str]) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        try:
            for part in PARTS:
                yield part
        finally:
            ended.append("the iterator")

    return StreamingHttpResponse(parts())


async def read(response: HttpResponseBase, most: int = 100) -> list[bytes]:
    found: list[bytes] = []
    async for part in response:  # type: ignore[attr-defined]
        found.append(part)
        if len(found) == most:
            await response.streaming_content.aclose()  # type: ignore[attr-defined]
            break
    return found


def test_a_stream_is_one_member_whose_parts_can_be_read_as_they_come() -> None:
    response = answered(stream([]), **{"accept-encoding": "gzip, br"})
    assert (response["Content-Encoding"], response["Vary"]) == ("gzip", "Accept-Encoding")
    *sent, end = asyncio.run(read(response))
    reader = zlib.decompressobj(wbits=GZIP_BITS)
    assert [reader.decompress(part) for part in sent] == PARTS
    assert (reader.decompress(end), reader.eof, reader.unused_data) == (b"", True, b"")


@pytest.mark.parametrize("accepts", ["", "br", "identity"])
def test_who_takes_no_gzip_gets_the_stream_as_it_is(accepts: str) -> None:
    response = answered(stream([]), **{"accept-encoding": accepts})
    assert "Content-Encoding" not in response.headers
    assert asyncio.run(read(response)) == PARTS


def test_a_reader_who_leaves_ends_the_stream() -> None:
    ended: list[str] = []
    asyncio.run(read(answered(stream(ended), **{"accept-encoding": "gzip"}), most=1))
    assert ended == ["the iterator"]


def test_pages_are_compressed_by_django() -> None:
    response = answered(HttpResponse(b"x" * 1000), **{"accept-encoding": "gzip"})
    assert isinstance(response, HttpResponse)
    assert zlib.decompress(response.content, wbits=GZIP_BITS) == b"x" * 1000
