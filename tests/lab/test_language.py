"""The script language: what it understands, what it says when it does not, how files are read."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from lab.scripts.commands_of import COMMANDS, Lab, Refusal, perform
from lab.scripts.golden import BadScript, play, read

GOOD = "# Why.\ntable users (id int primary key)\n---\npublished users@1\n"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "scripts.md"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("fly to the moon", "'fly to the moon' is no command", id="no sentence"),
        pytest.param("publish people", "there is no table people", id="an unknown table"),
        pytest.param("publish users upside down", "'upside down' is no edit of a table", id="an unknown edit"),
        pytest.param("fill by_name", "there is no index by_name", id="an unknown index"),
        pytest.param("step", "there is no change: create or drop something first", id="no change"),
        pytest.param(
            "without gravity", "there is no rule 'gravity'; there are: two versions, fence", id="no such rule"
        ),
        pytest.param("n1: insert users (1)", r"takes 2 values \(id, name\), not 1", id="too few values"),
        pytest.param("n1: insert users ('x', 'a')", "invalid input syntax for type integer", id="a bad value"),
        pytest.param("n1: delete users (9)", "there is no such row", id="no row"),
        pytest.param("n1: commit", "n1 is not in a transaction", id="no transaction"),
        pytest.param("n1: give users", "n1 has not taken users", id="nothing taken"),
        pytest.param("n1: deliver", "there is no message of n1", id="no message"),
        pytest.param("create table users (", "syntax error", id="a statement the grammar refuses"),
    ],
)
def test_a_refusal_says_what_and_what_would_be_right(line: str, message: str) -> None:
    lab = Lab()
    perform(lab, "table users (id int primary key, name text)")
    with pytest.raises(Refusal, match=message):
        perform(lab, line)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "line 1: a script has commands", id="nothing"),
        pytest.param("publish users\n---\n", "line 1: a script begins with a comment", id="no reason"),
    ],
)
def test_a_text_that_is_no_script(text: str, message: str) -> None:
    with pytest.raises(BadScript, match=message):
        read(text)


def test_a_script_that_says_something_else_shows_the_difference() -> None:
    played = play(GOOD.replace("users@1", "users@7"))
    assert not played.is_same
    assert {"  -published users@7", "  +published users@1"} <= set(played.differences())
    assert play(played.text).is_same


def test_a_refusal_nobody_expected_is_a_difference_even_when_recorded() -> None:
    played = play("# Why.\npublish users\n---\nerror: there is no table users\n")
    assert list(played.differences())[1] == "  publish users: refused: there is no table users"
    assert play("# Why.\n!table users (id int primary key)\n---\npublished users@1\n").has_surprises


def test_a_world_can_be_copied_and_goes_its_own_way() -> None:
    lab = Lab()
    perform(lab, "table users (id int primary key)")
    other = lab.world.copy()
    perform(lab, "n1: insert users (1)")
    assert [len(pairs) for pairs in other.store.pairs] == [0, 0]


def test_every_sentence_is_documented() -> None:
    documented = REFERENCE.read_text(encoding="utf-8")
    for one in COMMANDS:
        assert f"| `{one.usage.replace('|', chr(92) + '|')}` | {one.does} |" in documented


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "good.script"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_the_command_compares_records_and_reports_by_its_exit_code(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("script", str(script))
    assert "as recorded" in capsys.readouterr().out
    script.write_text(GOOD.replace("@1", "@7"), encoding="utf-8")
    with pytest.raises(SystemExit, match="1"):
        call_command("script", str(script), "--json")
    assert '"same": false' in capsys.readouterr().out
    call_command("script", str(script), "--record")
    assert script.read_text(encoding="utf-8") == GOOD


def test_the_command_refuses_a_file_that_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file") as refused:
        call_command("script", str(tmp_path / "nothing.script"))
    assert refused.value.returncode == 2
