"""Set-ups on an explorer's model: chapters 1 to 5, 8, 9, 11 and 13, every built-in variant, any model."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from catalog.elements import Kind
from lab.explorer.model import WORK, BadModel, Model, kind_named, kinds_described, model_in, stage_named
from lab.explorer.rules_left_out import Broken
from lab.explorer.variant import RESHARD, UP, stages
from lab.explorer.variants import all_variants
from lab.sessions.names import Names, names_in
from lab.sessions.session import BadSession, Session, Value
from lab.sessions.setup import MODEL, LeftOut, Parameter, Setup
from lab.sessions.shown import Text

FENCE, TWO_VERSIONS = "fence", "two-versions"
CHAPTER = "chapter"
NAMES = "names"

PROTECTS: Mapping[str, Text] = {
    FENCE: Text("T2: a store accepts no transaction of a version that is older than the fence"),
    TWO_VERSIONS: Text("L2, L7: at most two versions are in use at once"),
    "skipped": Text("R1: existing rows get their entries"),
    "early": Text("L9: the fill begins once no transaction uses an older version"),
    "blind": Text("R2: what a writer has put or removed wins over the fill"),
    "exists-only": Text("R2: the fill puts nothing where a pair or a tombstone is"),
    "not-cleared": Text("R6: tombstones from before the drain are cleared before the fill"),
    "seen-only": Text("R5: a removal leaves a tombstone whether or not it sees a pair"),
    "purged": Text("R7: no tombstone is removed while a range may still write"),
    "twice": Text("R3: a range that is done is never done again"),
    "no-close": Text("R7: the run is closed before the next version is published"),
    "no-purge": Text("R8: tombstones are removed at the end"),
    "delete-early": Text("L9: pairs are deleted once no transaction uses an older version"),
    "no-delete": Text("X4: pairs are deleted before the element is absent"),
    "visible-move": Text("a change of key carries all columns of the row, also those the version cannot name"),
    "values-first": Text("entries are deleted before the values that they are made of"),
    "index-first": Text("a missing value reads as the fill value, for the fill too"),
    "early-turn": Text("X6: after the point of no return nothing is cancelled"),
    "unverified": Text("R10: rows are verified before the element is public"),
    "one-drained": Text("L11: both tables are drained before rows are verified"),
    "child-unchecked": Text("a row that is written must find the row that it refers to"),
    "parent-unchecked": Text("a row that another one refers to is not removed"),
    "snapshot": Text("T1: what a transaction has read does not change before it commits"),
    "no-lock": Text("L7, L9: a publish and a drain wait for transactions that have begun"),
    "no-check": Text("T2: a store refuses a version that it does not accept"),
    "in-place": Text("rows are copied to their new storages before they are read there"),
    "removed-early": Text("a storage is removed once nothing uses it"),
    "tombstone-row": Text("R8: a row whose existence pair is a tombstone does not exist"),
    "stale-fence": Text("T2: the fence is read as of now, not as of the transaction's snapshot"),
    "newer-version": Text("T3: a transaction uses no version that its snapshot does not hold"),
}


def _may(*ids: str) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(name, PROTECTS[name]) for name in ids)


LADDER = _may(FENCE, TWO_VERSIONS)
FILL = _may("skipped", "early", "blind", "exists-only", "not-cleared", "seen-only", "purged", "twice", "no-close")
FILLED = (*LADDER, *FILL, *_may("no-purge"))
VERIFIED = (*FILLED, *_may("unverified"))
ALL = _may(*PROTECTS)


def _rows(*rows: str | int) -> Parameter:
    return Parameter("rows", list(rows), Text("the first rows: the value of a of each, - for none"))


def _states(default: str) -> Parameter:
    return Parameter("states", default, Text("the states, one for each version"))


FULL = UP[Kind.INDEX]
NODE_2_IS_AHEAD = ("publish.2", "n2.acquire")
TO_THE_FILL = ("publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire", "drain.3")


EXPLAINED = Parameter(CHAPTER, "", Text("the chapter that explains it"))


def _setups() -> tuple[Setup, ...]:
    return (
        Setup(
            "one-jump",
            MODEL,
            Text("One jump"),
            Text("The index goes from absent to public at once."),
            (_rows(),),
            LADDER,
            chapter="01-one-jump",
            begins=NODE_2_IS_AHEAD,
        ),
        Setup(
            "delete-only",
            MODEL,
            Text("Delete-only in between"),
            Text("The index is absent, delete-only, public."),
            (_rows(),),
            FILLED,
            chapter="02-delete-only",
            begins=NODE_2_IS_AHEAD,
        ),
        Setup(
            "write-only",
            MODEL,
            Text("Write-only in between"),
            Text("The index is absent, write-only, public."),
            (_rows(),),
            FILLED,
            chapter="03-why-write-only",
            begins=NODE_2_IS_AHEAD,
        ),
        Setup(
            "full-ladder",
            MODEL,
            Text("The full ladder"),
            Text("The index is absent, delete-only, write-only, public."),
            (_rows(),),
            FILLED,
            chapter="03-why-write-only",
        ),
        Setup(
            "fill",
            MODEL,
            Text("A fill beside writers"),
            Text("v3 is write-only and drained, row 1 has a = 1: the fill is about to read."),
            (_rows(1),),
            FILLED,
            single_steps=True,
            chapter="04-reorganise",
            begins=(*TO_THE_FILL, "clear"),
        ),
        Setup(
            "two-versions",
            MODEL,
            Text("Two versions at most"),
            Text("The full ladder from its start: both nodes use v1."),
            (_rows(),),
            FILLED,
            chapter="05-two-versions",
        ),
        Setup(
            "optional-column",
            MODEL,
            Text("An optional column"),
            Text("The column a may be missing in a row."),
            (_states(UP[Kind.OPTIONAL_COLUMN]), _rows()),
            (*LADDER, *_may("delete-early", "no-delete", "no-purge")),
            chapter="08-other-elements",
        ),
        Setup(
            "required-column",
            MODEL,
            Text("A required column"),
            Text("The column a is NOT NULL and has a default."),
            (_states(UP[Kind.REQUIRED_COLUMN]), _rows()),
            (*FILLED, *_may("delete-early", "no-delete")),
            chapter="08-other-elements",
        ),
        Setup(
            "unique-index",
            MODEL,
            Text("A unique index over duplicates"),
            Text("Rows 1 and 2 have the same value, and the index is to be unique."),
            (_states(FULL), _rows(1, 1)),
            VERIFIED,
            chapter="09-unique",
        ),
        Setup(
            "placement",
            MODEL,
            Text("Another sharding key"),
            Text("A second placement of the table is filled, and is read in the end."),
            (_states(RESHARD), _rows()),
            (*FILLED, *_may("delete-early", "no-delete")),
            chapter="11-sharding-key",
        ),
        Setup(
            "constraint",
            MODEL,
            Text("A constraint over rows that are there"),
            Text("NOT NULL is absent, enforced for new rows and verified for old ones, public."),
            (_rows(),),
            (*LADDER, *_may("unverified")),
            chapter="08-other-elements",
        ),
        Setup(
            "foreign-key",
            MODEL,
            Text("A foreign key between two tables"),
            Text("Each table has a part of it: both are absent, enforced and verified, public."),
            (_rows(),),
            (*LADDER, *_may("unverified", "one-drained", "child-unchecked", "parent-unchecked")),
            chapter="13-design-your-own",
        ),
        Setup(
            "ladder",
            MODEL,
            Text("An order of tiles"),
            Text("Versions and work in the order in which somebody has put them."),
            (
                Parameter("element", "index", Text("the element, as the explorer names it")),
                Parameter("ground", "absent", Text("its state at first")),
                Parameter("tiles", "delete-only,write-only,fill,public", Text("the tiles, in order")),
                _rows(),
                Parameter(NAMES, "", Text("what its things are called in a schema of yours, as JSON")),
                EXPLAINED,
            ),
            (*LADDER, *_may("blind", "exists-only", "not-cleared", "seen-only", "purged", "twice", "no-close")),
        ),
        Setup(
            "variant",
            MODEL,
            Text("A built-in model"),
            Text("A model of the page of safe sequences."),
            (Parameter("name", "index-in-one-step", Text("the name of the model")), _rows(), EXPLAINED),
            ALL,
        ),
        Setup(
            "model",
            MODEL,
            Text("A model of your own"),
            Text("A model as the explorer prints it."),
            (
                Parameter("model", "", Text("the model, as JSON")),
                _rows(),
                Parameter(NAMES, "", Text("what its things are called in a schema of yours, as JSON")),
                EXPLAINED,
            ),
            ALL,
        ),
    )


MODEL_SETUPS: Mapping[str, Setup] = {setup.name: setup for setup in _setups()}


def _index(states: str) -> Callable[[Mapping[str, Value]], Model]:
    return lambda _: Model(Kind.INDEX, stages(states), rows=1, ranges=1)


def _element(kind: Kind, **sizes: int) -> Callable[[Mapping[str, Value]], Model]:
    return lambda values: Model(kind, tuple(stage_named(text) for text in str(values["states"]).split(",")), **sizes)  # type: ignore[arg-type]


def _built_in(name: str) -> Callable[[Mapping[str, Value]], Model]:
    return lambda _: all_variants()[name].model


def _variant(values: Mapping[str, Value]) -> Model:
    found = all_variants().get(str(values["name"]))
    if found is None:
        raise BadSession(f"there is no built-in model {str(values['name'])[:60]}")
    return found.model


def _own(values: Mapping[str, Value]) -> Model:
    return model_in(str(values["model"]))


def _ladder(values: Mapping[str, Value]) -> Model:
    tiles = tuple(text.strip() for text in str(values["tiles"]).split(","))
    states = [str(values["ground"]), *(tile for tile in tiles if tile not in WORK)]
    return Model(stages=tuple(map(stage_named, states)), tiles=tiles, **kinds_described(str(values["element"])))


MODELS: Mapping[str, Callable[[Mapping[str, Value]], Model]] = {
    "one-jump": _index("absent,public"),
    "delete-only": _index("absent,delete-only,public"),
    "write-only": _index("absent,write-only,public"),
    "full-ladder": _index(FULL),
    "fill": _index(FULL),
    "two-versions": _index(FULL),
    "optional-column": _element(Kind.OPTIONAL_COLUMN, rows=1, ranges=1),
    "required-column": _element(Kind.REQUIRED_COLUMN, rows=1, ranges=1),
    "unique-index": _element(kind_named("unique index")),
    "placement": _element(Kind.PLACEMENT),
    "constraint": _built_in("add-constraint"),
    "foreign-key": _built_in("add-foreign-key"),
    "ladder": _ladder,
    "variant": _variant,
    "model": _own,
}


def model_of(setup: Setup, session: Session) -> tuple[Model, tuple[str | int, ...]]:
    """The model of a session without the rules left out, and its first rows (none: not given). Raises `BadSession`."""
    values = setup.values(session)
    setup.check_left_out(session)
    try:
        model = _without(MODELS[setup.name](values), session.left_out)
    except BadModel as error:
        raise BadSession(str(error)) from error
    rows = values["rows"]
    assert isinstance(rows, list)
    return model, tuple(rows)


def own_model_of(setup: Setup, session: Session) -> Model:
    """The model of a session with all rules. Raises `BadSession`."""
    try:
        return MODELS[setup.name](setup.values(session))
    except BadModel as error:
        raise BadSession(str(error)) from error


def names_of(setup: Setup, session: Session) -> Names:
    return names_in(str(setup.values(session).get(NAMES, "")))


def without_names(parameters: Mapping[str, Value]) -> Mapping[str, Value]:
    """The parameters of a session without its names and chapter, which change only words."""
    return {name: value for name, value in parameters.items() if name not in (NAMES, CHAPTER)}


def model_parameter(model: Model) -> str:
    """A model as the parameter of the set-up `model`, without its usual values."""
    linked = {name: getattr(model, name) for name in ("foreign_key", "refers_to_itself", "widths")}
    usual = Model(model.kind, model.stages, also=model.also, **linked).to_json()
    always = ("kind", "also", "road", *(name for name, value in linked.items() if value))
    body = {name: value for name, value in model.to_json().items() if name in always or value != usual.get(name)}
    return json.dumps(body, separators=(",", ":"))


def _without(model: Model, left_out: frozenset[str]) -> Model:
    """A model without these rules; its plan is then written by hand, with the same versions."""
    if not left_out:
        return model
    broken = frozenset(Broken(name) for name in left_out - {FENCE, TWO_VERSIONS})
    versions = 3 if TWO_VERSIONS in left_out else model.versions
    fence = model.fence and FENCE not in left_out
    return replace(model, broken=model.broken | broken, versions=versions, fence=fence, statement="")
