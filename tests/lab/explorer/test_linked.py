"""A foreign key between two tables: who asks, who waits, and what is told of it."""

import pytest

from lab.diagrams.traces import picture_of_answer
from lab.explorer.contents.foreign_keys import LinkedEffects, effects_of
from lab.explorer.contents.numbered import Occurrence
from lab.explorer.contents.statements import DELETE_PARENT, INSERT, INSERT_PARENT, Statement
from lab.explorer.model import Model
from lab.explorer.narration import narrate
from lab.explorer.plans.program import Do
from lab.explorer.plans.small_tables import CHILD, row_key_of
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import Config
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.search import search
from lab.explorer.variants import all_variants
from storage.pairs import column_key, prefix
from tests.lab.explorer.models import answer_to, foreign_key, model, stand, whys

BOTH_PUBLIC = "write-only+write-only,public+public"


def run(plain: Plain, config: Config, *steps: tuple[object, ...]) -> Config:
    for step in steps:
        assert plain.hindrance(config, step) is None, step
        config = plain.after(config, step)[0]
    return config


def transaction(name: str, statement: Statement) -> list[tuple[object, ...]]:
    row = ("parent", statement[1]) if statement[0] in (INSERT_PARENT, DELETE_PARENT) else (statement[1],)
    return [(name, "read", *row), (name, "write", statement)]


def race(small: Model, first: Statement, second: Statement) -> str:
    """Why `second` may not commit: it was written when nothing hindered it, and `first` committed meanwhile."""
    plain = Plain(effects_of(small))
    there = [("n1", "begin"), *transaction("n1", (INSERT_PARENT, 1, 1)), ("n1", "commit")]
    begun = run(plain, plain.start(), *there, ("n1", "begin"), ("n2", "begin"))
    both = run(plain, begun, *transaction("n1", first), *transaction("n2", second), ("n1", "commit"))
    return str(plain.why_not(both, ("n2", "commit")) or "")


REFERS, GOES = (INSERT, 1, 1), (DELETE_PARENT, 1, 0)


@pytest.mark.parametrize(("first", "second"), [(REFERS, GOES), (GOES, REFERS)], ids=["row first", "parent first"])
def test_of_a_row_and_the_removal_of_its_parent_one_commits(first: Statement, second: Statement) -> None:
    small = foreign_key(BOTH_PUBLIC, rows=1, values=1, ranges=1, pair=True)
    assert race(small, first, second) != ""
    unguarded = foreign_key(BOTH_PUBLIC, rows=1, values=1, ranges=1, pair=True, broken=frozenset({Broken.SNAPSHOT}))
    assert race(unguarded, first, second) == ""


@pytest.mark.parametrize(
    ("stage", "row_is_refused", "parent_is_kept"),
    [
        pytest.param("absent+absent", False, False, id="nobody knows it"),
        pytest.param("write-only+absent", True, False, id="the child alone"),
        pytest.param("absent+write-only", False, True, id="the parent alone"),
        pytest.param("write-only+write-only", True, True, id="both"),
        pytest.param("public+public", True, True, id="both, public"),
    ],
)
def test_each_table_asks_by_its_own_version(stage: str, *, row_is_refused: bool, parent_is_kept: bool) -> None:
    other = "public+absent" if stage != "public+absent" else "absent+absent"
    effects = effects_of(foreign_key(f"{stage},{other}", rows=2, values=1))
    assert isinstance(effects, LinkedEffects)
    schema = effects.program.stops[0].schema((1, 1))
    nothing = effects.first_contents()[0]
    refused = effects.effect(nothing, schema, REFERS) is None
    there = effects.effect(nothing, schema, (INSERT_PARENT, 1, 1))
    assert there is not None
    referring = effects.effect(there.after, schema, REFERS)
    assert referring is not None
    kept = effects.effect(referring.after, schema, GOES) is None
    assert (refused, kept) == (row_is_refused, parent_is_kept)
    assert bool(effects.refused(nothing, schema) & Occurrence.CHILD_REFUSED) == row_is_refused
    assert bool(effects.refused(referring.after, schema) & Occurrence.PARENT_REFUSED) == parent_is_kept


def test_both_tables_are_waited_for() -> None:
    """L11: one publish, one drain, and the conditions of every table."""
    lone = ["publish.2", "n1.acquire.child", "n1.acquire.parent", "n2.acquire.child"]
    why = whys(foreign_key(), lone)
    assert why["drain.2"] == "n2 still leases parent@1"
    assert why["n2.acquire.child"] == "n2 leases version 2 of child already"
    assert why["n2.acquire.parent"] == ""
    why = whys(foreign_key(), ["n1.begin", "n1.expire", "publish.2"])
    assert why["drain.2"] == (
        "n2 still leases child@1, a transaction of child@1 is still open, "
        "n2 still leases parent@1, a transaction of parent@1 is still open"
    )


def test_a_table_that_does_not_change_gets_no_version() -> None:
    stops = effects_of(foreign_key("absent+absent,write-only+absent,write-only+write-only,public+public")).program.stops
    assert [table.newest for table in stops[1].tables] == [2, 1]
    end = next(stop for stop in stops if stop.do is Do.END)
    assert [table.newest for table in end.tables] == [4, 3]


@pytest.mark.soak
def test_leases_of_neither_table_span_three_versions() -> None:
    effects = effects_of(foreign_key(rows=1, ranges=1, values=1, operations=1))
    found = search(Plain(effects, fused=True))
    assert (found.faults, str(found.why_unknown)) == ((), "")
    assert found.seen & Occurrence.FROZEN
    assert found.seen & Occurrence.TABLES_APART


def test_rows_that_cannot_be_there_are_not_given() -> None:
    refused = stand(foreign_key("public+public,write-only+write-only"), ["given.-.-.1.-"]).refused
    assert refused is not None
    assert str(refused.why) == "such rows cannot be there"
    assert stand(foreign_key("public+public,write-only+write-only"), ["given.1.-.1.-"]).refused is None


def test_the_story_names_both_tables() -> None:
    answer = answer_to("foreign-key-drained-in-child-only")
    assert answer.sentences[5:8] == [
        "child@2 is drained: no transaction uses an older version",
        "verification passes",
        "n2 begins a transaction as child@2, parent@1: child_a_fkey is write-only in child, absent in parent",
    ]
    assert answer.sentences[10] == (
        "n2 commits as child@2, parent@1: - parent 1; "
        "parent@1 does not know child_a_fkey: references to parent 1 are not checked"
    )


def test_changes_of_key_are_reported() -> None:
    plain = Plain(effects_of(foreign_key(moves=True)))
    steps = [("given", 1, "-", "-", "-"), ("n1", "begin"), *transaction("n1", ("move-parent", 1, 2)), ("n1", "commit")]
    steps[2] = ("n1", "read", "parent", 1)
    assert list(map(str, narrate(plain, steps))) == [
        "at first there is parent 1",
        "n1 begins a transaction as child@1, parent@1: child_a_fkey is absent",
        "n1 reads parent 1",
        "n1 changes the key of parent 1 to 2",
        "n1 commits as child@1, parent@1: - parent 1, + parent 2; "
        "parent@1 does not know child_a_fkey: references to parent 1 are not checked",
    ]


def test_the_state_of_a_column_that_moves_is_reported() -> None:
    answer = answer_to("foreign-key-of-column-in-child-only")
    assert answer.sentences[6:8] == [
        "n2 leases child@3: column a is write-only, child_a_fkey is write-only",
        "child@3 is drained: no transaction uses an older version",
    ]


def test_a_missing_value_refers_to_what_the_fill_will_put() -> None:
    """While a required column is filled, the parent of its fill value is kept though no row has a pair yet."""
    small = model("required column+foreign key", "public+public+public,write-only+write-only+write-only", ranges=1)
    effects = effects_of(small)
    assert isinstance(effects, LinkedEffects)
    stop = next(stop for stop in effects.program.stops if stop.newest == 2)
    there = effects.effect(effects.first_contents()[0], stop.schema((1, 1)), (INSERT_PARENT, 1, 1))
    assert there is not None
    row_alone = effects.number([{**effects.known[there.after].storages()[0], **exists_of_row_1(effects)}], ())
    assert effects.effect(row_alone, stop.schema((2, 2)), GOES) is None


def exists_of_row_1(effects: LinkedEffects) -> dict[bytes, bytes | None]:
    """The pair that says that row 1 is there, and no other."""
    child = effects.tables[CHILD]
    return {column_key(prefix(child, child.placement.id), row_key_of(1)): b""}


def test_the_picture_has_a_lane_for_each_table() -> None:
    picture = picture_of_answer(answer_to("foreign-key-not-serializable"))
    lanes = [picture.count(f">{lane}<") for lane in ("n1", "n2", "child", "parent", "store")]
    assert [bool(lane) for lane in lanes] == [True, True, True, True, False]


def test_every_expectation_of_the_protocol_about_foreign_keys_has_a_variant() -> None:
    found = {name: variant.breaks for name, variant in all_variants().items() if "foreign-key" in name}
    assert len(found) == 36
    assert set(found.values()) == {"", "C6"}
