"""Upkeep of a node's leases after every event, whatever it was: expire, release, acquire, renew. A newest version that
was not renewed in time ends the process (L10); an older one that expires ends its users (L5)."""

from collections.abc import Iterable
from dataclasses import replace
from math import inf

from catalog.elements import TableId
from catalog.text.sentence import Sentence
from leases.node import holdings, vocabulary


def do_upkeep(state: holdings.NodeLeases, now: float) -> holdings.Step:
    if state.phase is holdings.Phase.STOPPED:
        return state, ()
    fatal = _unrenewed(state, now)
    if fatal is not None:
        return _stop(state, fatal)
    effects: tuple[vocabulary.Effect, ...] = ()
    draining = state.phase is holdings.Phase.DRAINING
    for table, leases in state.tables:
        if now < leases.quiet_until and not draining:
            continue
        kept, more = _keep_table(leases, table, now, draining=draining)
        if kept is not leases:
            state, more = holdings.edit(state, table, (kept, more))
        effects += more
    state, renewals = _renew_due(state, now)
    return state, (*effects, *renewals)


def set_alarm(state: holdings.NodeLeases, effects: tuple[vocabulary.Effect, ...]) -> holdings.Step:
    """Asks to be woken for the next thing due, when that changes."""
    wake_at = min(_due_times(state), default=None)
    if wake_at == state.wake_at:
        return state, effects
    return replace(state, wake_at=wake_at), (*effects, vocabulary.WakeAt(wake_at))


def _unrenewed(state: holdings.NodeLeases, now: float) -> str | None:
    """The reason why a newest version could not be renewed in time (L10), or None."""
    for _, leases in state.tables:
        if now < leases.quiet_until:
            continue
        newest = leases.newest
        if newest is not None and not leases.is_behind and now >= newest.stop_at:
            return Sentence(
                "the lease on {table}@{version} could not be renewed before it ends",
                table=newest.name,
                version=newest.version,
            )
    return None


def _stop(state: holdings.NodeLeases, reason: str) -> holdings.Step:
    why = Sentence("node {node} stops: {why}", node=state.node, why=reason)
    refusals = (
        vocabulary.Refuse(waiter.request, table, vocabulary.Why.STOPPED, why)
        for table, leases in state.tables
        for waiter in leases.waiters
    )
    endings = (
        vocabulary.EndTransactions(table, held.version, held.pins, reason)
        for table, leases in state.tables
        for held in leases.held
        if not held.is_idle
    )
    stopped = replace(state, phase=holdings.Phase.STOPPED, tables=(), renewing=(), renew_again_at=None)
    return stopped, (*endings, *refusals, vocabulary.Exit(reason))


def _keep_table(leases: holdings.TableLeases, table: TableId, now: float, *, draining: bool) -> holdings.TableStep:
    kept, ended = _expire(leases, table, now)
    kept, released = _release_idle(kept, table, draining=draining)
    kept, again = _release_again(kept, table, now)
    kept, acquired = _look(kept, table, now, draining=draining)
    return kept, (*ended, *released, *again, *acquired)


def _expire(leases: holdings.TableLeases, table: TableId, now: float) -> holdings.TableStep:
    effects: tuple[vocabulary.Effect, ...] = ()
    for held in leases.held:
        if now >= held.stop_at:
            why = Sentence("its lease on version {version} ran out", version=held.version)
            leases, more = holdings.end(leases, held.version, table, why)
            effects += more
    return leases, effects


def _release_idle(leases: holdings.TableLeases, table: TableId, *, draining: bool) -> holdings.TableStep:
    """L4. The newest is not released during an acquisition, which may be of the same version: they could arrive in
    either order, and the node would believe in a deleted row."""
    keeps_newest = leases.acquisition is not None or not (draining or leases.has_given_up)
    newest = leases.newest_version
    idle = [held for held in leases.held if held.is_idle and not (keeps_newest and held.version == newest)]
    if not idle:
        return leases, ()
    kept = tuple(held for held in leases.held if held not in idle)
    leased = [held.version for held in idle if held.is_leased]
    leaving = (*leases.leaving, *map(holdings.Leaving, leased))
    return replace(leases, held=kept, leaving=leaving), tuple(vocabulary.Release(table, one) for one in leased)


def _release_again(leases: holdings.TableLeases, table: TableId, now: float) -> holdings.TableStep:
    due = [one.version for one in leases.leaving if one.again_at is not None and now >= one.again_at]
    if not due:
        return leases, ()
    leaving = tuple(
        replace(one, tries=one.tries + 1, again_at=None) if one.version in due else one for one in leases.leaving
    )
    return replace(leases, leaving=leaving), tuple(vocabulary.Release(table, version) for version in due)


def _look(leases: holdings.TableLeases, table: TableId, now: float, *, draining: bool) -> holdings.TableStep:
    """Begins an acquisition when a caller waits or news came (L3). Not of a version that is being released: the two
    could arrive in either order, and the node would believe in a deleted row."""
    wanted = bool(leases.waiters) or (leases.looks_for_news and now >= leases.look_at)
    if draining or not wanted or leases.is_releasing_newest or leases.acquisition is not None:
        return leases, ()
    return replace(leases, acquisition=holdings.Acquisition(now, leases.heard)), (vocabulary.Acquire(table),)


def _renew_due(state: holdings.NodeLeases, now: float) -> holdings.Step:
    due_at = _renew_at(state)
    if state.renewing or due_at is None or now < due_at:
        return state, ()
    newest = ((table, leases.newest) for table, leases in state.tables)
    asked = tuple((table, held.version) for table, held in newest if held is not None and held.is_leased)
    if not asked:
        return replace(state, renew_again_at=None), ()
    renewing = replace(state, renewing=asked, renew_asked_at=now, renew_again_at=None)
    return renewing, (vocabulary.Renew(tuple(table for table, _ in asked)),)


def _renew_at(state: holdings.NodeLeases) -> float | None:
    if state.renew_again_at is not None:
        return state.renew_again_at
    at = min((leases.renew_at for _, leases in state.tables), default=inf)
    return None if at == inf else at


def _due_times(state: holdings.NodeLeases) -> Iterable[float]:
    renew_at = _renew_at(state)
    if renew_at is not None and not state.renewing:
        yield renew_at
    for _, leases in state.tables:
        if leases.quiet_until > -inf:
            if leases.quiet_until < inf:
                yield leases.quiet_until
            continue
        yield from (held.stop_at for held in leases.held if held.is_leased)
        yield from (one.again_at for one in leases.leaving if one.again_at is not None)
        if leases.looks_for_news and not leases.is_releasing_newest and state.phase is holdings.Phase.SERVING:
            yield leases.look_at
