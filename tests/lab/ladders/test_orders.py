"""Every order of tiles of an index and of a unique index: which are safe, which arrive, and what the others do."""

from collections.abc import Mapping

import pytest

from catalog.elements import State
from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.model import BadModel, Model, from_json
from lab.explorer.plans.program import Do, program_of
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.search import Budget
from lab.explorer.variant import stages
from lab.explorer.verdict import Verdict, explore
from lab.explorer.witness import parse, replay
from lab.ladders import runs
from lab.ladders.built_in import ORDERS, orders_of
from lab.ladders.elements import ANOMALIES, marks_of, pairs_of, states_among, tiles_of
from lab.ladders.order import BadOrder, Order, order_from_json
from lab.ladders.verdict import Answered, answer
from lab.questions.goal import DAMAGE
from lab.sessions.as_json import restored, stored

UNHURRIED = Budget()
OF_UNIQUE = ("delete-only", "write-only", "fill", "verify", "public")


def order(*tiles: str, element: str = "index", ground: str = "absent") -> Order:
    return Order(element, ground, tiles)


def ask(*tiles: str, element: str = "index", ground: str = "absent") -> Answered:
    return answer(order(*tiles, element=element, ground=ground), budget=UNHURRIED)


def safe_orders(element: str) -> Mapping[tuple[str, ...], Answered]:
    found = {one.tiles: answer(one, budget=UNHURRIED) for one in orders_of(element)}
    assert all(one.verdict is not Verdict.UNKNOWN for one in found.values())
    return {tiles: one for tiles, one in found.items() if one.verdict is Verdict.PROVED}


def test_of_64_orders_of_an_index_nine_are_safe_and_one_arrives() -> None:
    assert len(list(orders_of("index"))) == 64
    safe = safe_orders("index")
    assert len(safe) == 9
    ladder = ("delete-only", "write-only", "fill", "public")
    assert [tiles for tiles, one in safe.items() if one.arrives] == [ladder]
    assert safe[ladder].states == 2230
    assert [tiles for tiles, one in safe.items() if one.is_finished] == [ladder]


@pytest.mark.soak
def test_of_325_orders_of_a_unique_index_forty_are_safe_five_of_which_never_arrive() -> None:
    assert len(ORDERS) == 64 + 325
    safe = safe_orders("unique-index")
    assert len(safe) == 40
    assert sum(one.is_finished for one in safe.values()) == 6
    assert [tiles for tiles, one in safe.items() if one.arrives] == [OF_UNIQUE]


NEVER = [
    ("delete-only", "write-only", "verify", "public"),
    ("delete-only", "write-only", "verify", "fill", "public"),
    ("delete-only", "write-only", "verify", "public", "fill"),
    ("delete-only", "fill", "write-only", "verify", "public"),
    ("fill", "delete-only", "write-only", "verify", "public"),
]


@pytest.mark.parametrize("tiles", NEVER, ids=" ".join)
def test_safe_but_never_there(tiles: tuple[str, ...]) -> None:
    """Verification stops it on every table that has a row: without the fill, before it, or after one too early."""
    found = ask(*tiles, element="unique-index")
    assert (found.verdict, found.is_finished, found.arrives) == (Verdict.PROVED, True, False)
    assert str(found.runs[0].frames[-1].sentence).startswith("Verification fails.")


def test_the_order_of_all_five_tiles_arrives() -> None:
    found = ask(*OF_UNIQUE, element="unique-index")
    assert (found.verdict, found.arrives) == (Verdict.PROVED, True)


def test_tiles_are_what_a_planner_by_hand_writes_where_the_order_is_the_right_one() -> None:
    by_hand = Model(ORDERS[0].model.kind, stages("absent,delete-only,write-only,public"))
    in_order = order("delete-only", "write-only", "fill", "public").model
    assert program_of(in_order) == program_of(by_hand)
    assert explore(in_order).states == explore(by_hand).states


def test_work_waits_for_a_drain_and_the_end_drains_and_purges() -> None:
    stops = [stop.do for stop in program_of(order("fill", "delete-only", "fill", "public").model).stops]
    begun = stops[: stops.index(Do.END)]
    assert begun == [*(Do.CLEAR, Do.FILL, Do.PUBLISH, Do.DRAIN, Do.CLEAR, Do.FILL, Do.PUBLISH, Do.DRAIN, Do.PURGE)]


def test_the_version_that_a_fill_stands_on_is_filling() -> None:
    program = program_of(order("delete-only", "fill", "write-only").model)
    filling = [any(index.filling for index in one.indexes) for one in program.descriptors]
    assert filling == [False, True, False]


def test_a_model_of_tiles_is_what_its_json_says() -> None:
    model = order("write-only", "fill", "public").model
    assert from_json(model.to_json()) == model
    assert "tiles" not in Model(model.kind, model.stages).to_json()


@pytest.mark.parametrize(("tiles", "road"), [(("fill", "public"), "absent,write-only"), (("fill",) * 13, "absent")])
def test_tiles_are_the_versions_of_the_model(tiles: tuple[str, ...], road: str) -> None:
    with pytest.raises(BadModel):
        Model(order("public").model.kind, stages(road), tiles=tiles)


# What is played


def test_the_predicted_damage_is_played_where_the_order_can_do_it() -> None:
    found = ask("public")
    assert set(found.anomalies) == {"orphan", "missing"}
    for predicted in ("orphan", "missing"):
        run = found.played(predicted)
        assert run is not None
        assert run.anomaly == predicted
    assert found.played("none") == found.runs[0]


@pytest.mark.parametrize("tiles", [("delete-only", "public", "fill"), ("delete-only", "fill", "public")], ids=" ".join)
def test_the_run_shows_why_the_mark_said_no(tiles: tuple[str, ...]) -> None:
    """A late fill would do the same damage; here it is the server one version behind that does."""
    run = ask(*tiles).runs[0]
    assert run.anomaly == "missing"
    written = next(frame for frame in run.frames if "inserts" in str(frame.sentence))
    assert (written.actor, str(written.sentence)) == (
        "n1",
        "n1 inserts row 1, a = 1. For it by_a is delete-only: it puts no entry.",
    )
    assert run.frames[-1].marks == (("missing", "1>1"),)
    assert "n2 leases v3 and queries by the index" in str(run.frames[-1].sentence)


def test_an_orphan_is_told_in_words_of_a_class() -> None:
    run = ask("write-only", "fill", "public").runs[0]
    assert [str(frame.sentence) for frame in run.frames] == [
        "Both servers use v1: by_a is absent. The table is empty.",
        "The publisher publishes v2: by_a is write-only.",
        "n2 leases v2.",
        "n2 inserts row 1, a = 1. For it by_a is write-only: it puts the entry, too.",
        "n1 deletes row 1. It does not know by_a, so the entry stays.",
    ]
    last = run.frames[-1]
    assert (last.left, [str(one.text) for one in last.right]) == ((), ["1 → row 1"])
    assert (last.marks, dict(last.uses)) == ((("orphan", "1>1"),), {"n1": -1, "n2": 0})
    assert all(not frame.marks for frame in run.frames[:-1])


def test_a_safe_order_shows_each_state_at_work() -> None:
    found = ask("delete-only", "write-only", "fill", "public")
    said = [str(frame.sentence) for frame in found.runs[0].frames]
    assert "n2 inserts row 2, a = 2. For it by_a is write-only: it puts the entry, too." in said
    assert "n1 deletes row 2. For it by_a is delete-only: it removes the entry, too." in said
    assert "The fill reads row 1 and puts the entry." in said
    assert said[-1] == "A query under v4 reads the index and finds row 1."


@pytest.mark.parametrize("one", [*orders_of("index")][::5], ids=lambda one: " ".join(one.tiles))
def test_every_run_is_one_and_ends_with_the_damage_that_it_names(one: Order) -> None:
    plain = Plain(effects_of(one.model))
    for run in answer(one, budget=UNHURRIED).runs:
        config = replay(plain, parse(plain, run.steps))[-1]
        broken = DAMAGE.of(plain.faults(config), plain.stops[config.stop].newest)
        assert run.anomaly in {"", *(ANOMALIES[fault.clause] for fault in broken)}
        assert bool(run.anomaly) == bool(run.frames[-1].marks)
        assert [frame.tile for frame in run.frames if not -1 <= frame.tile < len(one.tiles)] == []


def test_nodes_are_named_as_in_the_chapters() -> None:
    """The server that leases a new version first is n2."""
    for one in [*orders_of("index")][::7]:
        for run in answer(one, budget=UNHURRIED).runs:
            first = next((step for step in run.steps if step.endswith(".acquire")), "n2.acquire")
            assert first == "n2.acquire"


def test_an_answer_is_what_its_json_says() -> None:
    for found in (ask("public"), ask("delete-only", "write-only", "fill", "public")):
        assert restored(Answered, stored(found)) == found


def test_what_was_tried_is_counted_by_distance_and_version() -> None:
    found = ask("write-only", "fill", "public")
    assert (found.states, found.tried) == (22, ((4, 0), (0, 4), (0, 13), (0, 1)))
    safe = ask("delete-only", "write-only", "fill", "public")
    assert sum(map(sum, safe.tried)) == safe.states


def test_the_budget_is_one_for_all_that_is_asked() -> None:
    found = answer(order("delete-only", "write-only", "fill", "public"), budget=Budget(states=300))
    assert (found.verdict, found.runs) == (Verdict.UNKNOWN, ())


@pytest.mark.parametrize(
    ("element", "ground", "tiles", "anomaly"),
    [
        ("optional-column", "public", ("absent",), "left-over"),
        ("required-column", "absent", ("delete-only", "public"), "unset"),
        ("placement", "public+absent", ("public+delete-only", "delete-only+public"), "lost"),
        ("constraint", "absent", ("public",), "duplicate"),
        ("unique-index", "absent", ("delete-only", "write-only", "fill", "public"), "duplicate"),
    ],
)
def test_other_elements_have_damage_of_their_own(
    element: str, ground: str, tiles: tuple[str, ...], anomaly: str
) -> None:
    found = ask(*tiles, element=element, ground=ground)
    assert anomaly in found.anomalies
    run = found.played(anomaly)
    assert run is not None
    assert run.anomaly == anomaly
    assert run.frames


@pytest.mark.parametrize(
    ("element", "ground", "tiles"),
    [
        ("optional-column", "public", ("delete-only", "delete", "absent")),
        ("required-column", "absent", ("delete-only", "write-only", "fill", "public")),
        ("index", "public", ("write-only", "delete-only", "delete", "absent")),
        ("constraint", "absent", ("write-only", "verify", "public")),
    ],
)
def test_other_ladders_arrive(element: str, ground: str, tiles: tuple[str, ...]) -> None:
    assert ask(*tiles, element=element, ground=ground).arrives


# Tiles and marks


def test_the_tray_is_in_no_right_order() -> None:
    assert tiles_of("index", "absent") == ("delete-only", "fill", "public", "write-only")
    assert tiles_of("unique-index", "absent") == ("delete-only", "fill", "public", "verify", "write-only")
    assert tiles_of("optional-column", "public") == ("absent", "delete", "delete-only", "write-only")


def test_marks_come_from_the_pairs_of_states() -> None:
    """Every unsafe pair of an index, and no other, has a mark that says so."""
    model = order("delete-only", "write-only", "public").model
    found = pairs_of(model, [*model.stages])
    assert {pair for pair, ok in found.items() if not ok} == {
        "absent|public",
        "absent|write-only",
        "delete-only|public",
    }
    assert [(mark.at, mark.ok) for mark in marks_of(order("write-only", "fill", "public").model)] == [
        (0, False),
        (2, True),
    ]


def test_two_homes_are_compatible_as_section_4_says() -> None:
    model = order("public+delete-only", element="placement", ground="public+absent").model
    found = pairs_of(model, states_among(["public+write-only", "write-only+public", "delete-only+public"]))
    assert {pair for pair, ok in found.items() if not ok} == {"delete-only+public|public+write-only"}


def test_a_pair_that_is_compatible_has_no_run_of_its_own() -> None:
    model = order("delete-only", "write-only", "public").model
    plain = Plain(effects_of(model))
    assert [runs.for_pair(plain, version) for version in (2, 3, 4)] == [(), (), ()]
    assert State.PUBLIC in model.stages[-1]


# From anybody


@pytest.mark.parametrize(
    "change",
    [
        {"tiles": []},
        {"tiles": ["public"] * 13},
        {"tiles": [7]},
        {"tiles": "public"},
        {"tiles": None},
        {"tiles": ["sideways"]},
        {"tiles": ["x" * 61]},
        {"tiles": ["public", "public"]},
        {"element": "elephant"},
        {"element": 7},
        {"element": ""},
        {"ground": "sideways"},
        {"rows": "all"},
        {"rows": [1]},
        {"rows": [1, 99]},
        {"rows": [1, None]},
        {"nodes": 7},
        {"nodes": True},
    ],
    ids=str,
)
def test_an_order_from_anybody_is_checked(change: dict[str, object]) -> None:
    body: dict[str, object] = {"element": "index", "ground": "absent", "tiles": ["public"]}
    assert order_from_json(body).tiles == ("public",)
    with pytest.raises(BadOrder):
        order_from_json(body | change)
