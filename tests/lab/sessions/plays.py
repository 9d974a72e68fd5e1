"""Sessions as tests write them: a set-up, and the offers that somebody takes one after the other."""

from collections.abc import Iterable
from dataclasses import replace

from lab.sessions.replay import new_session, show
from lab.sessions.session import Session, Value
from lab.sessions.shown import Difference, Pair, SessionView, Severity


def play(
    setup: str, *taken: str, left_out: Iterable[str] = (), begins: bool = True, **parameters: Value
) -> tuple[Session, SessionView]:
    """A session after these offers, each by its id (a statement as one: n2.insert.1.1), and what it shows then."""
    left = frozenset(left_out)
    session = new_session(setup, parameters, left) if begins else Session(setup, parameters, left)
    shown = show(session, single_steps=False)
    for name in taken:
        offers = {offer.id: offer for single in (False, True) for offer in show(session, single_steps=single).offers}
        assert name in offers, f"{name} is not offered; offered: {', '.join(offers)}"
        assert not offers[name].why_not, f"{name}: {offers[name].why_not}"
        session = replace(session, steps=(*session.steps, *offers[name].takes))
        shown = show(session, single_steps=False)
        assert shown.refused is None, shown.refused
    return session, shown


def verdicts(shown: SessionView) -> set[str]:
    """Each verdict as "C5@v2"; danger as "(C3@v1)"."""
    words = ((f"{verdict.clause}@v{verdict.version}", verdict.severity) for verdict in shown.verdicts)
    return {word if severity is Severity.DAMAGE else f"({word})" for word, severity in words}


def pairs(shown: SessionView) -> set[str]:
    """The pairs that are there: "row 1", "a = 1 of row 1", "by_a: 1 -> 1", "tombstone by_a: 1"."""
    return {word for word in map(_word, shown.cluster.pairs) if word}


def _word(pair: Pair) -> str:
    if pair.difference is Difference.REMOVED:
        return ""
    if pair.is_tombstone:
        return f"tombstone {pair.key}"
    if pair.sort == "entry":
        return f"{pair.key} -> {pair.row}{' (an orphan)' if pair.dangles else ''}"
    return f"row {pair.row}" if pair.sort == "row" else f"{pair.key} = {pair.value} of row {pair.row}"


def probed(shown: SessionView, version: int, value: int) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """What a query for this value finds by table and by index."""
    [found] = [one for one in shown.probe if one.version == version and one.query.endswith(f"a = {value}")]
    return found.by_table, found.by_index
