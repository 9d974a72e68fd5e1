"""The machine that executes a plan step by step, across crashes, waits, pauses and cancels.

              Started                Blocked
    QUEUED ───────────> ASKING ───────────────> WAITING
    LEASE_LOST ───────>   │  <───────────────      │
                          │        Woken           │
        the step's answer │                        │
        moves on ─────────┘     PauseRequested     │
                          └──────> PAUSED <────────┘
                                     │ ResumeRequested: asks again

A cancel or failure before the point of no return (X6) turns FORWARD to BACK (X4). The state is a value, stored after
every event. Asking again is harmless (X2), so a worker that takes over asks for the step it finds; if its version is
published already, the step is done. Past the point of no return and in a rollback failures are retried with growing
pauses, and at last wait for a person.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.text.mistakes import kind_in_words
from catalog.text.sentence import Sentence, listed
from changes.executor import events
from changes.executor.interventions import why_no_cancel
from changes.executor.state import HISTORY_MAX, Direction, Execution, Mode, name_of, where, whom
from changes.plan.model import RUNS, Step, StepKind, differences

RETRIES_MAX = 5
"""So often a step that must succeed is tried again before a person is asked."""

RETRY_S = 1.0
"""The first pause before such a retry; each next one is twice as long."""


class IllegalTransition(Exception):
    """An event that cannot happen here: a bug in the shell. Its message has the history."""


Result = tuple[Execution, tuple[events.Effect, ...]]


def step(state: Execution, event: events.Event, now: float) -> Result:
    """The state after `event`, and the effects that the shell must perform, in order."""
    handler = TRANSITIONS.get((state.mode, type(event)))
    if handler is None:
        raise IllegalTransition(_message(state, event))
    heard = replace(state, history=(*state.history, _summary(event))[-HISTORY_MAX:])
    return handler(heard, event, now)


# Workers


def _start(state: Execution, event: events.Started, now: float) -> Result:
    appended = events.AppendEvent(_story(state, "change started" if state.mode is Mode.QUEUED else "executor replaced"))
    found = _found(state, event)
    if found.cancel_wanted:
        return _and(_cancel(found, now), appended)
    if found.mode is Mode.PAUSED:
        return found, (appended,)
    return _and(_go_on(found, now), appended)


def _found(state: Execution, event: events.Started) -> Execution:
    """Accounts for a version that a worker published before it died."""
    at = state.step
    if event.newest == state.version:
        return state
    if at is not None and at.kind is StepKind.PUBLISH and event.newest == at.version:
        return _advanced(state)
    what = f"change {state.change} finds {state.plan.table}@{event.newest}, but left it at version {state.version}"
    raise IllegalTransition(f"{what}: somebody else moved it. Before that: {_history(state)}")


def _drift(state: Execution, event: events.LeaseLost, now: float) -> Result:
    return replace(state, mode=Mode.LEASE_LOST), ()


# Answers


def _published(state: Execution, event: events.Published, now: float) -> Result:
    if _answers(state, StepKind.PUBLISH, event.version):
        return _move_on(state, now)
    return _ignore_late(state, event, StepKind.PUBLISH)


def _drained(state: Execution, event: events.Drained, now: float) -> Result:
    if _answers(state, StepKind.DRAIN, event.version):
        return _move_on(state, now)
    return _ignore_late(state, event, StepKind.DRAIN)


def _run_done(state: Execution, event: events.RunDone, now: float) -> Result:
    if state.step is None or state.step.kind is not event.kind:
        return _ignore_late(state, event, event.kind)
    rows = None if event.kind is StepKind.PURGE else event.rows
    done = events.AppendEvent(
        _story(state, "reorganisation finished", what=where(state), rows=rows, seconds=event.seconds)
    )
    return _and(_move_on(state, now), done)


def _run_closed(state: Execution, event: events.RunClosed, now: float) -> Result:
    if state.step is None or state.step.kind is not StepKind.CLOSE:
        return _ignore_late(state, event, StepKind.CLOSE)
    return _move_on(state, now)


def _blocked(state: Execution, event: events.Blocked, now: float) -> Result:
    """A node uses an older version still; the story says which."""
    at = _here(state)
    if at.kind not in (StepKind.PUBLISH, StepKind.DRAIN):
        raise IllegalTransition(_message(state, event))
    unasked = replace(state, asked=False)
    if state.cancel_wanted:
        return _cancel(unasked, now)
    nodes = {str(node) for node in event.hindrance.nodes}
    if state.plan.partners:
        nodes = {f"{lease.node} on {name_of(state.plan, lease.table)}" for lease in event.hindrance.leases}
    since = now if state.waited_since is None else state.waited_since
    waiting = replace(unasked, mode=Mode.WAITING, waited_since=since, waited_for=tuple(sorted(nodes)))
    if state.pause_wanted:
        return _rest(waiting)
    wait = events.Wait(event.hindrance, event.hindrance.until)
    if nodes <= set(state.waited_for):
        return waiting, (wait,)
    until = event.hindrance.until
    story = _story(state, "version waiting", version=at.version, whom=whom(sorted(nodes)), until=until)
    return waiting, (events.AppendEvent(story), wait)


def _woken(state: Execution, event: events.Woken, now: float) -> Result:
    return _ask(state, now)


def _failed(state: Execution, event: events.RunFailed | events.StepFailed, now: float) -> Result:
    """Before the point of no return a failure rolls back and keeps its error; after it, it is retried."""
    if isinstance(event, events.RunFailed) and (state.step is None or state.step.kind is not event.kind):
        return _ignore_late(state, event, event.kind)
    appended = events.AppendEvent(_story(state, "reorganisation failed", what=where(state), error=event.error))
    if state.direction is Direction.FORWARD and not state.is_past_return:
        return _and(_roll_back(replace(state, error=event.error, cancel_wanted=None), now), appended)
    return _and(_retry(replace(state, asked=state.is_past_return, trouble=event.error), now), appended)


def _retry(state: Execution, now: float) -> Result:
    if state.mode is Mode.PAUSED:
        return state, ()
    if state.pause_wanted:
        return _rest(state)
    if state.retries >= RETRIES_MAX:
        return _rest(replace(state, retries=0, pause_wanted=f"a failure after {RETRIES_MAX} retries"))
    pause_s = RETRY_S * 2**state.retries
    return replace(state, mode=Mode.WAITING, retries=state.retries + 1), (events.Wait(None, now + pause_s),)


# People


def _cancel_requested(state: Execution, event: events.CancelRequested, now: float) -> Result:
    refusal = why_no_cancel(state)
    if refusal is not None:
        return state, (events.RefuseCancel(refusal),)
    wanted = replace(state, cancel_wanted=event.who)
    if state.mode is Mode.LEASE_LOST or state.is_publishing:
        return wanted, ()
    return _cancel(wanted, now)


def _cancel(state: Execution, now: float) -> Result:
    """Either the cancel or the point of no return came first (X6)."""
    refusal = why_no_cancel(state)
    if refusal is not None:
        return _and(_go_on(replace(state, cancel_wanted=None), now), events.RefuseCancel(refusal))
    appended = events.AppendEvent(_story(state, "change cancelling", who=state.cancel_wanted))
    woken = Mode.LEASE_LOST if state.mode is Mode.PAUSED else state.mode
    cancelled = replace(state, cancelled_by=state.cancel_wanted, cancel_wanted=None, pause_wanted=None, mode=woken)
    return _and(_roll_back(cancelled, now), appended)


def _pause_requested(state: Execution, event: events.PauseRequested, now: float) -> Result:
    wanted = replace(state, pause_wanted=event.who)
    at = state.step
    if state.mode is Mode.QUEUED:
        return wanted, ()
    if state.mode is not Mode.ASKING:
        return _rest(wanted)
    if at is not None and at.kind in RUNS:
        return wanted, (events.PauseRun(at.kind),)
    return wanted, ()


def _run_paused(state: Execution, event: events.RunPaused, now: float) -> Result:
    """Paused from here on. A request that was taken back starts the run again."""
    if state.mode is not Mode.ASKING or state.step is None or state.step.kind is not event.kind:
        return state, ()
    return _rest(state) if state.pause_wanted else _ask(state, now)


def _rest(state: Execution) -> Result:
    story = _story(state, "change pausing", who=state.pause_wanted)
    return replace(state, mode=Mode.PAUSED, pause_wanted=None), (events.AppendEvent(story),)


def _resume_requested(state: Execution, event: events.ResumeRequested, now: float) -> Result:
    appended = events.AppendEvent(_story(state, "change resumed", who=event.who))
    return _and(_ask(replace(state, retries=0), now), appended)


def _unpause(state: Execution, event: events.ResumeRequested, now: float) -> Result:
    return replace(state, pause_wanted=None), ()


# The steps


def _move_on(state: Execution, now: float) -> Result:
    arrived = _advanced(state)
    if arrived.step is None:
        return _finish(arrived)
    if arrived.cancel_wanted:
        return _cancel(arrived, now)
    return _go_on(arrived, now)


def _go_on(state: Execution, now: float) -> Result:
    if state.pause_wanted:
        is_run = state.asked and _here(state).kind in RUNS
        return (state, (events.PauseRun(_here(state).kind),)) if is_run else _rest(state)
    return (state, ()) if state.mode is Mode.PAUSED else _ask(state, now)


def _advanced(state: Execution) -> Execution:
    is_forward_version = _here(state).kind is StepKind.PUBLISH and state.direction is Direction.FORWARD
    return replace(_fresh(state), position=state.position + 1, published=state.published + is_forward_version)


def _fresh(state: Execution) -> Execution:
    return replace(state, asked=False, retries=0, trouble=None, waited_since=None, waited_for=())


def _roll_back(state: Execution, now: float) -> Result:
    back = replace(_fresh(state), direction=Direction.BACK, position=0)
    if back.step is None:
        return _finish(back)
    appended = events.AppendEvent(
        _story(back, "change rolling back", error=back.error or f"{back.cancelled_by} cancelled it")
    )
    return _and(_go_on(back, now), appended)


def _finish(state: Execution) -> Result:
    outcome = state.outcome
    story = _story(state, f"change {outcome.value}", error=state.error)
    return replace(state, mode=Mode.ENDED), (events.Finish(outcome, state.error, story),)


def _finish_again(state: Execution, event: events.Started, now: float) -> Result:
    return _finish(state)


def _ask(state: Execution, now: float) -> Result:
    at = _here(state)
    asking = replace(state, mode=Mode.ASKING, asked=True)
    if at.kind is StepKind.PUBLISH:
        what = differences(state.plan, at)
        story = _story(state, "version published", version=at.version, what=what, **_waited(state, now))
        appended = tuple(_of_partner(story, partner, what=_moved_with(at, partner)) for partner in at.partners)
        return asking, (events.TryPublish(at.version, at.published, story, at.partners, appended),)
    if at.kind is StepKind.DRAIN:
        story = _story(state, "version drained", version=at.version, **_waited(state, now))
        appended = tuple(_of_partner(story, partner) for partner in at.partners)
        return asking, (events.TryDrain(at.version, story, at.partners, appended),)
    if at.kind is StepKind.CLOSE:
        return asking, (events.CloseRun(at.version),)
    kind = "reorganisation resumed" if state.asked or state.trouble else "reorganisation started"
    rows = None if at.kind is StepKind.PURGE else state.plan.rows
    story = _story(state, kind, what=where(state), rows=rows, why=state.trouble)
    return asking, (events.AppendEvent(story), events.StartRun(at.kind, at.elements, at.version))


def _here(state: Execution) -> Step:
    at = state.step
    assert at is not None, f"change {state.change} is at the end of its steps"
    return at


def _answers(state: Execution, kind: StepKind, version: int) -> bool:
    return state.step is not None and state.step.kind is kind and state.step.version == version


def _ignore_late(state: Execution, event: events.Event, kind: StepKind) -> Result:
    """A late answer changes nothing; an answer to a step never asked for is a bug."""
    forward = state.plan.forward if state.direction is Direction.BACK else ()
    if kind in {one.kind for one in (*forward, *state.steps[: state.position])}:
        return state, ()
    raise IllegalTransition(_message(state, event))


# Words


def _and(result: Result, first: events.Effect) -> Result:
    state, effects = result
    return state, (first, *effects)


def _story(state: Execution, kind: str, **payload: Any) -> events.Story:
    about = {"change": state.change, "table": state.plan.table, "element": state.plan.title}
    return events.Story(kind, about | {key: value for key, value in payload.items() if value is not None})


def _of_partner(story: events.Story, partner: Descriptor, **payload: Any) -> events.Story:
    about = {"table": partner.name, "version": partner.version}
    return replace(story, payload={**story.payload, **about, **payload})


def _moved_with(at: Step, partner: Descriptor) -> str:
    spans = [t for t in at.transitions if t.element.partner and t.element.partner[0] == partner.table_id]
    return listed([*map(str, spans)]) or Sentence("nothing moves")


def _waited(state: Execution, now: float) -> dict[str, Any]:
    """The seconds that the step waited, and for which nodes (X7)."""
    seconds = 0.0 if state.waited_since is None else now - state.waited_since
    time = f"{seconds:.1f}" if seconds >= 0.05 else "< 0.1"
    if state.waited_for:
        waited = Sentence("waited {seconds} s for {nodes}", seconds=time, nodes=whom(state.waited_for))
    else:
        waited = Sentence("waited {seconds} s", seconds=time) if seconds >= 0.05 else Sentence("at once")
    return {"waited": waited, "waited_s": seconds, "waited_for": list(state.waited_for)}


def _summary(event: events.Event) -> str:
    match event:
        case events.Published(version) | events.Drained(version):
            return f"{kind_in_words(type(event))} {version}"
        case events.RunDone(kind) | events.RunFailed(kind) | events.RunPaused(kind):
            return f"{kind_in_words(type(event))} {kind.value}"
        case _:
            return kind_in_words(type(event))


def _history(state: Execution) -> str:
    return ", ".join(state.history) or "nothing"


def _message(state: Execution, event: events.Event) -> str:
    here = f"change {state.change} of {state.plan.title} is {state.mode.value} at: {where(state)}"
    return f"{here}. It cannot take {_summary(event)}. Before that: {_history(state)}"


def _nothing(state: Execution, event: events.Event, now: float) -> Result:
    return state, ()


Handler = Callable[[Execution, Any, float], Result]
Row = dict[type[events.Event], Handler]

_PEOPLE: Row = {
    events.CancelRequested: _cancel_requested,
    events.PauseRequested: _pause_requested,
    events.ResumeRequested: _unpause,
}
_ANSWERS: Row = {
    events.Published: _published,
    events.Drained: _drained,
    events.RunDone: _run_done,
    events.RunFailed: _failed,
    events.RunClosed: _run_closed,
    events.RunPaused: _run_paused,
}
_LATE: Row = dict.fromkeys(
    (
        events.Published,
        events.Drained,
        events.RunDone,
        events.RunFailed,
        events.RunClosed,
        events.RunPaused,
        events.Blocked,
        events.Woken,
        events.StepFailed,
    ),
    _nothing,
)

_TABLE: dict[Mode, Row] = {
    Mode.QUEUED: {**_PEOPLE, events.Started: _start, events.LeaseLost: _nothing},
    Mode.ASKING: {
        **_PEOPLE,
        **_ANSWERS,
        events.Started: _start,
        events.Blocked: _blocked,
        events.StepFailed: _failed,
        events.Woken: _nothing,
        events.LeaseLost: _drift,
    },
    Mode.WAITING: {
        **_PEOPLE,
        **_ANSWERS,
        events.Started: _start,
        events.Blocked: _nothing,
        events.Woken: _woken,
        events.LeaseLost: _drift,
    },
    Mode.PAUSED: {
        **_PEOPLE,
        **_ANSWERS,
        events.Started: _start,
        events.Blocked: _nothing,
        events.StepFailed: _nothing,
        events.Woken: _nothing,
        events.ResumeRequested: _resume_requested,
        events.PauseRequested: _nothing,
        events.LeaseLost: _nothing,
    },
    Mode.LEASE_LOST: {**_LATE, **_PEOPLE, events.Started: _start, events.LeaseLost: _nothing},
    Mode.ENDED: {
        **_LATE,
        events.Started: _finish_again,
        events.LeaseLost: _nothing,
        events.CancelRequested: _cancel_requested,
        events.PauseRequested: _nothing,
        events.ResumeRequested: _nothing,
    },
}

TRANSITIONS: Mapping[tuple[Mode, type[events.Event]], Handler] = {
    (mode, event): handler for mode, row in _TABLE.items() for event, handler in row.items()
}
"""What may happen in which mode; anything else is an `IllegalTransition`."""
