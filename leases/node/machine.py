"""One node's leases, as a function of its events: `step` answers an event, then does the upkeep (`leases.node.upkeep`).

L1   its deadlines are counted from before it asked
L3   one acquisition per table at a time; a caller that needs the freshest is not satisfied by one that began
     before its call; all waiting callers get its failure
L4   the newest version is kept at zero references, an older one is released with its last
L5   renewals run in the background, well before expiry, one statement for all tables; older versions never get one
L6   news makes it look at once, and only that
L10  without a renewal it stops serving: transactions end, the process exits
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from catalog.elements import TableId
from catalog.text.sentence import Sentence
from leases import rules
from leases.gossip import News, highest, is_news
from leases.node import holdings, vocabulary
from leases.node.upkeep import do_upkeep, set_alarm

SKIPPED_AGAIN_S = 0.025
"""A table that a renewal skipped is asked for again after this long (L5: within 50 ms)."""


class IllegalTransition(Exception):
    """An answer without a question: a bug in the shell."""


def step(state: holdings.NodeLeases, event: vocabulary.Event, now: float) -> holdings.Step:
    """The node after `event` at `now` (monotonic), and what its shell must do, in order."""
    after, effects = _react(state, event, now)
    after, upkeep = do_upkeep(after, now)
    if after.phase is holdings.Phase.STOPPED:  # by what is due on another table, in this very step
        effects = tuple(_refuse_stopped(after, one) if isinstance(one, vocabulary.Grant) else one for one in effects)
    drained = (vocabulary.DrainDone(),) if after.is_drained and not state.is_drained else ()
    return set_alarm(after, (*effects, *upkeep, *drained))


def grantable(
    state: holdings.NodeLeases, table: TableId, now: float, at_most: int | None = None
) -> holdings.Holding | None:
    """The version that a caller would get at once. With `at_most`, a snapshot's newest, an older leased one (T3);
    without one the newest, which storages will refuse."""
    leases = state.table(table)
    newest = leases.newest
    if newest is not None and at_most is not None and newest.version > at_most:
        usable = (
            one for one in reversed(leases.held) if one.version <= at_most and one.is_leased and now < one.stop_at
        )
        newest = next(usable, newest)
    return newest if newest is not None and now < newest.stop_at else None


def _react(state: holdings.NodeLeases, event: vocabulary.Event, now: float) -> holdings.Step:
    if state.phase is holdings.Phase.STOPPED:  # it only says no; answers on their way are nobody's any more
        return state, (_refuse_stopped(state, event),) if isinstance(event, vocabulary.Pin) else ()
    match event:
        case vocabulary.Pin():
            if state.phase is holdings.Phase.DRAINING:
                return state, (_refuse_draining(state, event.request, event.table),)
            leases = state.table(event.table)
            held = None if event.fresh else grantable(state, event.table, now, event.at_most)
            if held is not None:
                return holdings.edit(state, event.table, _grant(leases, event.table, (event.request,), held))
            waiter = holdings.Waiter(event.request, needs_next=event.fresh and leases.acquisition is not None)
            return holdings.edit(state, event.table, (replace(leases, waiters=(*leases.waiters, waiter)), ()))
        case vocabulary.Unpin():
            return holdings.edit(state, event.table, _unpin(state.table(event.table), event.request))
        case vocabulary.Acquired():
            return holdings.edit(state, event.table, _acquired(state.table(event.table), event, now))
        case vocabulary.AcquireFailed():
            return holdings.edit(state, event.table, _acquire_failed(state.table(event.table), event, now))
        case News():
            return holdings.edit(state, event.table, (_hear(state.table(event.table), event.version), ()))
        case vocabulary.Renewed():
            return _renewed(state, event.outcomes, now)
        case vocabulary.RenewFailed():
            _expect_renewal(state, f"not renewed ({event.reason})")
            return replace(state, renewing=(), renew_again_at=now + holdings.RETRY_S), ()
        case vocabulary.Released() | vocabulary.ReleaseFailed():
            return holdings.edit(state, event.table, (_answered_release(state.table(event.table), event, now), ()))
        case vocabulary.Revoked():
            reason = Sentence("its lease on version {version} was revoked", version=event.version)
            return holdings.edit(
                state, event.table, holdings.end(state.table(event.table), event.version, event.table, reason)
            )
        case vocabulary.Recheck():
            return replace(state, renew_again_at=now), ()
        case vocabulary.Tick():
            return state, ()
        case vocabulary.Drain():
            return _drain(state)
        case vocabulary.Undrain():
            return replace(state, phase=holdings.Phase.SERVING), ()
        case _:
            assert_never(event)


def _refuse_stopped(state: holdings.NodeLeases, asked: vocabulary.Pin | vocabulary.Grant) -> vocabulary.Refuse:
    reason = Sentence("node {node} has stopped serving: a lease could not be renewed", node=state.node)
    return vocabulary.Refuse(asked.request, asked.table, vocabulary.Why.STOPPED, reason)


# Callers


def _grant(
    leases: holdings.TableLeases,
    table: TableId,
    requests: Iterable[vocabulary.RequestId],
    of: holdings.Holding | None = None,
) -> holdings.TableStep:
    granted = of or leases.newest
    assert granted is not None, "a grant needs a lease"
    asked = tuple(requests)
    used = replace(granted, pins=granted.pins.union(asked))
    grants = tuple(vocabulary.Grant(request, table, granted.version) for request in asked)
    return replace(leases, held=tuple(used if one is granted else one for one in leases.held)), grants


def _unpin(leases: holdings.TableLeases, request: vocabulary.RequestId) -> holdings.TableStep:
    held = tuple(replace(one, pins=one.pins - {request}) if request in one.pins else one for one in leases.held)
    waiters = tuple(waiter for waiter in leases.waiters if waiter.request != request)
    return replace(leases, held=held, waiters=waiters), ()


def _drain(state: holdings.NodeLeases) -> holdings.Step:
    refusals = tuple(
        _refuse_draining(state, waiter.request, table) for table, leases in state.tables for waiter in leases.waiters
    )
    quiet = tuple((table, replace(leases, waiters=())) for table, leases in state.tables)
    return replace(state, phase=holdings.Phase.DRAINING, tables=quiet), refusals


def _refuse_draining(state: holdings.NodeLeases, request: vocabulary.RequestId, table: TableId) -> vocabulary.Refuse:
    reason = Sentence("node {node} is draining: it takes no new leases, use another node", node=state.node)
    return vocabulary.Refuse(request, table, vocabulary.Why.DRAINING, reason)


# Acquisitions


def _acquired(leases: holdings.TableLeases, event: vocabulary.Acquired, now: float) -> holdings.TableStep:
    acquisition = _asked(leases, event.table, "a lease was acquired")
    deadline = rules.local_deadline(asked_at=acquisition.asked_at, remaining_s=event.remaining_s)
    if now >= rules.stop_at(asked_at=acquisition.asked_at, deadline=deadline):
        late = Sentence(
            "the lease on {table}@{version} was over before it arrived", table=event.name, version=event.version
        )
        return _acquire_failed(leases, vocabulary.AcquireFailed(event.table, late), now)
    held = holdings.hold(
        leases,
        name=event.name,
        version=event.version,
        asked_at=acquisition.asked_at,
        expires_at=event.expires_at,
        remaining_s=event.remaining_s,
        is_leased=event.is_leased,
    )
    # news that came during the acquisition is kept; news older than it that proved false is forgotten (L6)
    heard = highest(leases.heard, event.version) if leases.heard > acquisition.heard else event.version
    leases = replace(held, heard=heard, acquisition=None, failures=0, look_at=now)
    served = (waiter.request for waiter in leases.waiters if not waiter.needs_next)
    granted, effects = _grant(leases, event.table, served)
    return replace(granted, waiters=_still_waiting(leases)), effects


def _still_waiting(leases: holdings.TableLeases) -> tuple[holdings.Waiter, ...]:
    return tuple(holdings.Waiter(waiter.request, needs_next=False) for waiter in leases.waiters if waiter.needs_next)


def _acquire_failed(leases: holdings.TableLeases, event: vocabulary.AcquireFailed, now: float) -> holdings.TableStep:
    """Waiting callers get the cause; later ones get their own acquisition."""
    _asked(leases, event.table, "an acquisition failed")
    why = vocabulary.Why.GONE if event.gone else vocabulary.Why.UNREACHABLE
    refusals = tuple(
        vocabulary.Refuse(waiter.request, event.table, why, event.reason)
        for waiter in leases.waiters
        if not waiter.needs_next
    )
    failed = replace(
        leases,
        acquisition=None,
        heard=highest(leases.heard, leases.newest_version + 1) if event.gone else leases.heard,
        failures=holdings.TRIES_MAX if event.gone else leases.failures + 1,
        look_at=now + holdings.RETRY_S,
        waiters=_still_waiting(leases),
    )
    return failed, refusals


def _asked(leases: holdings.TableLeases, table: TableId, what: str) -> holdings.Acquisition:
    if leases.acquisition is None:
        raise IllegalTransition(f"{what} on table {table}, but none was asked for ({holdings.describe(leases)})")
    return leases.acquisition


# News, renewals, releases


def _hear(leases: holdings.TableLeases, version: int) -> holdings.TableLeases:
    """Remembers the highest version of a table in use, and looks at once (L6)."""
    if leases.is_forgotten or not is_news(leases.heard, version):
        return leases
    return replace(leases, heard=version, failures=0, look_at=0.0)


def _renewed(state: holdings.NodeLeases, outcomes: tuple[vocabulary.RenewOutcome, ...], now: float) -> holdings.Step:
    _expect_renewal(state, "renewed")
    skipped = any(outcome.outcome is vocabulary.Renewal.SKIPPED for outcome in outcomes)
    again_at = now + SKIPPED_AGAIN_S if skipped else state.renew_again_at
    after = replace(state, renewing=(), renew_again_at=again_at)
    effects: tuple[vocabulary.Effect, ...] = ()
    asked = dict(state.renewing)
    for outcome in outcomes:
        change = _renewed_table(after.table(outcome.table), outcome, asked.get(outcome.table), state.renew_asked_at)
        after, more = holdings.edit(after, outcome.table, change)
        effects += more
    return after, effects


def _renewed_table(
    leases: holdings.TableLeases, outcome: vocabulary.RenewOutcome, asked: int | None, asked_at: float
) -> holdings.TableStep:
    """`asked` is the version at the time of sending; answers about another one do not count."""
    held = leases.newest
    if held is None or held.version != asked:
        return leases, ()
    if is_news(held.version, outcome.version):
        return _hear(leases, outcome.version), ()
    if outcome.outcome is vocabulary.Renewal.LOST:
        return holdings.end(leases, held.version, outcome.table, "its lease was taken away")
    if outcome.outcome is vocabulary.Renewal.SKIPPED:
        return leases, ()
    extended = holdings.hold(
        leases,
        name=held.name,
        version=held.version,
        asked_at=asked_at,
        expires_at=outcome.expires_at,
        remaining_s=outcome.remaining_s,
    )
    return extended, ()


def _expect_renewal(state: holdings.NodeLeases, what: str) -> None:
    if not state.renewing:
        raise IllegalTransition(f"leases of node {state.node} were {what}, but no renewal was asked for")


def _answered_release(
    leases: holdings.TableLeases, event: vocabulary.Released | vocabulary.ReleaseFailed, now: float
) -> holdings.TableLeases:
    leaving = next((one for one in leases.leaving if one.version == event.version), None)
    if leaving is None or leaving.again_at is not None:
        what = f"version {event.version} of table {event.table} was released, but that was not asked for"
        raise IllegalTransition(f"{what} ({holdings.describe(leases)})")
    others = tuple(one for one in leases.leaving if one is not leaving)
    if isinstance(event, vocabulary.ReleaseFailed) and leaving.tries < holdings.TRIES_MAX:
        others = (*others, replace(leaving, again_at=now + holdings.RETRY_S))
    return replace(leases, leaving=others)
