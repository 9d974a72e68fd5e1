"""The part of the story that an address asks for: the same in the page, in its files, and in a link to share.
/story/?of=change:3&kind=nodes&kind=version+published&text=n2&from=2026-05-04T12:00:00Z&until=..&before=812"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.dateparse import parse_datetime

from catalog.story import CLUSTER
from catalog.text.numbers import whole_number

TEXT_MAX = 200
KINDS_MAX = 80
DIGITS_MAX = 15


@dataclass(frozen=True, slots=True)
class StoryFilter:
    """Events of `stream` of these kinds or groups (none: all), with `text` in their details, between `since` and
    `until`; `before` and `after` are numbers for paging."""

    stream: str = CLUSTER
    kinds: tuple[str, ...] = ()
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    after: int | None = None

    @property
    def is_filtered(self) -> bool:
        return bool(self.kinds or self.text or self.since or self.until)

    @property
    def range_address(self) -> str:
        return urlencode([(name, written(at)) for name, at in (("from", self.since), ("until", self.until)) if at])

    def address(self, **pages: int | None) -> str:
        """The filter as a query string, with `before` or `after` where given."""
        pairs: list[tuple[str, object]] = [("of", self.stream)] if self.stream != CLUSTER else []
        pairs += [("kind", kind) for kind in self.kinds]
        if self.text:
            pairs.append(("text", self.text))
        pairs += [(name, written(at)) for name, at in (("from", self.since), ("until", self.until)) if at]
        pairs += [(name, number) for name, number in pages.items() if number is not None]
        return urlencode(pairs)


def wanted(asked: QueryDict) -> StoryFilter:
    """Reads an address; invalid moments and numbers are left out."""
    return StoryFilter(
        stream=asked.get("of", "").strip()[:TEXT_MAX] or CLUSTER,
        kinds=tuple(dict.fromkeys(kind for kind in asked.getlist("kind")[:KINDS_MAX] if kind)),
        text=asked.get("text", "").strip()[:TEXT_MAX],
        since=moment(asked.get("from", "")),
        until=moment(asked.get("until", "")),
        before=number(asked.get("before", "")),
        after=number(asked.get("after", "")),
    )


def moment(typed: str) -> datetime | None:
    """An ISO 8601 moment, by default UTC; None when invalid."""
    try:
        at = parse_datetime(typed.strip())
        if at is None:
            return None
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):  # the year 1 of a zone may be the year 0 of UTC
        return None


def written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def number(typed: str) -> int | None:
    return whole_number(typed, digits_max=DIGITS_MAX)
