"""A session over a rollout: steps by their names, faults that stay, columns in states, and what is refused."""

import pytest

from lab.sessions.replay import new_session, show
from lab.sessions.session import STEPS_MAX, BadSession, Session
from lab.sessions.shown import SessionView, Severity
from rollouts.lessons import plans
from rollouts.lessons.steps import ids_of, steps_by_id
from rollouts.worlds.world import World

AT_ONCE = {"rollout": "rename-at-once"}
ORDERS = [
    ("rename-at-once", ()),
    ("rename-beside", ("add", "copy", "start", "gone", "read")),
    ("rename-beside", ("add", "start", "copy", "gone", "read")),
    ("split", ("add", "both", "copy-null", "read")),
    ("rename", ("add", "both", "read")),
    ("rename", ("add", "both", "copy", "read", "new")),
]
READ_AND_SAVE = """
tables = "CREATE TABLE users (id bigint PRIMARY KEY, name text)"
[values]
name = ["Ann", "Bob"]
[before]
release = "1"
does.create = "INSERT INTO users (id, name) VALUES (:id, :name)"
does.save = ["SELECT name AS seen FROM users WHERE id = :id", "UPDATE users SET name = :name WHERE id = :id"]
does.touch = ["SELECT name AS seen FROM users WHERE id = :id", "UPDATE users SET name = :seen WHERE id = :id"]
does.show = "SELECT name FROM users WHERE id = :id"
[[deploy]]
schema = "ALTER TABLE users ADD COLUMN full_name text"
"""


def shown(*steps: str, **parameters: object) -> SessionView:
    return show(Session("rollout", parameters, steps=steps))  # type: ignore[arg-type]


def verdicts(of: SessionView) -> list[tuple[str, int, Severity]]:
    return [(one.clause, one.version, one.severity) for one in of.verdicts]


def test_a_rename_at_once_refuses_the_old_release() -> None:
    found = shown("deploy.1.schema", "r1.create.1.Ann", **AT_ONCE)
    assert verdicts(found) == [("refused", 1, Severity.DAMAGE)]
    assert "42703" in str(found.verdicts[0].why)
    assert next(one.cells for one in found.strip if one.clause == "refused") == (
        Severity.HOLDS,
        Severity.HOLDS,
        Severity.DAMAGE,
    )
    assert found.cluster.pairs == ()


def test_a_fault_stays_and_the_session_goes_on() -> None:
    found = shown("deploy.1.schema", "r1.create.1.Ann", "deploy.2.starts", "r2.create.1.Bob", **AT_ONCE)
    assert found.refused is None
    assert verdicts(found) == [("refused", 1, Severity.DAMAGE)]
    assert [(pair.key, pair.value) for pair in found.cluster.pairs if pair.sort == "value"] == [("full_name", "Bob")]


def test_a_column_has_a_state_under_each_release() -> None:
    steps = ("deploy.1.schema", "deploy.2.starts", "deploy.2.gone", "backfill.1")
    found = shown(
        *("deploy.1.schema", "deploy.2.starts", "deploy.2.gone", "r2.create.1.Ann", "backfill.1"), rollout="rename"
    )
    assert found.refused is None, steps
    states = [{one.name: one.state for one in version.elements} for version in found.cluster.versions]
    assert states == [{"name": "public", "full_name": "absent"}, {"name": "public", "full_name": "write-only"}]


def test_the_ladder_of_a_column_and_its_mirror() -> None:
    model = plans.model_of("rename", "", ())
    world, names = model.start(), list[str]()
    while world.stage + 1 < len(model.stages):
        found = steps_by_id(model, world)
        name, (_, outcome) = next((one, it) for one, it in found.items() if one.startswith(("deploy.", "backfill.")))
        assert isinstance(outcome, World), name
        world = outcome
        names.append(name)
    versions = shown(*names, rollout="rename").cluster.versions
    assert [one.elements[0].state for one in versions] == ["public", "public", "write-only", "absent"]
    assert [one.elements[1].state for one in versions] == ["absent", "write-only", "public", "public"]
    assert [one.number for one in versions if one.is_in_force] == [4]


def test_servers_change_over_one_after_the_other() -> None:
    leases = [
        [node.leases[0].version for node in shown(*steps, rollout="rename").cluster.nodes]
        for steps in (
            ("deploy.1.schema",),
            ("deploy.1.schema", "deploy.2.starts"),
            ("deploy.1.schema", "deploy.2.starts", "deploy.2.gone"),
        )
    ]
    assert leases == [[1, 1], [1, 2], [2, 2]]


@pytest.mark.parametrize(("lesson", "deploys"), ORDERS)
def test_the_explorers_traces_are_sessions(lesson: str, deploys: tuple[str, ...]) -> None:
    answer = plans.explored(lesson, deploys)
    assert answer.counted
    for finding in answer.counted:
        found = shown(*ids_of(answer.model, finding), rollout=lesson, deploys=list(deploys))
        assert found.refused is None
        assert [one.clause for one in found.verdicts] == [finding.kind]
        assert {row.clause: row.cells[-1] for row in found.strip}[finding.kind] is Severity.DAMAGE
        assert all(cell is Severity.HOLDS for row in found.strip for cell in row.cells[:-1])


def test_all_steps_of_a_world_have_different_names() -> None:
    model = plans.model_of("", READ_AND_SAVE, ())
    worlds, seen = [model.start()], {model.start()}
    while worlds:
        world = worlds.pop()
        steps = list(model.steps(world))
        assert len(steps_by_id(model, world)) == len(steps)
        for _, outcome in steps:
            if isinstance(outcome, World) and outcome not in seen:
                seen.add(outcome)
                worlds.append(outcome)
    assert len(seen) > 50


def test_an_offer_does_not_say_what_a_read_will_answer() -> None:
    found = shown("deploy.1.schema", "r1.create.1.Ann", rollout="rename")
    labels = {one.id: str(one.label) for one in found.offers}
    assert "Ann" not in labels["r1.show.1"]
    assert labels["r1.show.1"] == "release 1: show(id = 1)"
    after = shown("deploy.1.schema", "r1.create.1.Ann", "r1.show.1", rollout="rename")
    assert str(after.trace[-1].text) == "release 1: show(id = 1) gives name = Ann"


def test_a_step_that_waits_says_for_what() -> None:
    begun = ("r1.create.1.Ann", "r1.save.1.Bob:1", "r1.save.1.Bob:2")
    found = shown(*begun, "r1.touch.1:1", text=READ_AND_SAVE)
    offer = next(one for one in found.offers if one.id == "r1.touch.1:2")
    assert "waits for a lock on users 1" in str(offer.why_not)
    assert [one.did for one in found.cluster.nodes[0].transactions]
    refused = shown(*begun, "r1.touch.1:1", "r1.touch.1:2", text=READ_AND_SAVE).refused
    assert refused is not None
    assert (refused.at, str(refused.why)) == (4, str(offer.why_not))


def test_what_the_application_does_without_a_rollout_is_danger() -> None:
    """A read, then a save of what was read: a lost update by one release alone."""
    found = shown(
        "r1.create.1.Ann", "r1.touch.1:1", "r1.save.1.Bob:1", "r1.save.1.Bob:2", "r1.save.1.Bob:commit",
        "r1.touch.1:2", "r1.touch.1:commit", "r1.show.1", text=READ_AND_SAVE,
    )  # fmt: skip
    assert found.refused is None
    assert verdicts(found) == [("lost", 1, Severity.DANGER)]


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"rollout": "nothing"}, "it is one of rename"),
        ({"deploys": ["add", "nothing"]}, "deploys are add, both, copy"),
        ({"deploys": ["add", "add"]}, "each at most once"),
        ({"deploys": ["add", "start"]}, "deploys are add, both"),
        ({"rollout": "rename-beside", "deploys": ["add", "start", "read"]}, "release '1' still runs beside '2'"),
        ({"text": "tables = 1"}, "values is missing"),
        ({"text": READ_AND_SAVE.replace("SELECT name", "SELECT now()")}, "now"),
    ],
)
def test_a_session_that_is_none_says_why(parameters: dict[str, object], why: str) -> None:
    with pytest.raises(BadSession, match=why):
        shown(**parameters)


def test_a_step_that_is_not_there_ends_the_session() -> None:
    found = shown("deploy.1.schema", "r9.create.1.Ann", rollout="rename")
    assert found.refused is not None
    assert (found.refused.at, str(found.refused.why)) == (1, "there is no such step here")
    assert len(found.trace) == 1


def test_a_new_session_begins_with_the_first_deploy() -> None:
    assert new_session("rollout").steps == ("deploy.1.schema",)
    assert new_session("rollout", {"rollout": "split"}).steps == ()


def test_going_back_keeps_the_future() -> None:
    session = Session("rollout", AT_ONCE, steps=("deploy.1.schema", "r1.create.1.Ann"))
    found = show(session, 1)
    assert (found.at, len(found.trace), found.verdicts) == (1, 2, ())
    assert all(len(row.cells) == 3 for row in found.strip)


def test_the_longest_session_is_shown_at_once() -> None:
    steps = ("r1.create.1.Ann", *(["r1.show.1", "r1.change.Bob.1", "r1.change.Ann.1"] * 67))[:STEPS_MAX]
    found = shown(*steps, rollout="rename")
    assert (len(found.trace), found.refused, found.verdicts) == (STEPS_MAX, None, ())
