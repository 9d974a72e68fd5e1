"""Interventions: what people may do to a change, and why not; one rule for pages, commands and services (X4, X6).

                 awaiting   queued   running, waiting   paused   rolling back   ended
                 approval
    cancel        yes        yes      until the point    as       no             no
                                      of no return       before
    pause         no         yes      yes                no       yes            no
    resume        no         no       no                 yes      no             no
    approve       by another no       no                 no       no             no
    retry         no         no       no                 no       no             failed or cancelled, when no other
                                                                                 tries the same

A pending request counts. Decide under the lock of the change's row, so that of two requests, or a cancel and a publish,
one comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import log

from catalog.text.numbers import whole_number
from catalog.text.sentence import Sentence
from changes.executor.state import Direction, Execution, Mode
from changes.plan.model import why_no_return

PAUSED = "paused"
AWAITING = "awaiting"
THROTTLE_MIN, THROTTLE_MAX = 1, 1_000_000_000
"""Rows per second. Slower than a row a second would be a pause that hears nothing meanwhile."""
SLOWER_MS_LIMITS, KEPT_PERCENT_LIMITS = (0, 60_000), (0, 99)
"""Of a target. All of the statements are never kept: nothing would be left to work with."""
THROTTLE_STEPS = (*(n * 10**power for power in range(1, 6) for n in (1, 2, 5)), 1_000_000)
"""The rows per second of a slider; any other number may be typed."""
NUMBER_CHARS_MAX = 20
ENDED = ("done", "failed", "cancelled")
RETRIED = ("failed", "cancelled")


class Intervention(Enum):
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class Standing:
    """The status of a change, its machine, and pending requests in order: {"wish": "cancel", "who": "ann"}."""

    status: str
    state: Execution
    requests: tuple[Mapping[str, str], ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @property
    def cancel_wanted(self) -> str | None:
        asked = [one["who"] for one in self.requests if one["wish"] == Intervention.CANCEL.value]
        return self.state.cancel_wanted or next(iter(asked), None)

    @property
    def pause_wanted(self) -> str | None:
        wanted = None if self.status == PAUSED else self.state.pause_wanted
        for one in self.requests:
            if one["wish"] == Intervention.PAUSE.value:
                wanted = one["who"]
            elif one["wish"] == Intervention.RESUME.value:
                wanted = None
        return wanted

    @property
    def resume_wanted(self) -> str | None:
        last = next((one for one in reversed(self.requests) if one["wish"] != Intervention.CANCEL.value), None)
        is_resume = last is not None and last["wish"] == Intervention.RESUME.value
        return last["who"] if last is not None and is_resume and self.status == PAUSED else None


def why_not(intervention: Intervention, standing: Standing) -> str | None:
    """Why this would be refused now; None when it would not."""
    change = standing.state.change
    if standing.has_ended:
        return Sentence("change {n} has ended: {status}", n=change, status=standing.status)
    if intervention is Intervention.CANCEL:
        if standing.cancel_wanted is not None:
            return Sentence(
                "change {n} is being cancelled: {who} asked for it", n=standing.state.change, who=standing.cancel_wanted
            )
        return why_no_cancel(standing.state)
    if standing.status == AWAITING:
        return Sentence("change {n} awaits approval: it has not begun", n=change)
    if intervention is Intervention.PAUSE:
        return _why_no_pause(standing)
    return _why_no_resume(standing)


def why_no_decision(standing: Standing, *, owner: str, who: str) -> str | None:
    """Why this person may not approve or reject now; None when they may. It takes a second person."""
    change = standing.state.change
    if standing.has_ended:
        return Sentence("change {n} has ended: {status}", n=change, status=standing.status)
    if standing.status != AWAITING:
        return Sentence(
            "change {n} awaits no approval: it is {status}", n=change, status=standing.status.replace("_", " ")
        )
    if who == owner:
        return Sentence("change {n} was submitted by {who}: somebody else has to decide", n=change, who=owner)
    return None


def why_no_retry(change: int, status: str, alike: tuple[int, str] | None) -> str | None:
    """Why the statement would not be submitted again; None when it would. `alike`: number and status of an open change
    with the same statement and table, or of a later one that is done."""
    if status not in ENDED:
        return Sentence("change {n} has not ended: it is {status}", n=change, status=status.replace("_", " "))
    if status not in RETRIED:
        return Sentence("change {n} is {status}: there is nothing to try again", n=change, status=status)
    if alike is not None and alike[1] == "done":
        return Sentence("change {n} has done the same", n=alike[0])
    if alike is not None:
        return Sentence(
            "change {n} tries the same already: it is {status}", n=alike[0], status=alike[1].replace("_", " ")
        )
    return None


def why_no_throttle(standing: Standing, rows_per_s: int | None, *, is_writing: bool) -> str | None:
    """Why this throttle (None: no limit) would be refused; None when it would not (R11)."""
    change = standing.state.change
    if standing.has_ended:
        return Sentence("change {n} has ended: {status}", n=change, status=standing.status)
    if not is_writing:
        return Sentence("change {n} can't be throttled now: none of its reorganisations writes", n=change)
    if rows_per_s is not None and not THROTTLE_MIN <= rows_per_s <= THROTTLE_MAX:
        return Sentence(
            "a throttle is {least} to {most} rows per second: {given} is not",
            least=THROTTLE_MIN,
            most=f"{THROTTLE_MAX:,}",
            given=rows_per_s,
        )
    return None


def why_no_target(standing: Standing, slower_ms: int, kept_percent: int, *, is_working: bool) -> str | None:
    """Why this target for the effect on other statements would be refused; None when it would not."""
    change = standing.state.change
    if standing.has_ended:
        return Sentence("change {n} has ended: {status}", n=change, status=standing.status)
    if not is_working:
        return Sentence("change {n} has no target to move now: none of its reorganisations works or waits", n=change)
    if not SLOWER_MS_LIMITS[0] <= slower_ms <= SLOWER_MS_LIMITS[1]:
        least, most = SLOWER_MS_LIMITS
        return Sentence(
            "statements may take {least} to {most} milliseconds longer: {given} is not among them",
            least=least,
            most=f"{most:,}",
            given=slower_ms,
        )
    if not KEPT_PERCENT_LIMITS[0] <= kept_percent <= KEPT_PERCENT_LIMITS[1]:
        least, most = KEPT_PERCENT_LIMITS
        return Sentence(
            "{least} to {most} % of the statements may be kept: {given} is not among them",
            least=least,
            most=most,
            given=kept_percent,
        )
    return None


def nearest_step(rows_per_s: float) -> int:
    return min(range(len(THROTTLE_STEPS)), key=lambda at: abs(log(THROTTLE_STEPS[at] / max(rows_per_s, 1))))


NO_NUMBER = {
    "milliseconds": "{given} is no whole number of milliseconds",
    "percents": "{given} is no whole number of percents",
}
CANNOT_CANCEL = {
    "the deletion of {pairs} has begun": "change {n} can't be cancelled any more: the deletion of {pairs} has begun",
    "{states} since {versions}": "change {n} can't be cancelled any more: {states} since {versions}",
}


class NoRate(ValueError):
    """Not a whole number."""


def target_in(slower_ms: str, kept_percent: str) -> tuple[int, int]:
    """Milliseconds and percentage as typed, perhaps outside the limits. Raises `NoRate`."""
    numbers = [whole_number(text.strip(), digits_max=NUMBER_CHARS_MAX - 1) for text in (slower_ms, kept_percent)]
    for text, number, what in zip((slower_ms, kept_percent), numbers, NO_NUMBER, strict=True):
        if number is None:
            raise NoRate(Sentence(NO_NUMBER[what], given=repr(text[:NUMBER_CHARS_MAX])))
    return numbers[0] or 0, numbers[1] or 0


def rows_per_s_in(text: str) -> int:
    """Rows per second as typed, perhaps outside the limits. Raises `NoRate`."""
    number = whole_number(text, digits_max=NUMBER_CHARS_MAX - 1)
    if number is None:
        raise NoRate(Sentence("{given} is no whole number of rows per second", given=repr(text[:NUMBER_CHARS_MAX])))
    return number


def why_not_each(standing: Standing) -> dict[str, str | None]:
    return {one.value: why_not(one, standing) for one in Intervention}


def _why_no_pause(standing: Standing) -> str | None:
    change = standing.state.change
    if standing.pause_wanted is not None:
        return Sentence("change {n} is about to pause: {who} asked for it", n=change, who=standing.pause_wanted)
    if standing.status == PAUSED and standing.resume_wanted is None:
        return Sentence("change {n} is paused already", n=change)
    return None


def _why_no_resume(standing: Standing) -> str | None:
    change = standing.state.change
    if standing.resume_wanted is not None:
        return Sentence("change {n} is about to go on: {who} asked for it", n=change, who=standing.resume_wanted)
    if standing.status != PAUSED and standing.pause_wanted is None:
        return Sentence("change {n} is not paused: it is {status}", n=change, status=standing.status.replace("_", " "))
    return None


def why_no_cancel(state: Execution) -> str | None:
    """Why the machine would refuse a cancel now; None when it would not (X6)."""
    if state.mode is Mode.ENDED:
        return Sentence("change {n} has ended: {status}", n=state.change, status=state.outcome.value)
    if state.direction is Direction.BACK:
        return Sentence("change {n} rolls back already", n=state.change)
    if state.is_past_return:
        why = why_no_return(state.plan)
        return Sentence(CANNOT_CANCEL[why.template], n=state.change, **why.values)
    return None


def why_not_whose(owner: str, who: str, *, may_steer_all: bool) -> str | None:
    """Why this person may not touch a change of `owner`; None when they may."""
    if may_steer_all or who == owner:
        return None
    return Sentence(
        "it is a change of {owner}: only {who} and operators may pause, resume, throttle or cancel it",
        owner=owner,
        who=owner,
    )
