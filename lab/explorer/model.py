"""A model: one element or several on their way through states, and the rules that are left out.

    index                   absent, delete-only, write-only, public
    optional column + index absent+absent, delete-only+delete-only, write-only+write-only, public+public
    foreign key             absent+absent, write-only+write-only, public+public     (the child's, the parent's)

Its JSON is what a link holds; its hash says whether a link still means the same.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

from catalog.elements import FOREIGN_KEY, Coordination, Kind, State
from catalog.kinds import Family
from catalog.states import UndefinedState, rule
from catalog.text.message import Text, Values, listed
from lab.explorer.rules_left_out import Broken
from storage.buckets import STORAGES_MAX

ROWS_MAX, VALUES_MAX, NODES_MAX, OPERATIONS_MAX, STAGES_MAX = 4, 4, 6, 50, 12
ANY_NUMBER = -1
"""Operations without a limit: the worlds are finite all the same, because the contents of a small table are."""

Stage = tuple[State, ...]
"""The states of the model's elements in one version; of a placement, the old and the new one's; of a foreign key, its
state in the table that refers and in the one that is referred to."""

TWINS = (Kind.DERIVED_COLUMN, Kind.DERIVED_COLUMN)
"""A change of type: the old column and its twin; of the two, one is derived from the other."""

TOGETHER = {Family.COLUMN: 1, Family.INDEX: 2, Family.CONSTRAINT: 1}
MOVES = "moves"
"""All elements of the model at once: what is asked for when no one statement moves them together."""

WORK = ("fill", "verify", "delete")
"""The tiles of a plan in order that publish nothing: they work under the newest version."""

WIDTHS = {"narrow": Text("narrower"), "bounded": Text("wider but bounded"), "wide": Text("wider")}
SELF_REFERENCE = "self reference"
NODES = Text("1 node"), Text("{n} nodes")
ROWS = Text("1 row"), Text("{n} rows")
VALUES = Text("1 value"), Text("{n} values")
PARENTS = Text("1 parent"), Text("{n} parents")
OPERATIONS = Text("1 operation"), Text("{n} operations")
RANGES = Text("1 range"), Text("{n} ranges")
CRASHES = Text("1 crash"), Text("{n} crashes")


class BadModel(ValueError):
    def __init__(self, why: Text | str) -> None:
        super().__init__(str(why))
        self.why = why if isinstance(why, Text) else Text("{why}", {"why": why})


@dataclass(frozen=True, slots=True)
class Model:
    kind: Kind
    stages: tuple[Stage, ...]
    broken: frozenset[Broken] = frozenset()
    nodes: int = 2
    rows: int = 2
    values: int = 2
    operations: int = ANY_NUMBER
    versions: int = 2
    fence: bool = True
    ranges: int = 2
    crashes: int = 1
    moves: bool = False
    nulls: bool = False
    cancels: bool = False
    by_value: bool = True
    """The new placement spreads rows by their value, so that an update moves its row; else by their key."""

    also: tuple[Kind, ...] = ()
    """Elements that move together with the first one, over the same column."""

    apart: bool = False
    """Indexes are over the primary key: they have nothing in common with the column that moves."""

    check: bool = False
    """The constraint is CHECK (a = 11): the first value only, or NULL; else it is NOT NULL."""

    partial: bool = False
    """Indexes are partial: WHERE a = 11, so that only rows with the first value have entries."""

    foreign_key: bool = False
    """The constraint is a FOREIGN KEY of a second table: `rows` of child (id, a) refer to parent (id), one for each of
    the `values`."""

    refers_to_itself: bool = False
    """The constraint is a FOREIGN KEY of the table to itself: its `values` are its rows, so there are as many."""

    coordination: str = Coordination.LEASE.value
    """How nodes agree on a version: lease, hash or both; of two tables the child's + the parent's."""

    storages: str = ""
    """The old + the new placement's number of storages, such as 2+3; "": both have two."""

    late_enter: bool = False
    """A transaction takes its snapshot, pins a version and enters in steps of their own, as at a second table: a node
    may freeze between them."""

    pair: bool = False
    """Only two versions side by side over an empty table, both published: may they live together?"""

    tiles: tuple[str, ...] = ()
    """A plan in this very order: states to publish and work to do (`WORK`), nothing else; none: the order is worked
    out of the versions."""

    widths: str = ""
    """The type of the column a in each version, such as narrow,bounded,wide (`WIDTHS`); "": bigint in all of them."""

    statement: str = ""
    """What the planner is asked for, a DDL statement or `MOVES`; without one the plan is written by hand."""

    def __post_init__(self) -> None:
        _check_kinds(self.kinds)
        if self.foreign_key and (
            self.check
            or not (
                self.kinds[-1] is Kind.CONSTRAINT
                and (len(self.kinds) == 1 or (len(self.kinds) == 2 and self.kinds[0].is_user_column))
            )
        ):
            raise BadModel("a foreign key moves alone, or with the column it is of: --kind optional-column+foreign-key")
        _check_itself(self)
        _check_widths(self)
        stages, walkers = self.stages, self.walkers
        if len(stages) < 2 and not self.tiles:
            raise BadModel(Text("a model has at least two versions, such as absent,delete-only"))
        if len(stages) > STAGES_MAX:
            raise BadModel(Text("a model has at most {most} versions, not {n}", {"most": STAGES_MAX, "n": len(stages)}))
        for stage in stages:
            if len(stage) != len(walkers):
                values: Values = {"text": stage_name(stage), "form": _form(self)}
                raise BadModel(Text("{text}: a version of this model is {form}", values))
            if self.has_placements and State.PUBLIC not in stage:
                raise BadModel(f"{stage_name(stage)}: rows are read in one placement at least, the public one")
            for kind, state in zip(walkers, stage, strict=True):
                try:
                    rule(kind, state)
                except UndefinedState as error:
                    raise BadModel(str(error)) from error
        for before, after in pairwise(stages):
            if before == after and not self.widths:
                twice: Values = {"text": stage_name(before)}
                raise BadModel(Text("{text} stands twice in a row: a version differs from the one before", twice))
        _check_coordination(self)
        _check_storages(self)
        if self.late_enter and (self.foreign_key or not self.by_leases_alone):
            raise BadModel("late enter is of one table with leases")
        if self.broken & {Broken.STALE_FENCE, Broken.NEWER_VERSION} and not self.late_enter:
            raise BadModel("that rule is of snapshots that are older than their enter: --late-enter")
        if self.apart and not any(kind.is_index for kind in self.kinds):
            raise BadModel("apart is for a column and an index over the primary key")
        if self.partial and (self.apart or not any(kind.is_index for kind in self.kinds)):
            raise BadModel("partial is for an index over the column a")
        _between("nodes", self.nodes, 1, NODES_MAX)
        _between("rows", self.rows, 1, ROWS_MAX)
        _between("values", self.values, 1, VALUES_MAX)
        _between("versions", self.versions, 2, 4)
        _between("ranges", self.ranges, 1, self.rows)
        _between("crashes", self.crashes, 0, 2)
        if self.pair and len(self.stages) != 2:
            raise BadModel("a pair is of two versions, such as delete-only,public")
        _check_tiles(self)
        if self.statement and (self.broken or self.pair):
            raise BadModel("rules are left out of a plan that is written by hand, not of the planner's")
        if self.operations != ANY_NUMBER:
            _between("operations", self.operations, 0, OPERATIONS_MAX)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return (self.kind, *self.also)

    @property
    def has_placements(self) -> bool:
        return self.kind is Kind.PLACEMENT

    @property
    def coordinations(self) -> tuple[Coordination, ...]:
        """The coordination of each table; one word means both."""
        found = tuple(map(Coordination, self.coordination.split("+")))
        return found * 2 if len(found) == 1 else found

    @property
    def by_leases_alone(self) -> bool:
        return set(self.coordinations) == {Coordination.LEASE}

    @property
    def storage_counts(self) -> tuple[int, int]:
        """The storages of the old and the new placement; 0: as many as the cluster began with."""
        before, after = self.storages.split("+") if self.storages else ("0", "0")
        return int(before), int(after)

    @property
    def storages_there(self) -> int:
        """The storages of the model's cluster: one if nothing depends on where rows lie."""
        return max(*self.storage_counts, 2) if self.has_placements else 1

    @property
    def walkers(self) -> tuple[Kind, ...]:
        """The kind of each state of a stage. Placements are two, and a foreign key has a state in each table."""
        if self.has_placements:
            return self.kinds * 2
        return (*self.kinds, Kind.CONSTRAINT) if self.foreign_key else self.kinds

    @property
    def kind_name(self) -> str:
        kinds = [kind.value for kind in self.kinds]
        if self.foreign_key:
            kinds[-1] = FOREIGN_KEY
        if self.refers_to_itself:
            kinds[-1] = SELF_REFERENCE
        return " + ".join(kinds)

    def lacks(self, rule_left_out: Broken) -> bool:
        return rule_left_out in self.broken

    @property
    def bounds(self) -> Text:
        operations = _counted(OPERATIONS, self.operations)
        sizes = [
            _counted(NODES, self.nodes),
            _counted(ROWS, self.rows),
            _counted(PARENTS if self.foreign_key else VALUES, self.values),
            Text("any number of operations") if self.operations == ANY_NUMBER else operations,
            _counted(RANGES, self.ranges),
            _counted(CRASHES, self.crashes),
            Text("{n} live versions", {"n": self.versions}),
        ]
        if not self.by_leases_alone:
            sizes.append(Text("coordination {how}", {"how": self.coordination}))
        else:
            sizes.append(Text("leases and fence") if self.fence else Text("leases without a fence"))
        options = (
            (Text("key changes"), self.moves),
            (Text("NULLs"), self.nulls),
            (Text("cancel"), self.cancels),
            (Text("late enter"), self.late_enter),
        )
        return listed([*sizes, *(words for words, is_on in options if is_on)])

    @property
    def title(self) -> str:
        left_out = "".join(f"; {b.words}" for b in Broken if b in self.broken)
        how = "" if self.by_leases_alone else f"; coordination {self.coordination}"
        storages = f"; storages {self.storages}" if self.storages else ""
        return f"{self.kind_name}: {self.stage_names}{storages}{how}{left_out}"

    @property
    def stage_names(self) -> str:
        if self.widths:
            return (" beside " if self.pair else ", ").join(WIDTHS[word].template for word in self.widths.split(","))
        return (" beside " if self.pair else ", ").join(stage_name(stage) for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        body = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name != "stages" and not (f.name in UNSAID and getattr(self, f.name) == f.default)
        }
        return (
            body
            | {
                "kind": self.kind.value,
                "also": [kind.value for kind in self.also],
                "road": [stage_name(stage) for stage in self.stages],
                "broken": sorted(b.value for b in self.broken),
            }
            | ({"tiles": list(self.tiles)} if self.tiles else {})
        )

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:16]


UNSAID = ("coordination", "storages", "late_enter", "tiles", "widths")
"""What the JSON of a model does not have when it is as usual: links to models of before it was there go on meaning the
same."""


def model_in(text: str) -> Model:
    """The model in a JSON text. Raises `BadModel`."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadModel(f"this is no model: {error}") from error
    return from_json(body)


def from_json(body: Any) -> Model:
    if not isinstance(body, Mapping):
        raise BadModel("this is no model: a model is a JSON object")
    known = {f.name for f in fields(Model)} - {"stages"} | {"road"}
    unknown = sorted(set(body) - known)
    if unknown:
        raise BadModel(f"unknown: {', '.join(unknown)}; a model has {', '.join(sorted(known))}")
    if not isinstance(body.get("kind"), str):
        raise BadModel("a model has a kind, such as index")
    if "road" not in body:
        raise BadModel('a model has versions, by the name "road", such as ["absent", "delete-only", "public"]')
    for name in ("road", "also", "broken", "tiles"):
        value = body.get(name, [])
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise BadModel(f"{name} is a list of names")
    for one in fields(Model):
        value = body.get(one.name, one.default)
        if isinstance(one.default, bool | int | str) and type(value) is not type(one.default):
            raise BadModel(f"a {one.name} is {_TYPES[type(one.default)]}, not {str(value)[:40]}")
    return Model(
        **{
            **{name: value for name, value in body.items() if name != "road"},
            "kind": kind_named(body["kind"]),
            "also": tuple(kind_named(text) for text in body.get("also", ())),
            "stages": tuple(stage_named(text) for text in body["road"]),
            "broken": frozenset(broken_named(text) for text in body.get("broken", ())),
            "tiles": tuple(body.get("tiles", ())),
        }
    )


_TYPES = {bool: "true or false", int: "a number", str: "text"}


def kind_named(text: str) -> Kind:
    for kind in Kind:
        if kind.value == text.strip().replace("-", " "):
            return kind
    raise BadModel(f"unknown kind {text!r}; kinds are: {', '.join(k.value.replace(' ', '-') for k in Kind)}")


def kinds_described(text: str) -> dict[str, Any]:
    """The fields of a model for "optional-column+index", or "optional-column+foreign-key"."""
    parts = text.replace("-", " ").split("+")
    if text.replace("-", " ").strip() == SELF_REFERENCE:
        return {"kind": Kind.CONSTRAINT, "also": (), "refers_to_itself": True}
    is_linked = parts[-1].strip() == FOREIGN_KEY
    if is_linked:
        parts[-1] = Kind.CONSTRAINT.value
    kind, *also = kinds_named("+".join(parts))
    return {"kind": kind, "also": tuple(also), "foreign_key": is_linked}


def kinds_named(text: str) -> tuple[Kind, ...]:
    return tuple(kind_named(part) for part in text.split("+"))


def stage_named(text: str) -> Stage:
    """The states of one version: "write-only", or "public+delete-only" for the old and the new placement."""
    return tuple(_state_named(part) for part in text.split("+"))


def stage_name(stage: Stage) -> str:
    return "+".join(state.value for state in stage)


def broken_named(text: str) -> Broken:
    for broken in Broken:
        if broken.value == text.strip():
            return broken
    raise BadModel(f"unknown variant {text!r}; variants are: correct, {', '.join(b.value for b in Broken)}")


def _state_named(text: str) -> State:
    for state in State:
        if state.value == text.strip():
            return state
    values: Values = {"text": repr(text), "words": ", ".join(state.value for state in State)}
    raise BadModel(Text("unknown state {text}; states are: {words}", values))


def _check_kinds(kinds: tuple[Kind, ...]) -> None:
    if kinds in (TWINS, (Kind.DERIVED_COLUMN,)):
        if kinds != TWINS:
            raise BadModel("a derived column stands beside the one it is derived from: derived-column+derived-column")
        return
    if len(kinds) == 1:
        return
    for kind in kinds:
        if kind.family not in TOGETHER or kind is Kind.DERIVED_COLUMN:
            may = ", ".join(sorted(one.value for one in Kind if one.family in TOGETHER and one not in TWINS))
            raise BadModel(f"a {kind.value} moves alone; together move: {may}")
    for family, most in TOGETHER.items():
        if sum(kind.family is family for kind in kinds) > most:
            raise BadModel(f"more than {most} {family.value}: a model's table has no place for so many")


def _check_itself(model: Model) -> None:
    if not model.refers_to_itself:
        return
    if model.kinds != (Kind.CONSTRAINT,) or model.foreign_key or model.check:
        raise BadModel("a foreign key of a table to itself moves alone: --kind self-reference")
    if model.values != model.rows:
        raise BadModel(f"{model.values} values and {model.rows} rows: rows refer to rows, there are as many of both")


def _check_tiles(model: Model) -> None:
    if not model.tiles:
        return
    if len(model.tiles) > STAGES_MAX:
        raise BadModel(f"a plan has at most {STAGES_MAX} tiles, not {len(model.tiles)}")
    if [stage_name(stage) for stage in model.stages[1:]] != [tile for tile in model.tiles if tile not in WORK]:
        raise BadModel("the versions of a plan in order are the first one and those of its tiles")
    if model.pair or model.statement:
        raise BadModel("a plan in order is neither a pair nor the planner's")


def _check_widths(model: Model) -> None:
    if not model.widths:
        return
    words = model.widths.split(",")
    if unknown := [word for word in words if word not in WIDTHS]:
        raise BadModel(f"unknown width {unknown[0]!r:.40}; there are: {', '.join(WIDTHS)}")
    if model.kinds != (Kind.OPTIONAL_COLUMN,) or len(words) != len(model.stages) or model.tiles:
        raise BadModel("widths are of an optional column, one for each version: --widths narrow,bounded,wide")
    if any(stage != (State.PUBLIC,) for stage in model.stages):
        raise BadModel("a column whose type gets wider is public in every version")


def _check_coordination(model: Model) -> None:
    named, known = model.coordination.split("+"), [one.value for one in Coordination]
    if any(one not in known for one in named):
        raise BadModel(f"unknown coordination {model.coordination!r:.40}; there are: {', '.join(known)}")
    if len(named) > 1 + model.foreign_key:
        raise BadModel(f"coordination {model.coordination}: a table has one, a child and its parent one each")
    if model.pair and not model.by_leases_alone:
        raise BadModel("a pair is of two versions that nodes may begin with: coordination lease")
    if not (model.fence or model.by_leases_alone):
        raise BadModel(
            "without leases it is the fence that keeps old versions out: leave no-check or no-lock out of it"
        )


def _check_storages(model: Model) -> None:
    if not model.storages:
        if model.broken & {Broken.IN_PLACE, Broken.REMOVED_EARLY}:
            raise BadModel("that rule is of storages that become more or fewer: --storages 2+3")
        return
    if not model.has_placements:
        raise BadModel("storages are of an old and a new placement: --kind placement --storages 2+3")
    counts = model.storages.split("+")
    if len(counts) != 2 or not all(re.fullmatch(r"\d{1,2}", one) for one in counts):
        raise BadModel(f"storages {model.storages!r:.40}: the old + the new placement's, such as 2+3")
    for count in model.storage_counts:
        _between("storages", count, 1, STORAGES_MAX)
    if model.lacks(Broken.REMOVED_EARLY) and model.storage_counts[0] <= model.storage_counts[1]:
        raise BadModel(f"storages {model.storages}: none is removed")


def _form(model: Model) -> str:
    if model.has_placements:
        return "old+new, such as public+delete-only"
    if model.foreign_key:
        column = "column+" if len(model.kinds) > 1 else ""
        return f"{column}child's+parent's, such as {'public+' if column else ''}write-only+write-only"
    many = len(model.kinds)
    return "a single state" if many == 1 else f"{many} states with + between them, one for each"


def _counted(words: tuple[Text, Text], n: int) -> Text:
    one, many = words
    return one if n == 1 else Text(many.template, {"n": n})


def _between(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise BadModel(f"{name} is {value}; it must be {low} to {high}")
