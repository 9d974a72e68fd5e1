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
from catalog.elements import State
from lab.explorer.model import Broken, Model, Stage
from lab.explorer.schema import DELETED, FILLED, VERIFIED, descriptor


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
    `schema` that of the version to publish.
    `otherwise` and `cancel` are the stops where a failed verification and a cancel go on.
    """

    do: Do
    newest: int
    fence: int
    schemas: tuple[int, ...]
    version: int = 0
    schema: int = -1
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
        self.schemas = (-1, self.describe(model.road[0], filling=False))

    @property
    def newest(self) -> int:
        return len(self.schemas) - 1

    @property
    def road(self) -> Road:
        return Road(tuple(self.descriptors), tuple(self.stops))

    def go_back_to(self, stop: Stop) -> None:
        """What is added next goes on from how things are before `stop`."""
        self.schemas, self.fence = stop.schemas, stop.fence

    def add(self, do: Do, version: int = 0, schema: int = -1) -> None:
        self.stops.append(Stop(do, self.newest, self.fence, self.schemas, version, schema))

    def drain(self) -> None:
        if self.fence < self.newest:
            self.add(Do.DRAIN, self.newest)
            self.fence = self.newest

    def publish(self, stage: Stage, *, filling: bool) -> None:
        place = self.describe(stage, filling=filling)
        self.add(Do.PUBLISH, self.newest + 1, place)
        self.schemas = (*self.schemas, place)
        self.fence = max(self.fence, self.newest + 1 - self.model.versions)

    def describe(self, stage: Stage, *, filling: bool) -> int:
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

    def walk_forward(self) -> None:
        road = self.model.road
        for number in range(1, len(road)):
            self.at = number - 1
            self._before_publish(road[number - 1], road[number])
            self.publish(road[number], filling=self._fills_next(number))
        self.at = len(road) - 1
        self.drain()
        if any(self._fills_next(number) for number in range(len(road))) and not self.model.lacks(Broken.NO_PURGE):
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
            if _deletes(self.model, before, after):
                self._delete()
            self.publish(after, filling=False)
        self.drain()
        self.add(Do.END)

    def _before_publish(self, before: Stage, after: Stage) -> None:
        if _fills(self.model, before, after) and not (self.model.pair or self.model.lacks(Broken.SKIPPED)):
            self._reorganise()
        if _deletes(self.model, before, after):
            self._delete()

    def _fills_next(self, number: int) -> bool:
        """Whether version number + 1 of the road is filling (R4): write-only, and about to be filled."""
        road = self.model.road
        return (
            number + 1 < len(road)
            and State.WRITE_ONLY in road[number]
            and not self.model.pair
            and _fills(self.model, road[number], road[number + 1])
        )

    def _reorganise(self) -> None:
        if not self.model.lacks(Broken.EARLY):
            self.drain()
        if self.model.kind in FILLED:
            if not self.model.lacks(Broken.NOT_CLEARED):
                self.add(Do.CLEAR)
            self.add(Do.FILL)
        if self.model.kind in VERIFIED:
            self.add(Do.VERIFY)

    def _delete(self) -> None:
        if self.model.pair or self.model.lacks(Broken.NO_DELETE):
            return
        if not self.model.lacks(Broken.DELETE_EARLY):
            self.drain()
        self.add(Do.DELETE)

    def add(self, do: Do, version: int = 0, schema: int = -1) -> None:
        if not self._is_past_return():
            self.exits.append((len(self.stops), self.at))
        super().add(do, version, schema)

    def _is_past_return(self) -> bool:
        """Whether an element that the change adds is public already, or one that it takes is on its way (X6)."""
        first, now = self.model.road[0], self.model.road[self.at]
        arrived = any(b is not State.PUBLIC and a is State.PUBLIC for b, a in zip(first, now, strict=True))
        leaves = any(b is State.PUBLIC and a is not State.PUBLIC for b, a in zip(first, now, strict=True))
        return arrived or leaves


def _fills(model: Model, before: Stage, after: Stage) -> bool:
    """Whether an element that was not there at first becomes public: it is filled, or verified, before that."""
    if model.kind not in FILLED | VERIFIED:
        return False
    steps = zip(model.road[0], before, after, strict=True)
    return any(
        first is not State.PUBLIC and old not in (State.PUBLIC, State.ABSENT) and new is State.PUBLIC
        for first, old, new in steps
    )


def _deletes(model: Model, before: Stage, after: Stage) -> bool:
    """Whether an element becomes absent: its pairs are deleted before that."""
    if model.kind not in DELETED:
        return False
    return any(old is not State.ABSENT and new is State.ABSENT for old, new in zip(before, after, strict=True))
