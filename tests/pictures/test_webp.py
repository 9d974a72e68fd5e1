"""A picture that moves: its parts are where a viewer looks for them."""

import pytest

from tests.pictures.webp import animation, chunks


def still(name: bytes, data: bytes) -> bytes:
    """A WebP file of one chunk."""
    body = b"WEBP" + name + len(data).to_bytes(4, "little") + data + bytes(len(data) % 2)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def test_frames_follow_one_another_with_their_times() -> None:
    frames = [(still(b"VP8 ", b"odd"), 700), (still(b"VP8L", b"even"), 4000)]
    found = list(chunks(animation(frames, width=640, height=300)))
    assert [name for name, _ in found] == [b"VP8X", b"ANIM", b"ANMF", b"ANMF"]
    assert found[0][1] == bytes([2, 0, 0, 0]) + (639).to_bytes(3, "little") + (299).to_bytes(3, "little")
    times = [int.from_bytes(data[12:15], "little") for name, data in found if name == b"ANMF"]
    assert times == [700, 4000]
    assert found[2][1][16:] == b"VP8 \x03\x00\x00\x00odd\x00"


def test_what_is_no_webp_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="no WebP picture"):
        animation([(b"\x89PNG....", 1)], width=1, height=1)
