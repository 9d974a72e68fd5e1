"""Parts that requests of one kind have in common under one version of a table: worked out once, looked up after that. A
version is one object as long as the node uses it, and never changes. So nothing here can be out of date."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from catalog.descriptor import Descriptor

COMPILED_MAX = 1024
TEXT_CHARS_MAX = 4096
"""Of a statement, or of the names in an option: longer ones are worked out at each request."""


def is_short(texts: Iterable[str]) -> bool:
    return sum(map(len, texts)) <= TEXT_CHARS_MAX


@dataclass(eq=False)
class CompiledRequests:
    """All that a node has compiled. Each entry holds its version, so that no other object can take its place."""

    _known: dict[tuple[int, Hashable], tuple[Descriptor, Any]] = field(default_factory=dict)

    def get(self, version: Descriptor, kind: Hashable) -> Any:
        found = self._known.get((id(version), kind))
        return None if found is None else found[1]

    def keep(self, version: Descriptor, kind: Hashable, made: Any) -> None:
        if len(self._known) >= COMPILED_MAX:
            self._known.clear()
        self._known[id(version), kind] = version, made
