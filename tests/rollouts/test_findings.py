"""Known rollouts: what is found in the naive form, by the shortest trace, and that the safe form is proved."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rollouts.checks import check
from rollouts.command import main
from rollouts.file import FileMistake, rollout_of
from rollouts.findings import BROKEN, PROVED, Answer, answer_of
from rollouts.narration import Narrator
from rollouts.repairs.both import MergedOperation, NoMerge
from rollouts.repairs.search import repair_of
from rollouts.statements.errors import NotModelled
from rollouts.statements.reading import statement_of
from rollouts.templates import BY_NAME

HEAD = """
tables = "CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL)"
[values]
name = ["Ann", "Bob"]
[before]
release = "1"
does.create = "INSERT INTO users (id, name) VALUES (:id, :name)"
does.rename = "UPDATE users SET name = :name WHERE id = :id"
does.show   = "SELECT name FROM users WHERE id = :id"
"""
ADD = """
[[deploy]]
schema = "ALTER TABLE users ADD COLUMN full_name text"
"""
BOTH = """
[[deploy]]
release = "2 writes both"
does.create = "INSERT INTO users (id, name, full_name) VALUES (:id, :name, :name)"
does.rename = "UPDATE users SET name = :name, full_name = :name WHERE id = :id"
does.show   = "SELECT name FROM users WHERE id = :id"
"""
READS_NEW = """
[[deploy]]
release = "3 reads new"
like = "2 writes both"
does.show = "SELECT full_name AS name FROM users WHERE id = :id"
"""
NEW_ONLY = """
[[deploy]]
schema = "ALTER TABLE users ALTER COLUMN name DROP NOT NULL"
[[deploy]]
release = "4 new only"
does.create = "INSERT INTO users (id, full_name) VALUES (:id, :name)"
does.rename = "UPDATE users SET full_name = :name WHERE id = :id"
does.show   = "SELECT full_name AS name FROM users WHERE id = :id"
[[deploy]]
schema = "ALTER TABLE users DROP COLUMN name"
"""


def backfill(where: str) -> str:
    return f'\n[[deploy]]\nbackfill = "UPDATE users SET full_name = name WHERE id = :id AND {where}"\n'


DISTINCT = backfill("full_name IS DISTINCT FROM name")
SAFE = HEAD + ADD + BOTH + DISTINCT + READS_NEW + NEW_ONLY


def kinds(answer: Answer) -> set[tuple[str, str]]:
    return {(one.kind, one.release) for one in answer.counted}


def first_trace(answer: Answer, kind: str) -> list[str]:
    finding = next(one for one in answer.counted if one.kind == kind)
    return [str(text) for text in Narrator(answer.model).trace(finding)]


@pytest.mark.parametrize("rows", [1, 2])
def test_the_safe_rename_is_proved(rows: int) -> None:
    answer = answer_of(rollout_of(SAFE), rows=rows)
    assert answer.verdict == PROVED
    occurred = {str(text) for text in Narrator(answer.model).occurred(answer.outcome)}
    assert "a backfill met a row that a release had already written" in occurred
    assert "release 1 read what another release had written" in occurred


def test_a_rename_at_once_refuses_the_old_release() -> None:
    renamed = '[[deploy]]\nschema = "ALTER TABLE users RENAME COLUMN name TO full_name"\n'
    answer = answer_of(rollout_of(HEAD + renamed))
    assert answer.verdict == BROKEN
    assert first_trace(answer, "refused") == [
        "deploy 1: ALTER TABLE users RENAME COLUMN name TO full_name",
        "release 1: create(id = 1, name = Ann)",
    ]


def test_a_backfill_of_null_alone_loses_what_the_old_release_wrote() -> None:
    answer = answer_of(rollout_of(HEAD + ADD + BOTH + backfill("full_name IS NULL") + READS_NEW))
    assert kinds(answer) == {("lost", "3 reads new")}
    assert first_trace(answer, "lost")[2:] == [
        "release 2 writes both: create(id = 1, name = Ann)",
        "release 1: rename(name = Bob, id = 1)",
        "deploy 2: release 1 is gone",
        "deploy 3: the backfill passes row 1 by",
        "deploy 4: release 3 reads new starts beside release 2 writes both",
        "release 3 reads new: show(id = 1) gives name = Ann",
    ]


def test_a_backfill_before_both_are_written_lets_a_later_deploy_fail() -> None:
    required = '\n[[deploy]]\nschema = "ALTER TABLE users ALTER COLUMN full_name SET NOT NULL"\n'
    answer = answer_of(rollout_of(HEAD + ADD + DISTINCT + BOTH + required + READS_NEW))
    assert ("fails", "") in kinds(answer)
    assert first_trace(answer, "fails")[-1] == "deploy 4: ALTER TABLE users ALTER COLUMN full_name SET NOT NULL"


def test_the_missing_order_is_found_by_trying() -> None:
    answer = answer_of(rollout_of(HEAD + ADD + DISTINCT + BOTH + READS_NEW))
    repair = repair_of(answer)
    assert repair is not None
    assert repair.answer.verdict == PROVED
    assert str(repair.what) == "move deploy 2 to place 3"


REPAIRED = {
    "rename": "write both between release 1 and 2",
    "split": "let backfill 3 say first IS DISTINCT FROM",
    "merge": "write both between release 1 and 2 new only",
    "add-not-null": "move deploy 1 to place 3 and",
    "drop-column": "deploy ALTER TABLE users ALTER COLUMN nick DROP NOT NULL before deploy 1",
}


@pytest.mark.parametrize("name", [*REPAIRED, "change-meaning", "change-type"])
def test_the_naive_form_of_a_template_is_repaired_or_nothing_is_said(name: str) -> None:
    report = check(BY_NAME[name].naive, repair=True)
    if name not in REPAIRED:
        assert report.repair is None
        return
    assert report.repair is not None
    assert str(report.repair.what).startswith(REPAIRED[name])
    again = check(report.repair.text)
    assert (again.verdict, again.worlds) == (PROVED, report.repair.answer.outcome.worlds)


def test_a_deploy_that_always_fails_ends_the_plan_and_the_search_for_a_repair() -> None:
    """The old column is dropped first: a later deploy names it, and no release behind that one is reached."""
    _, *deploys = BY_NAME["rename"].safe.split("[[deploy]]")
    head = BY_NAME["rename"].safe.split("[[deploy]]")[0]
    report = check("[[deploy]]".join([head, f"{deploys[-1]}\n", *deploys[:-1]]), repair=True)
    assert report.verdict == BROKEN
    assert {one.kind for one in report.counted} == {"refused"}


def test_two_releases_that_put_different_values_into_a_column_are_not_merged() -> None:
    old = statement_of("UPDATE t SET a = :x WHERE id = :id")
    new = statement_of("UPDATE t SET a = :x * 100, b = :x WHERE id = :id")
    with pytest.raises(NoMerge):
        MergedOperation("change", (old,), (new,))
    other = statement_of("UPDATE t SET b = lower(:x) WHERE id = :id")
    assert MergedOperation("change", (old,), (other,)).text == "UPDATE t SET a = :x, b = lower(:x) WHERE id = :id"


def test_a_lost_update_of_one_release_alone_is_its_own() -> None:
    touch = (
        'does.touch = ["SELECT name AS n, full_name AS f FROM users WHERE id = :id",'
        ' "UPDATE users SET name = :n, full_name = :f WHERE id = :id"]\n'
    )
    answer = answer_of(rollout_of(HEAD + ADD + BOTH + touch))
    assert answer.verdict == PROVED
    assert {one.kind for one in answer.outcome.findings if one.is_yours} == {"lost"}


def test_dollars_become_cents_and_no_statement_is_refused() -> None:
    text = """
tables = "CREATE TABLE items (id bigint PRIMARY KEY, price int)"
[values]
dollars = [1, 2]
[before]
release = "1"
does.create = "INSERT INTO items (id, price) VALUES (:id, :dollars)"
does.show   = "SELECT price AS dollars FROM items WHERE id = :id"
[[deploy]]
release = "2"
does.create = "INSERT INTO items (id, price) VALUES (:id, :dollars * 100)"
does.show   = "SELECT price / 100 AS dollars FROM items WHERE id = :id"
"""
    answer = answer_of(rollout_of(text))
    assert kinds(answer) == {("invented", "1"), ("invented", "2")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            HEAD + "[[deploy]]\nshema = 'x'\n",
            "line 11: deploy.1.shema: there is no such key here; did you mean schema?",
            id="a misspelt key",
        ),
        pytest.param(HEAD.replace(":id, :name)", ":id, :nam)"), "did you mean :name?", id="a misspelt parameter"),
        pytest.param(HEAD + '[[deploy]]\nrelease = "2"\nlike = "0"\n', "there is no earlier release '0'", id="like"),
        pytest.param("tables = ", "line 1: this is not TOML", id="not TOML"),
        pytest.param("rows = " + "[" * 3000, "nested deeper than", id="brackets in brackets"),
        pytest.param(HEAD + "title." + "a." * 3000 + "b = 1", "nested deeper than", id="keys in keys"),
        pytest.param("rows = " + "9" * 5000, "line 1: this is not TOML", id="a number of many digits"),
        pytest.param("rows = 1e" + "9" * 20, "line 1: this is not TOML", id="a number of a large exponent"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FileMistake) as caught:
        rollout_of(text)
    assert message in str(caught.value)


def test_a_join_is_refused_by_name() -> None:
    joined = HEAD + '[[deploy]]\nrelease = "2"\ndoes.show = "SELECT a.id FROM users a JOIN users b ON true"\n'
    with pytest.raises(NotModelled, match="write a join or a subquery as two statements"):
        rollout_of(joined)


def test_the_command_exits_by_its_answer(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rollout.toml"
    texts = [
        (SAFE, 0),
        (HEAD + ADD + BOTH + READS_NEW, 1),
        ("nothing", 2),
        (HEAD.replace("SELECT name", "SELECT random() AS name"), 4),
    ]
    for text, code in texts:
        file.write_text(text)
        assert main(["check", str(file)]) == code
    file.write_text(SAFE)
    assert main(["check", str(file), "--worlds", "3"]) == 3
    assert main(["check", str(file), "--json"]) == 0
    assert '"verdict": "proved"' in capsys.readouterr().out


def test_the_command_needs_no_django() -> None:
    others = ("django", "psycopg", "celery", "pyspark")
    code = f"import sys, rollouts.command; print([name for name in {others} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_reader_that_stops_early_changes_no_exit_code(tmp_path: Any) -> None:
    file = tmp_path / "rollout.toml"
    file.write_text(SAFE)
    command = [sys.executable, "-m", "rollouts", "check", str(file), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        assert (process.wait(), errors) == (0, b"")


def test_the_command_prints_data_of_a_wrong_file_too(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rollout.toml"
    file.write_text(HEAD + '[[deploy]]\nrelease = "2"\nlike = "0"\n')
    assert main(["check", str(file), "--json"]) == 2
    body = json.loads(capsys.readouterr().out)
    assert (body["verdict"], body["mistake"]["key"], body["mistake"]["line"]) == ("wrong", "deploy.1.like", 12)


def test_the_command_prints_data_and_markdown_with_a_repair(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rollout.toml"
    file.write_text(BY_NAME["split"].naive)
    assert main(["check", str(file), "--json", "--repair"]) == 1
    body = json.loads(capsys.readouterr().out)
    documented = re.findall(r"`(\w+)`", (Path(__file__).parents[2] / "docs/reference/rollouts.md").read_text())
    assert set(body) <= set(documented)
    assert set(body["findings"][0]) | set(body["holds_up"][0]) | set(body["words"][0]) <= set(documented)
    assert "IS DISTINCT FROM" in body["repair"]["what"]
    assert main(["check", str(file), "--markdown"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("**broken: 1 way**")
    assert all(one in text for one in ("### lost", "| 3 | 2 writes both and 3 reads new | breaks |", "op.add_column("))


def test_the_command_lists_and_prints_templates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["templates"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{name} " in listed for name in BY_NAME)
    assert main(["templates", "split", "naive"]) == 0
    assert capsys.readouterr().out == BY_NAME["split"].naive
    assert main(["templates", "rename", "--pgroll"]) == 0
    assert json.loads(capsys.readouterr().out)["operations"][0]["alter_column"]["name"] == "full_name"
