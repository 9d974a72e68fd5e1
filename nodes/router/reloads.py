"""One reload of a table's schema for all requests that need it: a machine for each name, without I/O.

A request waits for a version *newer than the one that failed it*, at most until its own deadline. One whose plan failed
waits for a reload that began after it asked: the mistake may be its own. A failed reload wakes all, with the cause. An
older version is never installed. A missing name is remembered briefly. Another table under the same name is newer.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

PAUSE_S, PAUSE_S_MAX = 0.02, 0.2
"""Between reloads that find nothing newer for those who wait for it: doubled each time."""
UNKNOWN_S = 0.2
"""For so long a node remembers that no table bears a name, unless it makes a table itself."""


class Known(NamedTuple):
    table_id: int
    version: int

    def __str__(self) -> str:
        return f"version {self.version} of table {self.table_id}"


def is_newer(found: Known, than: Known | None) -> bool:
    return than is None or found.table_id != than.table_id or found.version > than.version


class Outcome(Enum):
    NEWER = "a newer version is known"
    NOTHING_NEWER = "the newest version is the one that was used"
    UNKNOWN = "no table bears the name"
    FAILED = "the reload failed"
    LATE = "the request's time is over"


# --- events


@dataclass(frozen=True, slots=True)
class Ask:
    """`request` needs a version newer than `than` until `deadline`. `is_patient`: it waits while there is none, for a
    storage that refused it knows one. Otherwise a reload that began after this has the last word."""

    request: int
    than: Known | None
    deadline: float
    is_patient: bool


@dataclass(frozen=True, slots=True)
class Use:
    """Somebody uses this version; no reload was needed to learn of it."""

    version: Known


@dataclass(frozen=True, slots=True)
class Loaded:
    version: Known


@dataclass(frozen=True, slots=True)
class Missing:
    """The reload under way found no table of the name."""


@dataclass(frozen=True, slots=True)
class Failed:
    cause: str


@dataclass(frozen=True, slots=True)
class Leave:
    request: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event = Ask | Use | Loaded | Missing | Failed | Leave | Tick

# --- effects


@dataclass(frozen=True, slots=True)
class Load:
    """Ask the catalog; answer with `Loaded`, `Missing` or `Failed`."""


@dataclass(frozen=True, slots=True)
class Wake:
    """`request` goes on. `version` is the newest known; `cause` says why, when the outcome is `FAILED`."""

    request: int
    outcome: Outcome
    version: Known | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send a `Tick` then; it replaces an earlier one. None: no tick is needed."""

    at: float | None


Effect = Load | Wake | WakeAt

# --- state


@dataclass(frozen=True, slots=True)
class Waiter:
    """`after`: reloads that had begun when it asked; only a later one is sure to know what it may know."""

    ask: Ask
    after: int


@dataclass(frozen=True, slots=True)
class Reloads:
    """The version that is known of the table that bears a name, and who waits to know more."""

    newest: Known | None = None
    confirmed_at: float | None = None
    """When it was last learned, or found again, that `newest` is the newest."""
    begun: int = 0
    is_loading: bool = False
    waiters: tuple[Waiter, ...] = ()
    not_before: float = 0.0
    pause_s: float = PAUSE_S
    wake_at: float | None = None

    @property
    def is_idle(self) -> bool:
        return not self.is_loading and not self.waiters


def step(state: Reloads, event: Event, now: float) -> tuple[Reloads, list[Effect]]:
    effects: list[Effect] = []
    match event:
        case Ask(than=None, is_patient=False) if (
            state.newest is None and not state.is_loading and now < state.not_before
        ):
            effects.append(Wake(event.request, Outcome.UNKNOWN))
        case Ask():
            state = replace(state, waiters=(*state.waiters, Waiter(event, state.begun)))
        case Leave():
            state = replace(state, waiters=tuple(w for w in state.waiters if w.ask.request != event.request))
        case Use():
            state = _installed(state, event.version, now)
        case Loaded():
            state = replace(_installed(state, event.version, now), is_loading=False, confirmed_at=now)
            state = _after_reload(state, now, effects)
        case Missing():
            state = replace(state, is_loading=False, newest=None, not_before=now + UNKNOWN_S)
            state = _ended(state, [w for w in state.waiters if w.after < state.begun], Outcome.UNKNOWN, effects)
        case Failed():
            state = replace(state, is_loading=False)
            state = _ended(state, state.waiters, Outcome.FAILED, effects, event.cause)
        case Tick():
            pass
    state = _settled(state, now, effects)
    return state, effects


def _installed(state: Reloads, found: Known, now: float) -> Reloads:
    if state.newest is not None and not is_newer(found, state.newest):
        return state
    return replace(state, newest=found, confirmed_at=now, pause_s=PAUSE_S)


def _after_reload(state: Reloads, now: float, effects: list[Effect]) -> Reloads:
    """Those whom this reload served and who insist on nothing newer go on; the patient ones wait for the next one."""
    state = _served(state, effects)
    served = [w for w in state.waiters if w.after < state.begun and not w.ask.is_patient]
    state = _ended(state, served, Outcome.NOTHING_NEWER, effects)
    if any(w.after >= state.begun for w in state.waiters):
        return replace(state, not_before=now)  # it began before they asked
    if not state.waiters:
        return replace(state, not_before=now + PAUSE_S, pause_s=PAUSE_S)
    return replace(state, not_before=now + state.pause_s, pause_s=min(2 * state.pause_s, PAUSE_S_MAX))


def _settled(state: Reloads, now: float, effects: list[Effect]) -> Reloads:
    """Whoever has what it needs goes on, whoever is late hears so, and a reload begins when somebody still waits."""
    state = _served(state, effects)
    state = _ended(state, [w for w in state.waiters if w.ask.deadline <= now], Outcome.LATE, effects)
    if state.waiters and not state.is_loading and state.not_before <= now:
        effects.append(Load())
        state = replace(state, is_loading=True, begun=state.begun + 1)
    moments = [w.ask.deadline for w in state.waiters]
    if state.waiters and not state.is_loading:
        moments.append(state.not_before)
    wake_at = min(moments, default=None)
    if wake_at != state.wake_at:
        effects.append(WakeAt(wake_at))
        state = replace(state, wake_at=wake_at)
    return state


def _served(state: Reloads, effects: list[Effect]) -> Reloads:
    if state.newest is None:
        return state
    served = [w for w in state.waiters if is_newer(state.newest, w.ask.than)]
    return _ended(state, served, Outcome.NEWER, effects)


def _ended(
    state: Reloads, waiters: Collection[Waiter], outcome: Outcome, effects: list[Effect], cause: str = ""
) -> Reloads:
    if not waiters:
        return state
    effects += [Wake(w.ask.request, outcome, state.newest, cause) for w in waiters]
    return replace(state, waiters=tuple(w for w in state.waiters if w not in waiters))
