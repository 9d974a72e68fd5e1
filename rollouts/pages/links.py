"""A rollout's file as a part of an address: compressed, so that a plan can be sent as a link."""

import base64
import binascii
import re
import zlib

from rollouts.file import SCHEMA_LAB

TEXT_MAX, LINK_MAX = 20_000, 6_000


class BadLink(ValueError):
    """A link that carries no file."""


DATABASE = re.compile(r"^\s*database\s*=\s*(['\"]).*\1.*\n", re.MULTILINE)


def on_another_database(text: str) -> str:
    found = DATABASE.search(text)
    rest = text if found is None else text[: found.start()] + text[found.end() :]
    return rest if found is not None and SCHEMA_LAB in found[0] else f'database = "{SCHEMA_LAB}"\n{rest}'


def linked(text: str) -> str:
    """The text for an address; "" if it is too long."""
    link = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return link if len(link) <= LINK_MAX else ""


def text_in(link: str) -> str:
    """Raises `BadLink`."""
    if len(link) > LINK_MAX:
        raise BadLink(f"a link has at most {LINK_MAX} characters")
    try:
        packed = base64.b64decode(link + "=" * (-len(link) % 4), altchars=b"-_", validate=True)
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(packed, 4 * TEXT_MAX).decode()
    except (binascii.Error, zlib.error, ValueError) as error:
        raise BadLink("the link is damaged") from error
    if not unpacking.eof or len(text) > TEXT_MAX:
        raise BadLink("the link is damaged or too long")
    return text
