"""A run as pictures, each with a sentence, which a page plays without knowing a step or a rule. A statement is one
frame, and so is a range of the fill; steps that change nothing to look at are left out."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from catalog.elements import Kind, NodeId
from catalog.text.message import NOTHING, Text
from lab.explorer.contents.numbered import Fault
from lab.explorer.contents.statements import rows_of_range
from lab.explorer.model import TWINS, WORK, Model
from lab.explorer.plans.program import Do
from lab.explorer.spaces.config import Config
from lab.explorer.spaces.full_space import Plain
from lab.explorer.witness import Steps, replay
from lab.ladders.elements import ANOMALIES
from lab.ladders.sentences import COLUMN, Sentences
from lab.questions.goal import DAMAGE
from lab.sessions.model.cluster import Drawing
from lab.sessions.model.fault_texts import fault_text
from lab.sessions.shown import Pair, Probe

GROUND = -1
"""The place of the first version, which no tile publishes."""

PUBLISHER, FILLER, NOBODY = "p", "f", ""
"""The actors beside nodes, which go by their names."""


class Cell(NamedTuple):
    """Something in the store: `owner` is the key of the row that it belongs to, "" for a row itself."""

    key: str
    text: Text
    owner: str = ""


NO_CELL = Cell("", NOTHING)
"""Where a store has nothing, a page draws one empty cell with this key."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A moment of a run. `tile` is the one that works or acts, `newest` the one that published last, `uses` where each
    node stands; `marks` are of cells, by kind and key."""

    sentence: Text
    actor: str
    tile: int
    newest: int
    uses: Mapping[str, int]
    left: tuple[Cell, ...] = ()
    right: tuple[Cell, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()


class Query(NamedTuple):
    version: int
    text: str
    by_table: tuple[str, ...]
    by_index: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Places:
    of_version: tuple[int, ...]
    of_stop: Mapping[int, int] = field(default_factory=dict)

    def version(self, number: int) -> int:
        """The tile that publishes a version; of the first, and of one that no tile publishes, the ground."""
        return self.of_version[number - 1] if number <= len(self.of_version) else GROUND


def places_of(
    plain: Plain, tiles: Sequence[str], works: Mapping[Do, str], work: frozenset[str] = frozenset()
) -> Places:
    """Where the versions and stops of a plan stand among tiles: those that `works` or `work` names are of work, all
    others publish."""
    states = [at for at, tile in enumerate(tiles) if tile not in work.union(works.values())]
    of_stop, at = dict[int, int](), 0
    for number, stop in enumerate(plain.stops):
        if stop.do is Do.END:
            break
        if stop.do is Do.PUBLISH:
            at = next((place for place in states if place >= at), at)
            of_stop[number] = at
            at += 1
        elif stop.do in works:
            here = next((place for place in range(at, len(tiles)) if tiles[place] == works[stop.do]), None)
            if here is not None:
                of_stop[number] = here
                at = here if stop.do is Do.CLEAR else here + 1
    return Places((GROUND, *states), of_stop)


WORKS = {Do.CLEAR: "fill", Do.FILL: "fill", Do.VERIFY: "verify", Do.DELETE: "delete"}
assert set(WORKS.values()) == set(WORK)


class Film:
    def __init__(
        self, plain: Plain, places: Places, *, shows_danger: bool = False, about: Collection[str] = ()
    ) -> None:
        self.plain, self.places, self.model = plain, places, plain.model
        self.shows_danger, self.about = shows_danger, about
        self.sentences = Sentences(plain)
        self.end = next(at for at, stop in enumerate(plain.stops) if stop.do is Do.END)

    def frames(self, steps: Steps, *, queries: Query | None = None) -> tuple[Frame, ...]:
        """The frames of a run from its start. Raises `Impossible` for a step that cannot be taken. `queries`: what the
        node that leases last finds by the index, when the run ends with that. The last frame alone has marks: until
        then no query meets the damage."""
        given = 1 if steps and steps[0][0] == "given" else 0
        configs = replay(self.plain, steps)
        first = self._frame(configs[given], self.sentences.first(configs[given]), NOBODY, GROUND)
        *before, last = first, *self._scenes(steps, configs, given)
        if queries is not None:
            words = self.sentences.queried(
                last.actor, queries.version, queries.by_index, steps[-1][1:2] == ("acquire",)
            )
            last = replace(last, sentence=words)
        return *(replace(one, marks=()) for one in before), last

    def _scenes(self, steps: Steps, configs: Sequence[Config], at: int) -> Iterator[Frame]:
        while at < len(steps):
            end = at + _length(steps[at : at + 4])
            before, after = configs[at], configs[end]
            text, actor = self._worded(steps[at:end], before, after)
            if text is not None:
                tile = self.places.of_stop.get(before.stop, GROUND)
                if actor in self.plain.names:
                    tile = self._place(after, after.nodes[self.plain.names.index(NodeId(actor))].use[0])
                yield self._frame(after, text, actor, tile)
            at = end

    def _place(self, config: Config, version: int) -> int:
        """The tile of a version; after a rollback that of the version that it is like."""
        if config.stop <= self.end:
            return self.places.version(version)
        stage, versions = self.sentences.stage, range(1, len(self.places.of_version) + 1)
        like = next((one for one in versions if stage(config, one) == stage(config, version)), 1)
        return self.places.version(like)

    def _worded(self, steps: Steps, before: Config, after: Config) -> tuple[Text | None, str]:
        """The sentence of a scene and who acts; no sentence for what nobody needs to see."""
        step, last = steps[0], steps[-1]
        name = str(step[0])
        if name in self.plain.names:
            written = next((one[2] for one in steps if one[1:2] == ("write",)), None)
            if step[1:2] == ("acquire",):
                return self.sentences.leased(name, after), name
            if written is not None and last[1:] == ("commit",):
                return self.sentences.written(name, written, before, after), name  # type: ignore[arg-type]
            return None, name
        if name == "fill":
            return self._filled(steps, before, after), FILLER
        do = self.plain.stops[before.stop].do
        match do:
            case Do.PUBLISH:
                return self.sentences.published(after), PUBLISHER
            case Do.VERIFY | Do.DELETE | Do.REMOVE:
                return self.sentences.worked(do, before, after), FILLER
        return None, NOBODY

    def _filled(self, steps: Steps, before: Config, after: Config) -> Text | None:
        _, verb, number, *attempt = steps[-1]
        assert isinstance(number, int)
        if verb == "again":
            return Text("The worker of the fill is believed dead. A second one takes over.")
        there = {one.key for one in self._cells(after)[0]}
        if verb != "put" or not there & set(map(str, rows_of_range(self.model, number - 1))):
            return None
        return self.sentences.filled(number, before, after, is_second=attempt != [1])

    def _frame(self, config: Config, text: Text, actor: str, tile: int) -> Frame:
        left, right = self._cells(config)
        newest = self.plain.stops[config.stop].newest
        uses = {
            str(name): self._place(config, node.use[0])
            for name, node in zip(self.plain.names, config.nodes, strict=True)
        }
        marks = tuple(dict.fromkeys(self._marks(config, left, right)))
        return Frame(text, actor, tile, self._place(config, newest), uses, left, right, marks)

    # What is in the store

    def probes(self, config: Config) -> tuple[Probe, ...]:
        return Drawing(self.plain, config, config).probes()

    def _cells(self, config: Config) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
        pairs = [pair for pair in Drawing(self.plain, config, config).cluster().pairs if not pair.is_tombstone]
        if self.model.has_placements:
            old = tuple(_row(pair, pairs) for pair in pairs if pair.sort == "row" and not pair.is_new)
            new = tuple(_row(p, pairs)._replace(owner=p.row) for p in pairs if p.sort == "row" and p.is_new)
            return old, new
        if self.model.foreign_key:
            there = [pair for pair in pairs if pair.sort == "row"]
            child = tuple(_row(pair, pairs) for pair in there if pair.table == "child")
            parent = tuple(
                Cell(p.row, Text("parent {parent}", {"parent": p.row})) for p in there if p.table == "parent"
            )
            return child, parent
        moving = "value" if self.model.kind.is_column else "entry" if _has_index(self.model) else ""
        hidden = "value" if moving == "value" else ""
        rows = tuple(_row(pair, [] if hidden else pairs) for pair in pairs if pair.sort == "row")
        return rows, tuple(_moving(pair, self.model) for pair in pairs if pair.sort == moving)

    # Marks

    def _marks(self, config: Config, left: Sequence[Cell], right: Sequence[Cell]) -> Iterator[tuple[str, str]]:
        for fault in self._faults(config):
            yield from _marks_of(fault, left, right)

    def faults(self, steps: Steps) -> tuple[Fault, ...]:
        """The damage at the end of a run; danger where there is none, if this film shows it."""
        return self._faults(replay(self.plain, steps)[-1])

    def _faults(self, config: Config) -> tuple[Fault, ...]:
        faults = tuple(one for one in self.plain.faults(config) if not self.about or one.clause in self.about)
        damage = DAMAGE.of(faults, self.plain.stops[config.stop].newest)
        return damage or (faults if self.shows_danger else ())


def _marks_of(fault: Fault, left: Sequence[Cell], right: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    anomaly = ANOMALIES[fault.clause]
    row = str(fault_text(fault.why).values.get("row", ""))
    rows = {one.key: one for one in left}
    if not row:  # it is about the element as a whole
        yield from ((anomaly, one.key) for one in right or left or (NO_CELL,))
        return
    if anomaly in ("orphan", "left-over"):
        of_row = [one for one in right if one.owner == row]
        stale = [one for one in of_row if row not in rows or one.key.partition(">")[0] != _value(rows[row])]
        yield from ((anomaly, one.key) for one in stale or of_row)
        return
    if anomaly in ("missing", "unset") and row in rows:
        yield anomaly, f"{_value(rows[row])}>{row}"
        return
    yield from ((anomaly, one) for one in (row, str(fault_text(fault.why).values.get("other", ""))) if one)


def _value(row: Cell) -> str:
    return str(row.text.values.get("value", "?"))


def _row(pair: Pair, pairs: Sequence[Pair]) -> Cell:
    value = next(
        (one.value for one in pairs if one.sort == "value" and one.key == "a" and _place_of(one) == _place_of(pair)), ""
    )
    values = {"row": pair.row, "column": COLUMN, "value": value}
    return Cell(
        pair.row, Text("row {row}: {column} = {value}", values) if value else Text("row {row}", {"row": pair.row})
    )


def _place_of(pair: Pair) -> tuple[str, str, bool]:
    return pair.table, pair.row, pair.is_new


def _moving(pair: Pair, model: Model) -> Cell:
    if pair.sort == "entry":
        value = pair.key.rpartition(": ")[2]
        text = Text("{value} → row {row}", {"value": value, "row": pair.row})
        index = pair.key.partition(": ")[0]
        many = sum(kind.is_index for kind in model.kinds) > 1
        return Cell(f"{value}>{pair.row}" + (f">{index}" if many else ""), text, pair.row)
    text = Text("{column} = {value} of row {row}", {"column": pair.key, "value": pair.value, "row": pair.row})
    twin = ">twin" if model.kinds == TWINS and "twin" in pair.key else ""
    return Cell(f"{pair.value}>{pair.row}{twin}", text, pair.row)


def _has_index(model: Model) -> bool:
    return any(kind.is_index for kind in model.kinds) and model.kind is not Kind.TABLE


def _length(steps: Steps) -> int:
    """The number of these steps that are one scene: a statement, or a range of the fill."""
    match [step[:2] for step in steps]:
        case [(one, "begin"), (two, "read"), (three, "write"), (four, "commit")] if one == two == three == four:
            return 4
        case [("fill", "read"), ("fill", "put"), *_] if steps[0][2:] == steps[1][2:]:
            return 2
    return 1
