"""A stream of COPY is read the same whatever pieces it comes in, and nothing of it is kept that is not needed."""

import struct
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expressions.errors import SqlError
from nodes.copy.lines import LINE_CHARS_MAX, Lines
from nodes.copy.options import Options
from nodes.copy.tuples import HEAD, Tuples

TEXT = Options(delimiter="\t", null="\\N")
CSV = Options(format="csv", delimiter=",", quote='"', escape='"')
ESCAPED = Options(format="csv", delimiter=",", quote="'", escape="\\")
ALPHABET = ("a", "é", "\\", ".", "\n", "\r", "\r\n", '"', "'", ",", "\\.\n", "\\N")


def read(options: Options, pieces: list[bytes]) -> tuple[list[tuple[int, str]], tuple[str, str, int] | None]:
    """The lines with their numbers, and why there are no more."""
    lines = Lines(options)
    found: list[tuple[int, str]] = []
    try:
        for line in chain(*(lines.feed(piece) for piece in pieces), lines.end()):
            found.append((lines.number, line))  # noqa: PERF401 - those before an error count
    except SqlError as error:
        return found, (error.sqlstate, error.message, lines.number)
    return found, None


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("options", [TEXT, CSV, ESCAPED], ids=["text", "csv", "csv with an escape of its own"])
@given(parts=st.lists(st.sampled_from(ALPHABET), max_size=25), places=st.lists(st.integers(0, 60), max_size=6))
def test_lines_do_not_depend_on_the_pieces(options: Options, parts: list[str], places: list[int]) -> None:
    data = "".join(parts).encode()
    whole = read(options, [data])
    assert read(options, cut(data, places)) == whole
    assert read(options, [bytes((byte,)) for byte in data]) == whole


@given(places=st.lists(st.integers(0, 200), max_size=6))
def test_rows_do_not_depend_on_the_pieces(places: list[int]) -> None:
    rows = [[b"x" * n, None, b""] for n in range(5)]
    data = HEAD + b"".join(packed(row) for row in rows) + b"\xff\xff"
    tuples, found = Tuples(3), []
    for piece in cut(data, places):
        found += list(tuples.feed(piece))
    tuples.end()
    assert found == rows


def packed(row: list[bytes | None]) -> bytes:
    fields = (struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in row)
    return struct.pack("!h", len(row)) + b"".join(fields)


@pytest.mark.parametrize("begin", [b'"', b"", b"1,2,"], ids=["in quotes", "at once", "behind fields"])
def test_a_line_without_an_end_is_refused_before_it_is_kept(begin: bytes) -> None:
    lines, fed = Lines(CSV), [len(begin)]

    def pieces() -> Iterator[bytes]:
        yield begin
        while True:
            fed[0] += 2**16
            yield b"x" * 2**16

    with pytest.raises(SqlError) as refusal:
        list(chain.from_iterable(lines.feed(piece) for piece in pieces()))
    assert refusal.value.sqlstate == "54000"
    assert fed[0] <= LINE_CHARS_MAX + 2**17


@pytest.mark.parametrize("size", [2**20 + 1, 2**31 - 1])
def test_a_field_that_announces_too_much_is_refused_before_it_comes(size: int) -> None:
    tuples: Any = Tuples(1)
    with pytest.raises(SqlError) as refusal:
        list(tuples.feed(HEAD + struct.pack("!hi", 1, size)))
    assert refusal.value.sqlstate == "54000"
