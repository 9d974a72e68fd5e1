"""The versions of the model's table, and what the executor does between them.

    v1 absent · publish v2 delete-only · publish v3 write-only, filling · drain v3 · clear ·
    fill · publish v4 public · drain v4 · purge · end

The road is cut into stops. The executor stands before one of them, and where it stands
tells the newest version and the fence: a world needs no more than the number of its stop.
A failed verification, or a cancel, leads to a road back, whose versions go on counting.
"""

from dataclasses import dataclass, replace
from enum import Enum

from catalog.descriptor import Descriptor
from catalog.elements import Kind, State
from lab.explorer.model import INDEXES, Broken, Model, Stage
from lab.explorer.schema import DELETED, FILLED, VERIFIED, descriptor

NOTHING: frozenset[int] = frozenset()
"""No element is being filled."""


class Do(Enum):
    """What the executor does at a stop."""

    PUBLISH = "publish"
    DRAIN = "drain"
    CLEAR = "clear"
    FILL = "fill"
    VERIFY = "verify"
    DELETE = "delete"
    PURGE = "purge"
    END = "end"


@dataclass(frozen=True, slots=True)
class Stop:
    """One act of the executor, and how things are before it.

    `version` is the one to publish or to drain; `schemas[v]` is the place of version v in `Road.descriptors`, and
    `schema` that of the version to publish. `parts` are the elements (by their place in a stage) that a deletion is of.
    `otherwise` and `cancel` are the stops where a failed verification and a cancel go on.
    """

    do: Do
    newest: int
    fence: int
    schemas: tuple[int, ...]
    version: int = 0
    schema: int = -1
    parts: tuple[int, ...] = ()
    otherwise: int | None = None
    cancel: int | None = None


@dataclass(frozen=True, slots=True)
class Road:
    """All descriptors, and all stops: the road's first, then those of the roads back."""

    descriptors: tuple[Descriptor, ...]
    stops: tuple[Stop, ...]

    def descriptor(self, stop: Stop, version: int) -> Descriptor:
        return self.descriptors[stop.schemas[version]]


def build(model: Model) -> Road:
    """The road of a model, with the roads back from where it may fail or be cancelled."""
    builder = _Builder(model)
    builder.walk_forward()
    builder.walk_back()
    return builder.road


class Stops:
    """Stops written down one after the other, and what each leaves behind."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.descriptors: list[Descriptor] = []
        self.stops: list[Stop] = []
        self.fence = 1
        self.schemas: tuple[int, ...] = (-1,)
        self.schemas = (-1, self.describe(model.road[0], filling=NOTHING))

    @property
    def newest(self) -> int:
        return len(self.schemas) - 1

    @property
    def road(self) -> Road:
        return Road(tuple(self.descriptors), tuple(self.stops))

    def go_back_to(self, stop: Stop) -> None:
        """What is added next goes on from how things are before `stop`."""
        self.schemas, self.fence = stop.schemas, stop.fence

    def add(self, do: Do, version: int = 0, schema: int = -1, parts: tuple[int, ...] = ()) -> None:
        self.stops.append(Stop(do, self.newest, self.fence, self.schemas, version, schema, parts))

    def drain(self) -> None:
        if self.fence < self.newest:
            self.add(Do.DRAIN, self.newest)
            self.fence = self.newest

    def publish(self, stage: Stage, *, filling: frozenset[int]) -> None:
        place = self.describe(stage, filling=filling)
        self.add(Do.PUBLISH, self.newest + 1, place)
        self.schemas = (*self.schemas, place)
        self.fence = max(self.fence, self.newest + 1 - self.model.versions)

    def describe(self, stage: Stage, *, filling: frozenset[int]) -> int:
        """The place of the next version's descriptor."""
        described = descriptor(self.model, stage, len(self.schemas), filling=filling)
        if described not in self.descriptors:
            self.descriptors.append(described)
        return self.descriptors.index(described)


class _Builder(Stops):
    """Walks the model's stages, reorganisations between them, and back."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.exits: list[tuple[int, int]] = []
        self.at = 0
        self.deleted: set[int] = set()

    def walk_forward(self) -> None:
        road = self.model.road
        for number in range(1, len(road)):
            self.at = number - 1
            self._before_publish(road[number - 1], road[number])
            self.publish(road[number], filling=self._filling(number))
        self.at = len(road) - 1
        self.drain()
        if any(self._filling(number) for number in range(len(road))) and not self.model.lacks(Broken.NO_PURGE):
            self.add(Do.PURGE)
        self.add(Do.END)

    def walk_back(self) -> None:
        """From each stop that may be left, the mirrored way to the first stage; one way for all alike."""
        starts: dict[tuple[tuple[int, ...], int], int] = {}
        for number, at in list(self.exits):
            stop = self.stops[number]
            fails = stop.do is Do.VERIFY
            if not (fails or self.model.cancels):
                continue
            left = stop.schemas, stop.fence
            if left not in starts:
                starts[left] = len(self.stops)
                self._walk_back_from(stop, at)
            back = starts[left]
            self.stops[number] = replace(
                stop, otherwise=back if fails else None, cancel=back if self.model.cancels else None
            )

    def _walk_back_from(self, stop: Stop, at: int) -> None:
        self.go_back_to(stop)
        for number in range(at, 0, -1):
            before, after = self.model.road[number], self.model.road[number - 1]
            self._delete(_leaving(self.model, before, after))
            self.publish(after, filling=NOTHING)
        self.drain()
        self.add(Do.END)

    def _before_publish(self, before: Stage, after: Stage) -> None:
        arriving = _arriving(self.model, before, after)
        if arriving and not (self.model.pair or self.model.lacks(Broken.SKIPPED)):
            self._reorganise({walkers(self.model)[at] for at in arriving})
        self._delete(_leaving(self.model, before, after))

    def _filling(self, number: int) -> frozenset[int]:
        """What version number + 1 of the road fills (R4): write-only, and about to be public."""
        road = self.model.road
        if number + 1 >= len(road) or self.model.pair:
            return NOTHING
        kinds = walkers(self.model)
        arriving = _arriving(self.model, road[number], road[number + 1])
        return frozenset(at for at in arriving if kinds[at] in FILLED and road[number][at] is State.WRITE_ONLY)

    def _reorganise(self, kinds: set[Kind]) -> None:
        if not self.model.lacks(Broken.EARLY):
            self.drain()
        if kinds & FILLED:
            if not self.model.lacks(Broken.NOT_CLEARED):
                self.add(Do.CLEAR)
            self.add(Do.FILL)
        if kinds & VERIFIED:
            self.add(Do.VERIFY)

    def _delete(self, leaving: tuple[int, ...]) -> None:
        """Entries, then values, then rows."""
        if not leaving or self.model.pair or self.model.lacks(Broken.NO_DELETE):
            return
        if not self.model.lacks(Broken.DELETE_EARLY):
            self.drain()
        kinds = walkers(self.model)
        order = sorted(leaving, key=lambda at: kinds[at] not in INDEXES, reverse=self.model.lacks(Broken.VALUES_FIRST))
        for at in order:
            self.add(Do.DELETE, parts=(at,))
            self.deleted.add(at)

    def add(self, do: Do, version: int = 0, schema: int = -1, parts: tuple[int, ...] = ()) -> None:
        if self.model.lacks(Broken.EARLY_TURN) or not self._is_past_return():
            self.exits.append((len(self.stops), self.at))
        super().add(do, version, schema, parts)

    def _is_past_return(self) -> bool:
        """Whether the earliest point of no return of any element has been reached (X6)."""
        stages = zip(walkers(self.model), self.model.road[0], self.model.road[self.at], strict=True)
        return any(self._has_no_return(at, *states) for at, states in enumerate(stages))

    def _has_no_return(self, at: int, kind: Kind, first: State, now: State) -> bool:
        if first is not State.PUBLIC:
            return now is State.PUBLIC and kind not in (Kind.PLACEMENT, Kind.DERIVED_COLUMN)
        if kind in (Kind.OPTIONAL_COLUMN, Kind.TABLE):
            return now is State.ABSENT or at in self.deleted
        return now in (State.DELETE_ONLY, State.ABSENT)


def walkers(model: Model) -> tuple[Kind, ...]:
    """The kind of each state of a stage."""
    return model.kinds * 2 if model.has_placements else model.kinds


def _arriving(model: Model, before: Stage, after: Stage) -> tuple[int, ...]:
    """The elements, not there at first, that become public now: they are filled, or verified, before that."""
    steps = zip(walkers(model), model.road[0], before, after, strict=True)
    return tuple(
        at
        for at, (kind, first, old, new) in enumerate(steps)
        if kind in FILLED | VERIFIED
        and first is not State.PUBLIC
        and old not in (State.PUBLIC, State.ABSENT)
        and new is State.PUBLIC
    )


def _leaving(model: Model, before: Stage, after: Stage) -> tuple[int, ...]:
    """The elements that become absent: their pairs are deleted before that."""
    steps = zip(walkers(model), before, after, strict=True)
    return tuple(
        at
        for at, (kind, old, new) in enumerate(steps)
        if kind in DELETED and old is not State.ABSENT and new is State.ABSENT
    )
