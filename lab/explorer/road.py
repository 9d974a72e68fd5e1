"""The versions of the model's table, and what the executor does between them.

    v1 absent · publish v2 delete-only · publish v3 write-only, filling · drain v3 · clear ·
    fill · publish v4 public · drain v4 · purge · end

The road is cut into stops. The executor stands before one of them, and where it stands
tells the newest version and the fence: a world needs no more than the number of its stop.
A failed verification, or a cancel, leads to a road back, whose versions go on counting.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product

from catalog.descriptor import Descriptor
from catalog.elements import Kind, State
from lab.explorer.model import INDEXES, Broken, Model, Stage
from lab.explorer.schema import DELETED, FILLED, VERIFIED, descriptor
from lab.explorer.two_tables import CHILD, PARENT, linked_table

Use = tuple[int, ...]
"""The version of each table that a transaction uses, or a node has come to."""

Schema = tuple[int, ...]
"""The descriptor of each table that a transaction sees, by its place in `Road.descriptors`."""

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


UNCHANGED = -1
"""In a publish: this table gets no new version."""


@dataclass(frozen=True, slots=True)
class Versions:
    """One table's versions: `schemas[v]` is the place of version v in `Road.descriptors`, `fence` the oldest used."""

    newest: int
    fence: int
    schemas: tuple[int, ...]

    @property
    def in_force(self) -> tuple[int, ...]:
        """The places of what the fence lets in, oldest first."""
        return self.schemas[self.fence :]


@dataclass(frozen=True, slots=True)
class Stop:
    """One act of the executor, and how things are before it.

    `version` is the one to publish or to drain, of the first table; `published` has the place of each table's new
    version, or `UNCHANGED`, and `drained` the tables that are drained. `parts` are the elements (by their place in a
    stage) that a deletion is of. `otherwise` and `cancel` are the stops where a failed verification and a cancel go on.
    """

    do: Do
    tables: tuple[Versions, ...]
    version: int = 0
    published: tuple[int, ...] = ()
    drained: tuple[int, ...] = ()
    parts: tuple[int, ...] = ()
    otherwise: int | None = None
    cancel: int | None = None

    @property
    def newest(self) -> int:
        """The first table's newest version; most models have no other table."""
        return self.tables[0].newest

    @property
    def schemas(self) -> tuple[int, ...]:
        return self.tables[0].schemas

    @property
    def newest_use(self) -> Use:
        return tuple(table.newest for table in self.tables)

    @property
    def next_schema(self) -> Schema:
        """What is newest after this publish."""
        places = zip(self.published, self.tables, strict=True)
        return tuple(table.schemas[table.newest] if new == UNCHANGED else new for new, table in places)

    def uses_from(self, use: Use) -> Iterator[Use]:
        """All that a node which has come to `use` may use now, itself first."""
        return product(*(range(v, table.newest + 1) for v, table in zip(use, self.tables, strict=True)))

    def lifted(self, use: Use) -> Use:
        """What a node has come to, versions that the fence has left behind lifted to it."""
        return tuple(max(v, table.fence) for v, table in zip(use, self.tables, strict=True))

    def schema(self, use: Use) -> Schema:
        return tuple(table.schemas[v] for v, table in zip(use, self.tables, strict=True))


@dataclass(frozen=True, slots=True)
class Road:
    """All descriptors, and all stops: the road's first, then those of the roads back."""

    descriptors: tuple[Descriptor, ...]
    stops: tuple[Stop, ...]

    def descriptor(self, stop: Stop, version: int, table: int = 0) -> Descriptor:
        return self.descriptors[stop.tables[table].schemas[version]]


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
        names = (CHILD, PARENT) if model.foreign_key else (0,)
        self.tables: tuple[Versions, ...] = tuple(Versions(0, 1, (UNCHANGED,)) for _ in names)
        places = [self.describe(at, model.road[0], filling=NOTHING) for at in names]
        self.tables = tuple(Versions(1, 1, (UNCHANGED, place)) for place in places)

    @property
    def road(self) -> Road:
        return Road(tuple(self.descriptors), tuple(self.stops))

    def go_back_to(self, stop: Stop) -> None:
        """What is added next goes on from how things are before `stop`."""
        self.tables = stop.tables

    def add(self, do: Do, parts: tuple[int, ...] = ()) -> None:
        self.append(Stop(do, self.tables, parts=parts))

    def append(self, stop: Stop) -> None:
        self.stops.append(stop)

    def drain(self, *, partners: bool = True) -> None:
        """Nobody uses an older version of the first table afterwards, nor of the `partners`."""
        tables = range(len(self.tables) if partners else 1)
        behind = tuple(at for at in tables if self.tables[at].fence < self.tables[at].newest)
        if behind:
            self.append(Stop(Do.DRAIN, self.tables, version=self.tables[0].newest, drained=behind))
            self.tables = tuple(
                replace(table, fence=table.newest) if at in behind else table for at, table in enumerate(self.tables)
            )

    def publish(self, stage: Stage, *, filling: frozenset[int], partners: bool | None = None) -> None:
        """The first table gets a new version (L11), any other one as is said; when nothing is said, if it differs."""
        published = tuple(
            self.describe(at, stage, filling=filling)
            if at == 0 or (self._differs(at, stage) if partners is None else partners)
            else UNCHANGED
            for at in range(len(self.tables))
        )
        self.append(Stop(Do.PUBLISH, self.tables, version=self.tables[0].newest + 1, published=published))
        self.tables = tuple(
            table if place == UNCHANGED else self._with_next(table, place)
            for place, table in zip(published, self.tables, strict=True)
        )

    def _with_next(self, table: Versions, place: int) -> Versions:
        newest = table.newest + 1
        return Versions(newest, max(table.fence, newest + 1 - self.model.versions), (*table.schemas, place))

    def _differs(self, at: int, stage: Stage) -> bool:
        """Whether the second table's last version says something else."""
        last = self.descriptors[self.tables[at].schemas[-1]]
        return last != linked_table(self.model, at, stage, last.version)

    def describe(self, at: int, stage: Stage, *, filling: frozenset[int]) -> int:
        """The place of a table's next version."""
        version = self.tables[at].newest + 1
        if self.model.foreign_key:
            described = linked_table(self.model, at, stage, version, filling=filling)
        else:
            described = descriptor(self.model, stage, version, filling=filling)
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
        starts: dict[tuple[Versions, ...], int] = {}
        for number, at in list(self.exits):
            stop = self.stops[number]
            fails = stop.do is Do.VERIFY
            if not (fails or self.model.cancels):
                continue
            if stop.tables not in starts:
                starts[stop.tables] = len(self.stops)
                self._walk_back_from(stop, at)
            back = starts[stop.tables]
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
            self._reorganise({self.model.walkers[at] for at in arriving})
        self._delete(_leaving(self.model, before, after))

    def _filling(self, number: int) -> frozenset[int]:
        """What version number + 1 of the road fills (R4): write-only, and about to be public."""
        road = self.model.road
        if number + 1 >= len(road) or self.model.pair:
            return NOTHING
        kinds = self.model.walkers
        arriving = _arriving(self.model, road[number], road[number + 1])
        return frozenset(at for at in arriving if kinds[at] in FILLED and road[number][at] is State.WRITE_ONLY)

    def _reorganise(self, kinds: set[Kind]) -> None:
        if not self.model.lacks(Broken.EARLY):
            self.drain(partners=not self.model.lacks(Broken.ONE_DRAINED))
        if kinds & FILLED:
            if not self.model.lacks(Broken.NOT_CLEARED):
                self.add(Do.CLEAR)
            self.add(Do.FILL)
        if kinds & VERIFIED and not self.model.lacks(Broken.UNVERIFIED):
            self.add(Do.VERIFY)

    def _delete(self, leaving: tuple[int, ...]) -> None:
        """Entries, then values, then rows."""
        if not leaving or self.model.pair or self.model.lacks(Broken.NO_DELETE):
            return
        if not self.model.lacks(Broken.DELETE_EARLY):
            self.drain()
        kinds = self.model.walkers
        order = sorted(leaving, key=lambda at: kinds[at] not in INDEXES, reverse=self.model.lacks(Broken.VALUES_FIRST))
        for at in order:
            self.add(Do.DELETE, parts=(at,))
            self.deleted.add(at)

    def append(self, stop: Stop) -> None:
        if self.model.lacks(Broken.EARLY_TURN) or not self._is_past_return():
            self.exits.append((len(self.stops), self.at))
        super().append(stop)

    def _is_past_return(self) -> bool:
        """Whether the earliest point of no return of any element has been reached (X6)."""
        stages = zip(self.model.walkers, self.model.road[0], self.model.road[self.at], strict=True)
        return any(self._has_no_return(at, *states) for at, states in enumerate(stages))

    def _has_no_return(self, at: int, kind: Kind, first: State, now: State) -> bool:
        if first is not State.PUBLIC:
            return now is State.PUBLIC and kind not in (Kind.PLACEMENT, Kind.DERIVED_COLUMN)
        if kind in (Kind.OPTIONAL_COLUMN, Kind.TABLE):
            return now is State.ABSENT or at in self.deleted
        return now in (State.DELETE_ONLY, State.ABSENT)


def _arriving(model: Model, before: Stage, after: Stage) -> tuple[int, ...]:
    """The elements, not there at first, that become public now: they are filled, or verified, before that."""
    steps = zip(model.walkers, model.road[0], before, after, strict=True)
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
    steps = zip(model.walkers, before, after, strict=True)
    return tuple(
        at
        for at, (kind, old, new) in enumerate(steps)
        if kind in DELETED and old is not State.ABSENT and new is State.ABSENT
    )
