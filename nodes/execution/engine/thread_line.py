"""The line of queries for a node's threads: a pure rule of which run and which wait.

Nobody knows beforehand how long a query takes, and nothing can take a thread from it before it is done, or stops.
So every query begins as a short one, and those that turn out long leave room:

    short      at first, until it has `used` `SHORT_S`; then it is long
    long       `LONG_MAX` at a time, `LONG_OF_USER_MAX` of one user. One too many is put back: it stops, and asks again
    again      what was put back begins as a long one once there is room for that. Else it is tried as a short one,
               `AGAIN_MAX` at a time, for twice as long each time, `TRIES_MAX` times: what had bad luck is done soon
    answered   the next rows of a result are a call of their own, which begins as a short one and is never put back: the
               query cannot begin anew. Once it has used `SHORT_S` it is long, also as one more than `LONG_MAX`
    stopping   asked to stop: it does so between two blocks of rows. Meanwhile another one has its place, but no more
               than `STOPPING_MAX` of them do

So a thread is kept for results, of which there is always one more than long ones fill, and another for what can be put
back: long ones and those that have answered, which may be long before anybody knows, are `LONG_MAX + 1` at most, and
`LONG_OF_USER_MAX + 1` of one user.

Who waits comes in the order of arrival, but a user who has fewer threads comes first, then a session that has fewer.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

THREADS = 8
"""Calls that run at a time."""
LONG_MAX = THREADS - 2
LONG_OF_USER_MAX = LONG_MAX - 1
AGAIN_MAX = 1
TRIES_MAX = 5
STOPPING_MAX = 4
THREADS_MAX = THREADS + STOPPING_MAX
SHORT_S = 0.1
LOOK_S = 0.01
"""Between two looks at least."""


@dataclass(eq=False, slots=True)
class Call:
    """Some work of a query that needs a thread. `tries`: how often the query was put back, before it answered."""

    user: Hashable = None
    session: Hashable = None
    is_long: bool = False
    tries: int = 0
    has_answered: bool = False
    began: float = 0.0
    is_stopping: bool = False
    is_put_back: bool = False

    @property
    def short_s(self) -> float:
        return SHORT_S * 2**self.tries


@dataclass(frozen=True, slots=True)
class Decisions:
    """Calls that begin now, calls to stop, and when to look again (None: when one comes or ends)."""

    begin: tuple[Call, ...] = ()
    put_back: tuple[Call, ...] = ()
    look_at: float | None = None


NOTHING = Decisions()


def is_as_many(calls: Sequence[Call], call: Call, *, more: int = 0) -> bool:
    """True when there are as many of everybody's, or of the user's of `call`, as of long ones, or so many more."""
    of_user = sum(one.user == call.user for one in calls)
    return len(calls) >= LONG_MAX + more or of_user >= LONG_OF_USER_MAX + more


def since_it_began(call: Call, now: float) -> float:
    return now - call.began


@dataclass(eq=False, slots=True)
class Line:
    """The calls that have a thread and those that wait for one, each in the order in which they came.

    `used` says how long a call has had its thread; it may count slower than the clock, not faster.
    """

    used: Callable[[Call, float], float] = since_it_began
    running: dict[Call, None] = field(default_factory=dict)
    waiting: dict[Call, None] = field(default_factory=dict)
    stopping: int = 0

    def begins_at_once(self, call: Call, now: float) -> bool:
        """A call comes, and begins if so few run that no rule can be in its way."""
        if self.waiting or len(self.running) >= LONG_OF_USER_MAX:
            return False
        self._begin(call, now)
        return True

    def ask(self, call: Call, now: float) -> Decisions:
        """A call comes: it begins if that is decided, else it waits."""
        self.waiting[call] = None
        return self.look(now)

    def end(self, call: Call, now: float) -> Decisions:
        """A call has given its thread back, or waits no longer."""
        if call in self.running:
            del self.running[call]
            self.stopping -= call.is_stopping
        else:
            del self.waiting[call]
        return self.look(now) if self.waiting or len(self.running) > LONG_OF_USER_MAX else NOTHING

    def stop(self, call: Call, now: float) -> Decisions:
        """A call that runs is asked to stop."""
        if not call.is_stopping:
            call.is_stopping = True
            self.stopping += 1
        return self.look(now) if self.waiting else NOTHING

    def look(self, now: float) -> Decisions:
        """Put back what has become long and is one too many, and begin what may begin."""
        put_back = tuple(self._put_back(now))
        begin = tuple(self._begun(now))
        return Decisions(begin, put_back, self._next_look(now))

    # -- the rule -----------------------------------------------------------------------------------------------

    def _put_back(self, now: float) -> Iterator[Call]:
        left = {call: call.short_s - self.used(call, now) for call in self._shorts()}
        for call in sorted((call for call in left if left[call] <= 0), key=left.__getitem__):
            if call.has_answered or self._has_room(call):
                call.is_long = True
            else:
                call.is_put_back = call.is_stopping = True
                self.stopping += 1
                yield call

    def _begun(self, now: float) -> Iterator[Call]:
        while self.waiting and len(self.running) - min(self.stopping, STOPPING_MAX) < THREADS:
            call = min(filter(self._may_begin, self.waiting), key=self._share, default=None)
            if call is None:
                return
            del self.waiting[call]
            self._begin(call, now)
            yield call

    def _begin(self, call: Call, now: float) -> None:
        call.is_long = call.is_long or (call.tries > 0 and self._has_room(call))
        call.began = now
        self.running[call] = None

    def _may_begin(self, call: Call) -> bool:
        if not (call.is_long or call.tries or call.has_answered):
            return True
        again = sum(one.tries > 0 for one in self._shorts())
        is_tried = not (call.is_long or call.has_answered) and call.tries <= TRIES_MAX and again < AGAIN_MAX
        return is_tried or self._has_room(call)

    def _has_room(self, call: Call) -> bool:
        """There is room for what is not put back: a long one, or the next rows of a result."""
        kept = [one for one in self.running if (one.is_long or one.has_answered) and not one.is_stopping]
        is_full = is_as_many(kept, call, more=1)
        return not is_full and (call.has_answered or not is_as_many([one for one in kept if one.is_long], call))

    def _share(self, call: Call) -> tuple[int, int, int]:
        """The number of threads that its user has, that its session has, and how often it was put back."""
        of_user = [one for one in self.running if one.user == call.user]
        return len(of_user), sum(one.session == call.session for one in of_user), call.tries

    def _shorts(self) -> Iterator[Call]:
        return (call for call in self.running if not (call.is_long or call.is_stopping))

    def _next_look(self, now: float) -> float | None:
        """When the next call may become long, if that may make one too many."""
        if len(self.running) - self.stopping <= LONG_OF_USER_MAX:
            return None
        left = (call.short_s - self.used(call, now) for call in self._shorts())
        least = min(left, default=None)
        return None if least is None else now + max(least, LOOK_S)
