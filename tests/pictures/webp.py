"""Several WebP pictures of one size as one that moves. The browser has encoded them; here only their parts are sorted.

RIFF WEBP  VP8X  ANIM  ANMF (picture 1, so many ms)  ANMF (picture 2, ..)  ..
"""

from collections.abc import Iterator, Sequence

HAS_ANIMATION, HAS_ALPHA = 0x02, 0x10
NO_BLENDING = 0x02
FOR_EVER = 0
PICTURES = (b"ALPH", b"VP8 ", b"VP8L")


def animation(frames: Sequence[tuple[bytes, int]], *, width: int, height: int) -> bytes:
    """The frames, each a WebP file of this size and the milliseconds that it is shown for, again and again."""
    flags = HAS_ANIMATION | (HAS_ALPHA if any(_is_translucent(frame) for frame, _ in frames) else 0)
    size = _three_bytes(width - 1) + _three_bytes(height - 1)
    parts = [
        _chunk(b"VP8X", bytes([flags, 0, 0, 0]) + size),
        _chunk(b"ANIM", bytes(4) + FOR_EVER.to_bytes(2, "little")),
    ]
    for frame, ms in frames:
        picture = b"".join(_chunk(name, data) for name, data in chunks(frame) if name in PICTURES)
        parts.append(_chunk(b"ANMF", bytes(6) + size + _three_bytes(ms) + bytes([NO_BLENDING]) + picture))
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def chunks(file: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of each chunk of a WebP file; raises `ValueError` for anything else."""
    if file[:4] != b"RIFF" or file[8:12] != b"WEBP":
        raise ValueError("this is no WebP picture")
    at = 12
    while at < len(file):
        length = int.from_bytes(file[at + 4 : at + 8], "little")
        yield file[at : at + 4], file[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def _is_translucent(frame: bytes) -> bool:
    return any(name == b"ALPH" for name, _ in chunks(frame))


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + len(data).to_bytes(4, "little") + data + bytes(len(data) % 2)


def _three_bytes(number: int) -> bytes:
    return number.to_bytes(3, "little")
