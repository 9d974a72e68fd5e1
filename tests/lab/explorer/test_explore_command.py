"""manage.py explore: exit codes, one line for bad usage, JSON."""

import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from lab.explorer.variants import all_variants

SMALL = ("--rows", "1", "--values", "1")


@pytest.fixture(autouse=True)
def home(settings, tmp_path: Path) -> Path:
    """Answers of other runs are not known."""
    settings.HOME = tmp_path
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        call_command("explore", *args)
    return int(ended.value.code or 0), capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "code", "verdict"),
    [
        pytest.param(("--states", "absent,delete-only,write-only,public"), 0, "proved", id="0: proved"),
        pytest.param(("--states", "absent,write-only,public"), 1, "violated", id="1: violated"),
        pytest.param(
            ("--states", "absent,delete-only,write-only,public", "--max-seconds", "0", "--rows", "2"),
            3,
            "unknown",
            id="3: unknown",
        ),
    ],
)
def test_the_exit_code_gives_the_verdict(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], code: int, verdict: str
) -> None:
    ended, out = run(capsys, "--kind", "index", *SMALL, *args, "--json")
    said = json.loads(out)
    assert (ended, said["verdict"]) == (code, verdict)
    assert set(said) >= {"bounds", "states", "seconds", "counterexample"}
    assert bool(said["counterexample"]) == (verdict == "violated")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        pytest.param(("--kind", "index", "--states", "absent,gone"), "unknown state 'gone'", id="state"),
        pytest.param(("--variant", "nope"), "there is no variant nope", id="variant"),
        pytest.param((), "say --kind and --states", id="nothing"),
        pytest.param(
            ("--kind", "index", "--states", "absent,public", "--fill", "late"), "unknown variant 'late'", id="fill"
        ),
    ],
)
def test_bad_usage_is_one_line(args: tuple[str, ...], says: str) -> None:
    with pytest.raises(CommandError, match=says) as refused:
        call_command("explore", *args)
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        pytest.param({"statement": "CREATE INDEX ON"}, "no plan of 'CREATE INDEX ON': syntax error", id="no syntax"),
        pytest.param(
            {"statement": "CREATE INDEX i ON t (z)"}, 'column "z" does not exist', id="a column that is not there"
        ),
        pytest.param(
            {"statement": "ALTER TABLE t ADD COLUMN IF NOT EXISTS a bigint"}, "already exists", id="nothing to do"
        ),
        pytest.param({"statement": "DROP TABLE t"}, "the planner publishes absent, absent where", id="fewer versions"),
        pytest.param({"road": ["absent", "delete-only"]}, "write-only, public where the model says", id="more of them"),
        pytest.param({"statement": "moves", "road": ["delete-only", "public"]}, "is not safe", id="a faulty plan"),
        pytest.param({"statement": 5}, "a statement is text, not 5", id="no text"),
        pytest.param(
            {"kind": "placement", "road": ["public+absent", "public+delete-only"]},
            "where the model says public+delete-only",
            id="a placement",
        ),
        pytest.param({"statement": "", "broken": ["early-turn"]}, "early-turn is for a plan", id="nothing is dropped"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--steps", "publish.2")], ids=["explored", "stood"])
def test_a_model_without_a_plan_is_one_line(
    tmp_path: Path, changed: dict[str, object], says: str, more: tuple[str, ...]
) -> None:
    file = tmp_path / "model.json"
    body = all_variants()["add-index"].model.to_json() | changed
    file.write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(CommandError, match=re.escape(says)) as refused:
        call_command("explore", "--model", str(file), *more)
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(b"[]", "this is no model: a model is a JSON object", id="a list"),
        pytest.param(b"[" * 100_000, "this is no model: maximum recursion depth", id="too deep"),
        pytest.param(b"{", "this is no model: Expecting property name", id="no JSON"),
        pytest.param(b"\xff", "holds no model: 'utf-8' codec", id="no text"),
    ],
)
def test_a_file_without_a_model_is_one_line(tmp_path: Path, text: bytes, says: str) -> None:
    file = tmp_path / "model.json"
    file.write_bytes(text)
    with pytest.raises(CommandError, match=re.escape(says)) as refused:
        call_command("explore", "--model", str(file))
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)


def test_a_variant_shows_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "--variant", "index-without-delete-only")
    assert code == 1
    assert "C3 under v1: index by_a has an entry, and t@1 contains no such index" in out


def test_the_list_names_what_each_one_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("explore", "--list", "--json")
    listed = {variant["name"]: variant["breaks"] for variant in json.loads(capsys.readouterr().out)}
    assert listed["fill-puts-blindly"] == "C5"
    assert listed["add-index"] == ""


@pytest.mark.parametrize(
    ("variant", "step", "why"),
    [
        pytest.param("add-index", "drain.2", "n2 still leases v1", id="the planner drains every version"),
        pytest.param("fill-skipped", "publish.3", "n2 still leases v1", id="a plan written by hand"),
    ],
)
def test_steps_lead_to_a_position(capsys: pytest.CaptureFixture[str], variant: str, step: str, why: str) -> None:
    call_command("explore", "--variant", variant, "--steps", "publish.2 n1.acquire")
    disabled = {step["id"]: step["why"] for step in json.loads(capsys.readouterr().out)["disabled"]}
    assert disabled[step] == why


BROKEN = ("--kind", "index", "--states", "absent,write-only,public", *SMALL, "--json")


def test_an_answer_is_kept_and_given_again_with_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    first, again, anew = (json.loads(run(capsys, *BROKEN, *more)[1]) for more in ((), (), ("--again",)))
    assert [said.pop("known") for said in (first, again, anew)] == [False, True, False]
    assert first == again
    assert first["counterexample"] == anew["counterexample"]


def test_a_spent_budget_is_not_kept(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    usual = ("--kind", "index", "--states", "absent,delete-only,write-only,public")
    assert run(capsys, *usual, "--max-states", "300")[0] == 3
    assert list(home.glob("explored/*/*")) == []


def test_answers_under_other_rules_are_forgotten(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    run(capsys, *BROKEN)
    monkeypatch.setattr("lab.explorer.cache.fingerprint", lambda: "0123456789abcdef")
    assert json.loads(run(capsys, *BROKEN)[1])["known"] is False
    assert [path.name for path in (home / "explored").iterdir()] == ["0123456789abcdef"]


def test_a_file_that_is_no_answer_counts_as_none(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    run(capsys, *BROKEN)
    (kept,) = home.glob("explored/*/*")
    kept.write_text("{", encoding="utf-8")
    assert json.loads(run(capsys, *BROKEN)[1])["known"] is False


def test_the_table_says_which_model_was_not_finished(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="add-required-column: it gave up after .* states") as refused:
        call_command("explore", "--table", "--max-states", "500")
    assert refused.value.returncode == 3


def test_a_mistake_of_ours_is_not_put_down_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise KeyError("no such kind")

    monkeypatch.setattr("lab.management.commands.explore.plan_of", broken)
    with pytest.raises(KeyError, match="no such kind"):
        call_command("explore", kind="index", states="absent,public")
