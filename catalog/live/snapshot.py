"""Streams ("cluster", "table:7", "change:3"): events, numbered without gaps, and parts (lanes, leases, progress), of
which only the newest matters. Each app registers its parts in its `streams` module. A part is data and a template; the
first page, a live update and polling all use these two."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from django.db import connection, transaction
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.module_loading import autodiscover_modules

from catalog import selectors
from catalog.models import StoryEvent, Stream
from catalog.text.numbers import whole_number

EVENTS_SHOWN = 40
EVENTS_RESENT_MAX = 500
HEARTBEAT_S = 5
Message = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")


class NoSuchStream(LookupError):
    """No such stream, or not for this person."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of streams called `prefix` or `prefix:<id>`; `read` takes the id (0 without one). `is_sampled`: it changes
    by itself, and is read every second while it is followed. `is_html_only`: left out of the state as JSON. `is_once`:
    sent when a follower begins, who keeps it current by events and other parts."""

    prefix: str
    name: str
    template: str
    read: Callable[[int], Mapping[str, Any]]
    is_sampled: bool = False
    is_html_only: bool = False
    is_once: bool = False


@dataclass(frozen=True, slots=True)
class Door:
    """The streams of a prefix that exist, and the signed-in people for whom they are."""

    exists: Callable[[int], bool]
    may: Callable[[Any], bool] = lambda _user: True


class Drawing(dict[str, Any]):
    """A part's data when nothing else decides its look: while `read` returns this very object it is rendered once for
    each stream and language."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        self.html: dict[tuple[str, str | None], str] = {}


_parts: dict[tuple[str, str], Part] = {}
_doors: dict[str, Door] = {"cluster": Door(lambda _id: True)}


def register(
    prefix: str,
    name: str,
    template: str,
    read: Callable[[int], Mapping[str, Any]],
    *,
    is_sampled: bool = False,
    is_html_only: bool = False,
    is_once: bool = False,
) -> None:
    """Add a part to every stream of this prefix; called by an app's `streams` module."""
    _parts[prefix, name] = Part(prefix, name, template, read, is_sampled, is_html_only, is_once)


def register_stream(
    prefix: str, exists: Callable[[int], bool], *, may: Callable[[Any], bool] = lambda _user: True
) -> None:
    """Make "prefix:<id>" a stream for every id that `exists`, for every user who `may` see its page."""
    _doors[prefix] = Door(exists, may)


@cache
def load_streams() -> None:
    """Imports every app's `streams`. The web process does so as it starts, others with the first stream: these modules
    import nearly everything, and nodes and commands hardly ever show one."""
    autodiscover_modules("streams")


def split(stream: str) -> tuple[str, int]:
    """("table", 7) of "table:7". Raises `NoSuchStream`."""
    load_streams()
    prefix, _, typed = stream.partition(":")
    number = whole_number(typed or "0", digits_max=9)
    if prefix not in _doors or number is None:
        raise NoSuchStream(f"there is no stream {stream!r}; streams are: {', '.join(sorted(_doors))}")
    return prefix, number


def check_may_follow(user: Any, stream: str) -> None:
    """A signed-in user follows each stream that exists and whose page is for them. Raises `NoSuchStream`."""
    prefix, number = split(stream)
    if not user.is_authenticated:
        raise NoSuchStream(f"sign in to follow {stream!r}")
    if not may_follow(user, stream):
        raise NoSuchStream(f"you may not follow {stream!r}: its page is not for you")
    if not _doors[prefix].exists(number):
        raise NoSuchStream(f"there is no {prefix} {number}")


def may_follow(user: Any, stream: str) -> bool:
    return _doors[split(stream)[0]].may(user)


def parts_of(stream: str, *, sampled: bool | None = None) -> list[Part]:
    """All parts of the stream, or only those that are `sampled`, or that are neither sampled nor sent once."""
    prefix, _ = split(stream)
    own = [part for part in _parts.values() if part.prefix == prefix]
    return own if sampled is None else [part for part in own if part.is_sampled is sampled and not part.is_once]


def read_state(
    stream: str, *, sampled: bool | None = None, html: bool = True, names: Collection[str] | None = None
) -> dict[str, Mapping[str, Any]]:
    """The data of the stream's parts, or of those with these `names`; without `html` none of those that are for pages
    only."""
    _, number = split(stream)
    parts = [part for part in parts_of(stream, sampled=sampled) if names is None or part.name in names]
    return {part.name: part.read(number) for part in parts if html or not part.is_html_only}


def render_state(stream: str, state: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {part.name: _rendered(part, state[part.name], stream) for part in parts_of(stream) if part.name in state}


def _rendered(part: Part, data: Mapping[str, Any], stream: str) -> str:
    look = (stream, translation.get_language())
    if isinstance(data, Drawing) and look in data.html:
        return data.html[look]
    html = render_to_string(part.template, {"part": data, "stream": stream}).strip()
    if isinstance(data, Drawing):
        data.html[look] = html
    return html


def recent_events(stream: str, limit: int = EVENTS_SHOWN) -> list[Message]:
    rows = StoryEvent.objects.filter(stream=stream).order_by("-seq")[:limit]
    return [selectors.event_json(row) for row in rows]


def page_context(stream: str, names: Collection[str] | None = None) -> dict[str, Any]:
    """The context that a template needs to show a stream and to go on from there; `names`: the parts that it shows."""
    with one_snapshot():
        seq, events, state = selectors.newest_seq(stream), recent_events(stream), read_state(stream, names=names)
    parts = render_state(stream, state)
    return {"stream": stream, "seq": seq, "events": events, "parts": parts, "state": state}


def follow_context(stream: str) -> dict[str, Any]:
    """The context of a page that shows no parts, and asks anew for what it shows once something happens."""
    return {"stream": stream, "seq": selectors.newest_seq(stream)}


def snapshot_of(stream: str, *, html: bool) -> Message:
    """All that is known of the stream, as one message; events after its `seq` come one by one."""
    with one_snapshot():
        seq, events, state = selectors.newest_seq(stream), recent_events(stream), read_state(stream, html=html)
    return {"type": "snapshot", "stream": stream, "seq": seq, "events": events} | _shown(stream, state, html)


def state_message(stream: str, *, html: bool, sampled: bool | None = None) -> Message:
    """The stream's state, without a number: a newer one replaces it. `sampled`: only such parts, or only the others."""
    with one_snapshot():
        state = read_state(stream, sampled=sampled, html=html)
    message = {"type": "state", "stream": stream, "at": timezone.now().isoformat(), "busy": is_busy(state)}
    return message | _shown(stream, state, html)


def is_busy(state: Mapping[str, Mapping[str, Any]]) -> bool:
    """True while something moves that nobody is notified of: a part says so by `is_busy`."""
    return any(part.get("is_busy") for part in state.values())


def missed(stream: str, since: int, *, html: bool) -> list[Message]:
    """Messages for who has seen all up to event `since`: the events after it, or a snapshot if they are many."""
    newest = selectors.newest_seq(stream)
    if not 0 <= newest - since <= EVENTS_RESENT_MAX:
        return [snapshot_of(stream, html=html)]
    return [event_message(event) for event in selectors.events_since(stream, since, EVENTS_RESENT_MAX)]


def event_message(event: Mapping[str, Any]) -> Message:
    return {"type": "event", **event}


def newest_seqs(streams: list[str]) -> dict[str, int]:
    known = dict(Stream.objects.filter(name__in=streams).values_list("name", "seq"))
    return {stream: known.get(stream, 0) for stream in streams}


def hello() -> Message:
    return {"type": "hello", "server_time": timezone.now().isoformat(), "heartbeat_s": HEARTBEAT_S}


def in_language(language: str, work: Callable[[], Any]) -> Any:
    with translation.override(language):
        return work()


def _shown(stream: str, state: Mapping[str, Mapping[str, Any]], html: bool) -> Message:
    return {"parts": render_state(stream, state)} if html else {"state": state}


_known: ContextVar[dict[Any, Any] | None] = ContextVar("_known", default=None)
"""What was read in the snapshot that is open, by function and arguments."""


def once(read: Callable[P, T]) -> Callable[P, T]:
    """`read`, called once for the same arguments within `one_snapshot`. Parts share the value and must not change
    it."""

    @wraps(read)
    def known_or_read(*args: P.args, **kwargs: P.kwargs) -> T:
        known = _known.get()
        if known is None:
            return read(*args, **kwargs)
        key = (read, args, tuple(kwargs.items()))
        if key not in known:
            known[key] = read(*args, **kwargs)
        value: T = known[key]
        return value

    return known_or_read


class one_snapshot:  # noqa: N801  a context manager, read as a phrase
    """Several reads that see the same moment; inside somebody's transaction (a test) they see that one."""

    def __enter__(self) -> None:
        self.token = _known.set({})
        self.mine = not connection.in_atomic_block
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        if self.mine:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def __exit__(self, *error: Any) -> None:
        _known.reset(self.token)
        self.atomic.__exit__(*error)
