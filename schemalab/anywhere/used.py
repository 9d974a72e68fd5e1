"""Templates and messages that packed modules can show: the others are for pages of a cluster. A message is left out
only if another file has it and no packed one does. A text that is put together as the site runs is in no file, so it
stays."""

import ast
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

COUNT_AND_PLACES, HEADING_BYTES = struct.Struct("<3I"), 28
PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def templates(sources: Iterable[str], texts: Mapping[str, str]) -> set[str]:
    """The names of those templates, of all by name, that modules name, and so on."""
    used, text = set[str](), "\n".join(sources)
    while text:
        named = {name for name in texts.keys() - used if name in text}
        used, text = used | named, "\n".join(texts[name] for name in named)
    return used


class Texts:
    def __init__(self, modules: Iterable[str], others: Iterable[str]) -> None:
        nodes = (node for module in modules for node in ast.walk(ast.parse(module)))
        self._constants = {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
        self._text = " ".join(" ".join(others).split())

    def __contains__(self, message: str) -> bool:
        in_template = " ".join(PLACEHOLDER.sub(r"{{ \1 }}", message).replace("%%", "%").split())
        return message in self._constants or in_template in self._text


def messages(catalogue: bytes, used_here: Texts, used_elsewhere: Texts) -> bytes:
    """A compiled catalogue (.mo) without messages that only other files use."""
    count, originals, translations = COUNT_AND_PLACES.unpack_from(catalogue, 8)
    pairs = zip(_texts(catalogue, count, originals), _texts(catalogue, count, translations), strict=True)
    kept = [(key, text) for key, text in pairs if not _is_elsewhere(key, used_here, used_elsewhere)]
    texts = [text for column in zip(*kept, strict=True) for text in column]
    starts = accumulate((len(text) + 1 for text in texts), initial=HEADING_BYTES + 8 * len(texts))
    index = b"".join(struct.pack("<2I", len(text), start) for text, start in zip(texts, starts, strict=False))
    places = COUNT_AND_PLACES.pack(len(kept), HEADING_BYTES, HEADING_BYTES + 8 * len(kept))
    return b"".join((catalogue[:8], places, bytes(8), index, *(text + b"\0" for text in texts)))


def _texts(catalogue: bytes, count: int, place: int) -> Iterator[bytes]:
    for length, start in struct.iter_unpack("<2I", catalogue[place : place + 8 * count]):
        yield catalogue[start : start + length]


def _is_elsewhere(key: bytes, used_here: Texts, used_elsewhere: Texts) -> bool:
    """A key is the message, after its context and before its plural."""
    message = key.rpartition(b"\4")[2].partition(b"\0")[0].decode()
    return message not in used_here and message in used_elsewhere
