"""The questions to TLC: one for each model of the explorer that the specifications in `docs/spec` can express. Changes
of key, NULLs, conditions of partial indexes and hashes are not in the specifications, and so not in these models."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from catalog.elements import Kind
from lab.explorer.model import Model
from lab.explorer.rules_left_out import Broken
from lab.explorer.variant import DROP_INDEX, UP, stages
from lab.explorer.variants import all_variants
from tools.tlc.runs import Config

ATOMIC, SPEC = "Atomic", "Spec"


@dataclass(frozen=True, slots=True)
class Part:
    """The specification of a kind of element: its module, the specification of the grain Atomic, its clauses."""

    module: str
    atomic: str
    invariants: Mapping[str, str]
    """The clause that each invariant of the module is."""

    symmetry: str = "Alike"
    """Not of a column: two of its values have names, the fill value and the default."""


PARTS: Mapping[Kind, Part] = {
    Kind.INDEX: Part("OnlineIndex", ATOMIC, {clause: clause for clause in ("C3", "C4", "C5", "C7")}),
    Kind.UNIQUE_INDEX: Part("UniqueIndex", "Unique", {f"UniqueC{n}": f"C{n}" for n in (3, 4, 5, 6, 7)}),
    Kind.REQUIRED_COLUMN: Part(
        "RequiredColumn", "Column", {"C1": "C1", "C2": "C2", "ColumnC7": "C7", "LostWrite": "lost write"}, symmetry=""
    ),
}
OF_NODES = {"TwoVersions": "two versions", "ReadRight": "a wrong read"}

ADD = UP[Kind.INDEX]
STAGES: Mapping[str, str] = {
    ADD: "Add",
    "absent,write-only,public": "AddWithoutDeleteOnly",
    "absent,delete-only,public": "AddWithoutWriteOnly",
    DROP_INDEX: "Drop",
    "public,delete-only,absent": "DropWithoutWriteOnly",
    "public,write-only,absent": "DropWithoutDeleteOnly",
}
"""The names of sequences in the module, where a configuration cannot write one. Two states are named after both."""

ONLY_NODES_SHOW = frozenset({Broken.NO_LOCK, Broken.NO_CHECK, Broken.STALE_FENCE, Broken.NEWER_VERSION})
"""Rules of leases and transactions: Atomic has neither."""

OF_ADDING = (
    Broken.SKIPPED, Broken.EARLY, Broken.BLIND, Broken.EXISTS_ONLY, Broken.NOT_CLEARED, Broken.SEEN_ONLY, Broken.PURGED,
    Broken.TWICE, Broken.NO_CLOSE, Broken.NO_PURGE,
)  # fmt: skip
OF_DROPPING = (Broken.DELETE_EARLY, Broken.NO_DELETE)
OF_CANCELLING = (Broken.NO_CLOSE, Broken.NO_DELETE)
CANNOT_SHOW: Mapping[str, str] = {
    "visible-move": "changes of key",
    "values-first, index-first, early-turn": "several elements in one change",
    "one-drained, child-unchecked, parent-unchecked": "two tables (L11)",
    "snapshot": "statements that read other rows (T1)",
    "in-place, removed-early, tombstone-row": "placements and storages",
}
"""Rules of `rules_left_out` that none of the three kinds can show, each with what it would take."""


def models() -> Iterator[tuple[str, Model]]:
    """By name: built-in variants first, then each rule that they lack."""
    for name, variant in all_variants().items():
        model = variant.model
        of_it = model.kind in PARTS and not model.also and not model.partial and model.by_leases_alone
        if of_it and (model.nodes, model.operations < 2) == (2, True):
            yield name, replace(model, moves=False, nulls=False, statement="")
    for kind in (Kind.UNIQUE_INDEX, Kind.REQUIRED_COLUMN):
        yield from _left_out(kind)


def _left_out(kind: Kind) -> Iterator[tuple[str, Model]]:
    """The rules of section 9, left out for another kind."""
    word, up = kind.value.replace(" ", "-"), stages(UP[kind])
    add, drop = Model(kind, up), Model(kind, tuple(reversed(up)))
    for states in ("absent,write-only,public", "absent,delete-only,public", "absent,public"):
        yield f"{word} {states}", replace(add, stages=stages(states))
    for states in ("public,delete-only,absent", "public,write-only,absent"):
        yield f"{word} {states}", replace(add, stages=stages(states))
    yield f"{word} three live versions", replace(add, versions=3)
    unverified = (Broken.UNVERIFIED,) if kind is Kind.UNIQUE_INDEX else ()
    for broken in (*OF_ADDING, *unverified):
        yield f"{word} {broken.value}", replace(add, broken=frozenset({broken}))
    yield f"{word} twice, no-close", replace(add, broken=frozenset({Broken.TWICE, Broken.NO_CLOSE}))
    for broken in OF_CANCELLING:
        yield f"{word} {broken.value}, cancelled", replace(add, broken=frozenset({broken}), cancels=True)
    for broken in OF_DROPPING:
        yield f"{word} {broken.value}, dropped", replace(drop, broken=frozenset({broken}))


def reductions() -> Iterator[tuple[str, Model]]:
    add = Model(Kind.INDEX, stages(ADD), rows=1, ranges=1)
    drop = replace(add, stages=stages(DROP_INDEX))
    for name, model in (("add", add), ("drop", drop)):
        yield name, model
        yield f"{name}, cancelled", replace(model, cancels=True)
        for broken in (*(OF_ADDING if name == "add" else OF_DROPPING), Broken.NO_LOCK, Broken.NO_CHECK):
            yield f"{name}, {broken.value}", replace(model, broken=frozenset({broken}))
    for broken in OF_CANCELLING:
        yield f"add, cancelled, {broken.value}", replace(add, broken=frozenset({broken}), cancels=True)
    for broken in (Broken.STALE_FENCE, Broken.NEWER_VERSION):
        late = replace(add, broken=frozenset({broken}), late_enter=True, values=1)
        yield f"add, {broken.value}", late
    yield "add, late enter", replace(add, late_enter=True, values=1)
    for name, model in (("add", add), ("add, cancelled", replace(add, cancels=True)), ("drop", drop)):
        yield f"{name}, 2 rows", replace(model, rows=2, ranges=2)


LIVENESS: Mapping[str, tuple[str, tuple[str, ...], bool]] = {
    "expiry and L8": (DROP_INDEX, (), True),
    "expiry and L8, an addition": (ADD, (), True),
    "no session is ended (L8)": (DROP_INDEX, ("no-session-end",), False),
    "no lease expires": (DROP_INDEX, ("no-expiry",), False),
    "no lease expires, and leases are revoked": (DROP_INDEX, ("no-expiry", "revoked"), True),
}
"""What is fair; the plan, the flaws that say so, and whether each change ends."""


NOT_READ_AGAIN = "unique-index not-read-again"
"""A repair that does not read its row again (R10): the explorer rolls back in place of repairing."""


def unrepaired() -> Config:
    asked = question(Model(Kind.UNIQUE_INDEX, stages(ADD)), ATOMIC)
    return replace(asked, constants={**asked.constants, "Flaws": '= {"not-read-again"}'})


def question(model: Model, grain: str, *, traced: bool = False) -> Config:
    """Spec has one row: two are for Refines."""
    part = PARTS[model.kind]
    of_nodes = grain == SPEC
    constants = _constants(replace(model, rows=1, ranges=1) if of_nodes else model, traced=traced, of_nodes=of_nodes)
    invariants = (*part.invariants, *(OF_NODES if of_nodes else ()))
    return Config(
        part.module, SPEC if of_nodes else part.atomic, constants, invariants, symmetry=part.symmetry,
        view="View" if traced else "",
    )  # fmt: skip


def reduction(model: Model, *, traced: bool = False) -> Config:
    """The question whether each step of Spec is one of Atomic."""
    constants, view = _constants(model, traced=traced, of_nodes=True), "View" if traced else ""
    return Config("OnlineIndex", SPEC, constants, properties=("Refines",), symmetry="Alike", view=view)


def liveness(plan: str, flaws: tuple[str, ...]) -> Config:
    """The question whether each change ends. Symmetry is unsound here."""
    small = Model(Kind.INDEX, stages(plan), rows=1, ranges=1, values=1)
    constants = _constants(small, traced=False, of_nodes=True) | {"Flaws": _set(f'"{flaw}"' for flaw in flaws)}
    return Config("Liveness", "LiveSpec", constants, properties=("Ends", "DeadShrinks"))


def stages_name(model: Model) -> str:
    states = [stage[0].value for stage in model.stages]
    if model.pair:
        return "".join(state.title().replace("-", "") for state in states)
    return "AddInOneStep" if states == ["absent", "public"] else STAGES[",".join(states)]


def _constants(model: Model, *, traced: bool, of_nodes: bool) -> dict[str, str]:
    flaws = {broken.value for broken in model.broken} | (set() if model.fence else {"no-check", "no-lock"})
    column = {"FillValue": "= x1", "Default": "= x2"} if model.kind is Kind.REQUIRED_COLUMN else {}
    return {
        "Node": _numbered("n", model.nodes if of_nodes else 1),
        "Row": _numbered("r", model.rows),
        "Value": _numbered("x", model.values),
        "NoRow": "= NoRow",
        "Stages": f"<- {stages_name(model)}",
        "Beside": _boolean(model.pair),
        "Live": f"= {model.versions}",
        "Cancels": _boolean(model.cancels),
        "Verifies": _boolean(model.kind is Kind.UNIQUE_INDEX),
        "Early": _boolean(model.late_enter),
        "Traced": _boolean(traced),
        "Flaws": _set(f'"{flaw}"' for flaw in sorted(flaws)),
        **column,
    }


def _numbered(letter: str, n: int) -> str:
    return _set(f"{letter}{number}" for number in range(1, n + 1))


def _set(words: Iterator[str]) -> str:
    return f"= {{{', '.join(words)}}}"


def _boolean(value: bool) -> str:
    return f"= {str(value).upper()}"
