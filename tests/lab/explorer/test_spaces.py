"""The reduced spaces against the plain one: they reach the same worlds, so their proofs are the same proof."""

import pytest

from lab.explorer.contents.effects import Effects
from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.contents.numbered import Occurrence
from lab.explorer.model import Model
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import Config
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.reduced_space import Atomic, World, fits
from lab.explorer.spaces.search import Space, W, search
from lab.explorer.spaces.symmetry import Symmetry
from lab.explorer.variant import RESHARD
from lab.explorer.witness import parse, replay
from tests.lab.explorer.models import foreign_key, model

SOAK = pytest.mark.soak
TWO_NODES = model(rows=1, ranges=1, values=1, operations=2, crashes=0)
SMALL = [
    pytest.param(TWO_NODES, id="index, two nodes"),
    pytest.param(model(nodes=1, rows=1, ranges=1, values=2, operations=3), id="index, a second worker", marks=SOAK),
    pytest.param(model(nodes=1, rows=1, ranges=1, values=1, operations=1, cancels=True), id="index, cancelled"),
    pytest.param(
        model("unique index", nodes=1, ranges=1, values=1, operations=2, crashes=0), id="unique index, verified"
    ),
    pytest.param(
        model("optional column", "absent,delete-only,public", rows=1, ranges=1, values=1, operations=2),
        id="column",
        marks=SOAK,
    ),
    pytest.param(
        model("required column", nodes=1, values=1, operations=1, moves=True),
        id="required column, a key changes",
        marks=SOAK,
    ),
    pytest.param(
        foreign_key("absent+absent,write-only+write-only", rows=1, ranges=1, values=1, operations=1, pair=True),
        id="foreign key, two nodes",
    ),
    pytest.param(
        foreign_key(nodes=1, rows=1, ranges=1, values=1, operations=1, cancels=True),
        id="foreign key, cancelled",
        marks=SOAK,
    ),
]
LARGER = [
    pytest.param(foreign_key(rows=1, ranges=1, values=1, operations=1), id="foreign key, all its versions", marks=SOAK),
    pytest.param(
        foreign_key("public+public,write-only+write-only", rows=1, ranges=1, values=1, operations=2),
        id="foreign key, a row and its parent at once",
        marks=SOAK,
    ),
    pytest.param(
        foreign_key(nodes=1, rows=1, ranges=1, operations=1, moves=True), id="foreign key, a key changes", marks=SOAK
    ),
    pytest.param(
        model("required column+foreign key", "--- d-- www PPP", rows=1, ranges=1, values=2, nodes=1, operations=1),
        id="foreign key, with its column",
        marks=SOAK,
    ),
]
"""Too many for the plain space with begin, read, write and commit; a transaction begins and does all else at once."""


def reachable(space: Space[W]) -> set[W]:
    worlds = set(space.first())
    waiting = list(worlds)
    while waiting:
        for _, after, _ in space.steps(waiting.pop()):
            if after not in worlds:
                worlds.add(after)
                waiting.append(after)
    return worlds


def what_is_judged(effects: Effects, worlds: set[World] | set[Config]) -> set[tuple[object, ...]]:
    """All that clauses look at, and the fill: in bytes, because numbers are given out as worlds are met."""
    return {
        (
            world.stop,
            effects.known[world.contents],
            tuple((done, *(effects.chunks[c] if c >= 0 else c for c in tried)) for done, *tried in world.ranges),
            world.crashes,
        )
        for world in worlds
    }


@pytest.mark.parametrize("small", SMALL)
def test_transactions_as_single_events_reach_what_the_plain_space_reaches(small: Model) -> None:
    judged, sizes = [], []
    for reduced in (lambda e: Plain(e), lambda e: Plain(e, fused=True), lambda e: Atomic(e)):
        effects = effects_of(small)
        worlds = reachable(reduced(effects))
        judged.append(what_is_judged(effects, worlds))
        sizes.append(len(worlds))
    assert judged[0] == judged[1] == judged[2]
    if small == TWO_NODES:
        assert (sizes[0], sizes[2]) == (15097, 112), "much smaller; pinned: a change of the model shows here"


@pytest.mark.parametrize("small", LARGER)
def test_transactions_as_single_events_reach_what_those_reach_that_begin_earlier(small: Model) -> None:
    judged = []
    for reduced in (lambda e: Plain(e, fused=True), lambda e: Atomic(e)):
        effects = effects_of(small)
        judged.append(what_is_judged(effects, reachable(reduced(effects))))
    assert judged[0] == judged[1]


WITHOUT_LEASES = [
    pytest.param(model(rows=1, ranges=1, values=1, operations=2, crashes=0, coordination="hash"), id="index"),
    pytest.param(
        model(rows=1, ranges=1, values=1, operations=2, crashes=0, coordination="both"), id="index, both", marks=SOAK
    ),
    pytest.param(
        foreign_key(rows=1, ranges=1, values=1, operations=1, coordination="hash+lease"),
        id="foreign key to a table with leases",
        marks=SOAK,
    ),
    pytest.param(
        model(
            "placement", RESHARD, ranges=1, values=1, operations=1, crashes=0, storages="2+3", by_value=False,
            coordination="hash",
        ),
        id="more storages",
        marks=SOAK,
    ),
]  # fmt: skip


@pytest.mark.parametrize("small", WITHOUT_LEASES)
def test_without_leases_nothing_is_reached_that_the_reduced_space_does_not_know(small: Model) -> None:
    """A transaction that has begun finishes, and none begins with the version before: fewer worlds than with leases, so
    what is proved there is proved here, and the plain space says the same by itself."""
    effects = effects_of(small)
    plain, atomic = Plain(effects, fused=True), Atomic(effects)
    worlds = reachable(plain)
    assert what_is_judged(effects, worlds) <= what_is_judged(effects, reachable(atomic))
    assert [plain.faults(world) for world in worlds if plain.faults(world)] == []
    behind = {node.transaction.use for world in worlds for node in world.nodes if node.transaction is not None}
    assert len(behind) > 1, "transactions of several versions were open"


def test_without_leases_no_transaction_begins_with_a_version_that_is_not_accepted() -> None:
    small = model(rows=1, ranges=1, values=1, operations=2, crashes=0, coordination="hash")
    plain = Plain(effects_of(small), fused=True)
    for world in reachable(plain):
        accepted = plain.stops[world.stop].tables[0].accepted
        for step, *_ in plain.steps(world):
            if step[1:] == ("begin",):
                assert world.nodes[int(str(step[0])[1:]) - 1].use[0] >= accepted


RENAMED = [model(kind, operations=2) for kind in ("index", "unique index", "required column")]
RENAMED += [model("unique index", operations=2, partial=True)]


@pytest.mark.parametrize("small", [*RENAMED, foreign_key(moves=True)], ids=lambda small: small.kind_name)
def test_representatives_stand_for_exactly_the_worlds_there_are(small: Model) -> None:
    """Rows, values and nodes renamed: every world's representative is reached, and nothing else is."""
    effects = effects_of(small)
    atomic, symmetry = Atomic(effects), Symmetry(effects)
    everything = {symmetry.least(world) for world in reachable(atomic)}
    assert search(atomic, least=symmetry.least).states == len(everything)
    assert {symmetry.least(world) for world in everything} == everything, "a representative represents itself"


def test_plain_and_reduced_search_agree_on_a_broken_rule() -> None:
    broken = model(rows=1, ranges=1, values=2, operations=1, states="absent,write-only,public")
    effects = Effects(broken)
    plain, atomic = search(Plain(effects)), search(Atomic(effects))
    assert plain.faults[0].clause == atomic.faults[0].clause == "C3"


def test_plain_and_reduced_search_agree_on_a_foreign_key_that_one_table_does_not_know() -> None:
    broken = foreign_key("public+public,absent+public", rows=1, ranges=1, values=1, operations=1, pair=True)
    effects = effects_of(broken)
    plain, atomic = search(Plain(effects)), search(Atomic(effects))
    assert plain.faults == atomic.faults != ()


def test_live_leases_never_span_three_versions() -> None:
    """L2, where leases are part of a state: `leases.rules` guards every publish, and leases may run out at any time."""
    effects = Effects(model(rows=1, ranges=1, values=1, operations=1))
    found = search(Plain(effects, fused=True))
    assert (found.faults, str(found.why_unknown)) == ((), "")
    assert found.seen & Occurrence.FROZEN


PUT_AFTER_A_CANCEL = (
    "given.1 publish.2 n1.acquire publish.3 n1.acquire drain.3 clear fill.read.1.1 cancel publish.4 n1.acquire"
    " n1.begin fill.put.1.1 n1.run.delete.1.0"
)
"""A worker puts after the cancel, unseen by a transaction in delete-only, whose delete then misses the pair."""


def test_a_run_that_is_not_closed_takes_a_step_that_the_reduced_space_lacks_once_a_plan_may_be_cancelled() -> None:
    broken = frozenset({Broken.NO_CLOSE})
    small = model(nodes=1, rows=1, ranges=1, values=1, crashes=0, cancels=True, broken=broken)
    effects = effects_of(small)
    plain, atomic = Plain(effects, fused=True), Atomic(effects)
    steps = parse(plain, PUT_AFTER_A_CANCEL.split(" "))
    *_, before, after = replay(plain, steps)
    assert len(steps) == 14
    assert {fault.clause for fault in plain.faults(after)} == {"C5"}
    world = World(before.stop, before.contents, ((4,),), before.ranges, before.crashes, before.operations)
    assert after.contents not in {there.contents for _, there, _ in atomic.steps(world)}
    assert not fits(small)
    assert fits(model(cancels=True))
    assert fits(model(broken=broken)), "without a cancel no version comes after the fill but the public one"
