"""Famous anomalies: each a session that ends in damage, with a paragraph and a picture of the store at its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from lab.pages.words import named_clause
from lab.sessions.replay import new_session, show
from lab.sessions.session import Session, encode
from lab.sessions.short_steps import in_full
from lab.sessions.shown import Pair, SessionView, Severity

NO_ENTRY = _("no entry")


@dataclass(frozen=True, slots=True)
class Anomaly:
    """`steps` follow those with which the set-up begins; `missing` is what a row without an entry lacks."""

    title: str | Promise
    about: str | Promise
    setup: str
    steps: tuple[str, ...]
    left_out: frozenset[str] = frozenset()
    variant: str = ""
    missing: str | Promise = NO_ENTRY


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    is_there: bool
    values: tuple[str, ...]
    entries: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """An anomaly as the front page has it: `clauses` are those that break with damage, `link` opens it on the stage."""

    anomaly: Anomaly
    link: str
    rows: tuple[Row, ...]
    clauses: tuple[str | Promise, ...]


PLANNED = "n1: request insert t (id = 1, a = 1, b = 2)"
FILLED = ("fill.read.1.1", "fill.put.1.1", "close")

FAMOUS = (
    Anomaly(
        _("The orphan entry"),
        _("A new server inserts a row with its index entry. An old one deletes the row and knows nothing of the index:"
          " the entry stays and leads into a hole."),
        "one-jump",
        ("n2.insert.1.1", "n1.delete.1"),
    ),
    Anomaly(
        _("The missing entry"),
        _("An old server inserts a row and puts no entry. A new one asks the index, and does not find the row."),
        "one-jump",
        ("n1.insert.1.1",),
    ),
    Anomaly(
        _("Three versions at once"),
        _("Each version is compatible with the next. The first and the third are not: the orphan is back."),
        "two-versions",
        ("publish.2", "publish.3", "n2.acquire", "n2.insert.1.1", "n1.delete.1"),
        frozenset({"two-versions"}),
    ),
    Anomaly(
        _("The expired lease that still writes"),
        _("A server freezes in the middle of a transaction. The change goes on without it. Then it wakes up and commits"
          " under a version that is no longer in use."),
        "full-ladder",
        (
            *("n1.begin", "n1.read.1", "n1.write.insert.1.1", "n1.expire", "publish.2", "n2.acquire", "publish.3"),
            *("n2.acquire", "drain.3", "clear", *FILLED, "publish.4", "n1.commit"),
        ),
        frozenset({"fence"}),
    ),
    Anomaly(
        _("The row that a fill raises from the dead"),
        _("The fill reads a row, a server deletes it, and the fill still puts the entry."),
        "fill",
        ("fill.read.1.1", "n1.delete.1", "fill.put.1.1"),
        frozenset({"blind"}),
    ),
    Anomaly(
        _("The duplicate under a unique index"),
        _("Two rows had the same value before the index was there. The fill puts one entry. No step verifies, and the"
          " index is published."),
        "unique-index",
        (
            *("publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire", "drain.3", "clear"),
            *("fill.read.1.1", "fill.put.1.1", "fill.read.2.1", "fill.put.2.1", "close", "publish.4"),
        ),
        frozenset({"unverified"}),
    ),
    Anomaly(
        _("The row that refers to nothing"),
        _("One server checks that the parent is there and inserts the child, another checks that there is no child and"
          " deletes the parent. Both commit."),
        "variant",
        (
            *("n1.begin", "n1.read.parent.1", "n1.write.insert-parent.1.1", "n1.commit"),
            *("n1.begin", "n2.begin", "n1.read.1", "n1.write.insert.1.1", "n1.commit"),
            *("n2.read.parent.1", "n2.write.delete-parent.1.0", "n2.commit"),
        ),
        variant="foreign-key-not-serializable",
        missing=_("no such parent"),
    ),
    Anomaly(
        _("The router with an old schema"),
        _("Two columns of one type exchange their names. A router that has not heard of it sends two numbers, each for"
          " the place that it knows. No step compares versions: the answer is \"done\", and the values are exchanged."),
        "router",
        (PLANNED, "publish t swap a b", "n1: send request", "n1: commit request"),
        frozenset({"entry"}),
        missing=_("asked: a = 1, b = 2"),
    ),
    Anomaly(
        _("The row behind the other door"),
        _("The table gets another sharding key. A server writes a row to its new place only, and those who still read"
          " the old place have lost it."),
        "variant",
        ("n1.acquire", "n1.insert.1.1"),
        variant="placements-public+write-only-beside-delete-only+public",
        missing=_("not in the old place"),
    ),
)  # fmt: skip


def three_versions() -> Session:
    """The session in which a node uses the first of three versions and another node the third."""
    anomaly = next(one for one in FAMOUS if one.setup == "two-versions")
    return _session(anomaly)


def _session(anomaly: Anomaly) -> Session:
    begun = new_session(anomaly.setup, {"name": anomaly.variant} if anomaly.variant else {}, anomaly.left_out)
    return replace(begun, steps=(*begun.steps, *in_full(anomaly.steps)))


@lru_cache(maxsize=1)
def cards() -> tuple[Card, ...]:
    """All of them, replayed once for a process: today's rules decide what is drawn."""
    return tuple(_card(anomaly) for anomaly in FAMOUS)


def _card(anomaly: Anomaly) -> Card:
    session = _session(anomaly)
    shown = show(session)
    clauses = sorted({one.clause for one in shown.verdicts if one.severity is Severity.DAMAGE})
    return Card(anomaly, encode(session, shown.at), tuple(_rows(shown)), tuple(map(named_clause, clauses)))


def _rows(shown: SessionView) -> Iterator[Row]:
    pairs = shown.cluster.present
    of_many = len({pair.table for pair in pairs}) > 1
    for table, row in sorted({(pair.table, pair.row) for pair in pairs}):
        yield _row(f"{table} {row}" if of_many else row, [p for p in pairs if (p.table, p.row) == (table, row)])


def _row(name: str, pairs: Sequence[Pair]) -> Row:
    live = [pair for pair in pairs if not pair.is_tombstone]
    values = tuple(f"{pair.key} = {pair.value}" for pair in live if pair.sort == "value")
    entries = tuple(pair for pair in live if pair.sort == "entry")
    return Row(name, any(pair.sort == "row" for pair in live), values, entries)
