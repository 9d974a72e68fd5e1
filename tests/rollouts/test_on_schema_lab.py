"""A rollout on Schema Lab: its planner's versions, two in use at once, and transactions one after the other."""

import re
from pathlib import Path

import pytest

from rollouts.checks import Report, check
from rollouts.file import rollout_of
from rollouts.findings import BROKEN, PROVED, answer_of
from rollouts.lessons.film import played_of
from rollouts.repairs.writing import toml_of
from rollouts.templates import BY_NAME
from rollouts.worlds.model import Model

USERS = """
database = "schema-lab"
tables = "CREATE TABLE users (id bigint PRIMARY KEY, name text)"
[values]
name = ["Ann", "Bob"]
[before]
release = "1"
does.create = "INSERT INTO users (id, name) VALUES (:id, :name)"
does.show = "SELECT name FROM users WHERE id = :id"
"""


def on_lab(text: str) -> str:
    return f'database = "schema-lab"\n{text}'


def steps_of(schema: str) -> list[tuple[str, str]]:
    """The steps of a schema statement, each with what it says."""
    model = Model(rollout_of(f'{USERS}[[deploy]]\nschema = "{schema}"\n'))
    return [(stage.kind, stage.text) for stage in model.stages[:-1]]


def facts(report: Report) -> set[tuple[str, str, str]]:
    return {(one.kind, one.about, one.release) for one in report.counted}


def test_a_column_walks_through_the_planners_states() -> None:
    assert [one for one in steps_of("ALTER TABLE users ADD COLUMN full_name text") if one[0] == "publish"] == [
        ("publish", "column full_name absent -> delete-only"),
        ("publish", "column full_name delete-only -> public"),
    ]
    assert [kind for kind, _ in steps_of("CREATE UNIQUE INDEX by_name ON users (name)")] == [
        "publish", "drain", "publish", "drain", "verify", "publish", "drain",
    ]  # fmt: skip
    assert [kind for kind, _ in steps_of("ALTER TABLE users RENAME COLUMN name TO full_name")] == ["publish", "drain"]


@pytest.mark.parametrize("name", ["rename", "split", "drop-column", "make-nullable", "soft-delete", "change-meaning"])
def test_a_safe_template_is_safe_there_too(name: str) -> None:
    report = check(on_lab(BY_NAME[name].safe))
    assert report.mistake is None, report.mistake
    assert (report.verdict, report.counted) == (PROVED, ())


@pytest.mark.parametrize("name", ["rename", "split", "add-not-null", "unique", "drop-column", "change-meaning"])
def test_a_naive_template_is_broken_there_too(name: str) -> None:
    report = check(on_lab(BY_NAME[name].naive))
    assert report.mistake is None, report.mistake
    assert report.verdict == BROKEN


def test_a_rename_is_refused_by_one_server_while_another_takes_it() -> None:
    """Two versions are in use: release 1 is refused on one server, release 2 on the other."""
    text = f'{USERS}[[deploy]]\nschema = "ALTER TABLE users RENAME COLUMN name TO full_name"\n'
    trace = next(one for one in check(text).counted if one.operation == "create")
    assert str(trace.frames[-1].text).endswith("on a server with the newer version of the schema")
    model = answer_of(rollout_of(text)).model
    world = model.start()
    published = next(outcome for step, outcome in model.steps(world) if step.kind == "publish")
    creates = {
        step.under: type(outcome).__name__
        for step, outcome in model.steps(published)  # type: ignore[arg-type]
        if step.operation == "create"
    }
    assert creates == {"older": "World", "newer": "Fault"}


def test_a_race_inside_of_a_transaction_disappears() -> None:
    """A backfill that reads, then writes: READ COMMITTED loses what was changed between, SERIALIZABLE does not."""
    plain = "UPDATE users SET full_name = name WHERE id = :id AND full_name IS DISTINCT FROM name"
    reads = '["SELECT name AS seen FROM users WHERE id = :id", "UPDATE users SET full_name = :seen WHERE id = :id"]'
    race = BY_NAME["rename"].safe.replace(f'"{plain}"', reads)
    assert {(one.kind, one.about) for one in check(race).counted} == {("lost", "name")}
    assert check(on_lab(race)).verdict == PROVED


def test_a_read_and_a_save_in_two_transactions_still_lose() -> None:
    saves = "['SELECT name AS seen FROM users WHERE id = :id', 'UPDATE users SET name = :seen WHERE id = :id']"
    text = f"{USERS}does.save = {{ autocommit = true, sql = {saves} }}\n"
    text += "does.change = 'UPDATE users SET name = :name WHERE id = :id'\n"
    findings = check(text).findings
    assert [(one.kind, one.is_yours) for one in findings] == [("lost", True)]


def test_writes_are_refused_before_the_rows_are_verified() -> None:
    """On PostgreSQL SET NOT NULL fails at once where a row is NULL. On Schema Lab writes are refused first."""
    deploys = '[[deploy]]\nschema = "ALTER TABLE users ADD COLUMN nick text"\n'
    deploys += '[[deploy]]\nschema = "ALTER TABLE users ALTER COLUMN nick SET NOT NULL"\n'
    report = check(USERS + deploys)
    assert {("fails", "23502", ""), ("refused", "23502", "1")} <= facts(report)
    refused = next(one for one in report.counted if one.kind == "refused")
    assert not any("verified" in str(line) for line in refused.lines)
    postgres = check((USERS + deploys).replace('database = "schema-lab"\n', ""))
    assert {("fails", "23502", ""), ("refused", "23502", "1")} <= facts(postgres)


def test_two_rows_with_one_value_stop_a_unique_index() -> None:
    report = check(f'{USERS}[[deploy]]\nschema = "CREATE UNIQUE INDEX by_name ON users (name)"\n')
    assert ("fails", "23505", "") in facts(report)


def test_a_column_that_is_not_public_is_not_in_an_answer() -> None:
    text = USERS + 'does.all = "SELECT * FROM users WHERE id = :id"\n'
    text += "[[deploy]]\nschema = \"ALTER TABLE users ADD COLUMN nick text DEFAULT 'x'\"\n"
    model = answer_of(rollout_of(text)).model
    assert any("nick (not public)" in stage.schema["users"].names for stage in model.stages)
    names = set()
    for stage in model.stages:
        names |= set(stage.schema["users"].public_names)
    assert names == {"id", "name", "nick"}
    assert check(text).verdict == PROVED


def test_a_new_table_takes_rows_before_it_is_public_everywhere() -> None:
    text = """
database = "schema-lab"
tables = ["CREATE TABLE users (id bigint PRIMARY KEY, name text)", "INSERT INTO users (id, name) VALUES (9, 'Cy')"]
[values]
name = ["Ann", "Bob"]
[before]
release = "1"
does.create = "INSERT INTO users (id, name) VALUES (:id, :name)"
does.show = "SELECT name FROM users WHERE id = :id"
[[deploy]]
schema = ["CREATE TABLE teams (name text PRIMARY KEY)", "INSERT INTO teams (name) VALUES ('red')"]
[[deploy]]
release = "2"
like = "1"
does.create = ["INSERT INTO teams (name) VALUES (:name) ON CONFLICT DO NOTHING", "INSERT INTO users (id, name) VALUES (:id, :name)"]
"""  # noqa: E501
    report = check(text)
    assert report.mistake is None, report.mistake
    assert report.verdict == PROVED
    assert report.answer is not None
    assert played_of(report.answer) is not None
    body = text.split("[[deploy]]")
    swapped = check("[[deploy]]".join([body[0], body[2], body[1]]))
    assert {one.kind for one in swapped.counted} == {"refused"}
    assert all(one.frames for one in swapped.findings)


@pytest.mark.parametrize(
    ("deploy", "why"),
    [
        ('schema = "ALTER TABLE users ALTER COLUMN name TYPE varchar(3)"', "two columns|Schema Lab refuses"),
        ('schema = "DROP TABLE users"', "tables and indexes are created"),
        ('trigger = { on = "users", set = { name = "NEW.name" } }', "Schema Lab has no triggers"),
        ('schema = "ALTER TABLE users ADD COLUMN nick text UNIQUE"', "are two statements|Schema Lab refuses"),
    ],
)
def test_what_is_not_modelled_there_is_refused_by_name(deploy: str, why: str) -> None:
    report = check(f"{USERS}[[deploy]]\n{deploy}\n")
    assert report.verdict == "not modelled"
    assert any(one in str(report.mistake) for one in why.split("|")), report.mistake


def test_the_report_names_the_database() -> None:
    report = check(on_lab(BY_NAME["rename"].safe))
    assert "SERIALIZABLE, two versions of the schema in use" in str(report.bounds)
    assert report.hold_ups == ()
    assert str(report.tried) == "on Schema Lab no statement waits for a schema change"
    assert check(toml_of(rollout_of(on_lab(BY_NAME["rename"].safe)).source)).verdict == PROVED


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "rollouts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BY_NAME)
def test_the_page_says_what_each_naive_form_meets_on_both(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \| ([^|]+) \| ((?:not modelled|[a-z]+ \d+)[^|]*) \|$", PAGE, re.MULTILINE)
    assert row == (shortest(check(BY_NAME[name].naive)), shortest(check(on_lab(BY_NAME[name].naive))))


def shortest(report: Report) -> str:
    """Each kind with the steps of its shortest trace, as the page writes it."""
    steps: dict[str, int] = {}
    for one in report.counted:
        steps.setdefault(one.kind, len(one.frames) - 1)
    return ", ".join(f"{kind} {count}" for kind, count in steps.items()) or report.verdict
