"""What users write reaches a terminal as text: a name with an escape sequence colours, moves and renames nothing."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from catalog.text.plain_text import plain
from schemalab.supervisor import terminal
from schemalab.supervisor.repeats import Repeats
from schemalab.supervisor.terminal import PlainStream, Terminal
from schemalab.testing.cluster import ROOT, environment_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("users (naïve, 名字)", "users (naïve, 名字)", id="text stays"),
        pytest.param("a\tb\nc", "a\tb\nc", id="lines and tabs stay"),
        pytest.param("\x1b]0;mine\x07", "\\x1b]0;mine\\x07", id="an escape sequence"),
        pytest.param("good\rbad \x08\x7f", "good\\x0dbad \\x08\\x7f", id="what moves the cursor"),
        pytest.param("\x9b31m", "\\x9b31m", id="C1, an escape sequence of one character"),
        pytest.param("\u202egnirts\u2066", "\\u202egnirts\\u2066", id="what turns the direction"),
        pytest.param("\udc9b", "\\udc9b", id="a byte that is no text"),
    ],
)
def test_control_characters_are_shown(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_what_a_process_says_is_plain_on_the_terminal_and_in_its_log(tmp_path: Path) -> None:
    stream = io.StringIO()
    screen = Terminal(tmp_path, stream)
    screen.say("n1", "table \x1b[2J")
    screen.close()
    assert stream.getvalue() == "n1         | table \\x1b[2J\n"
    assert (tmp_path / "n1.log").read_text() == "table \\x1b[2J\n"


def test_a_log_file_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "LOG_BYTES_MAX", 1000)
    screen = Terminal(tmp_path, io.StringIO())
    for number in range(1000):
        screen.say("n1", f"line {number}")
    screen.close()
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) == {"n1.log", "n1.log.1"}
    assert max(sizes.values()) < 1100
    assert (tmp_path / "n1.log").read_text().endswith("line 999\n")


def test_a_line_that_comes_again_and_again_is_only_counted() -> None:
    repeats = Repeats()
    heard = [f"{second} FATAL: [{pid}] not yet" for second, pid in enumerate(range(100, 140))]
    shown = [line for text in [*heard, "ready", "ready", ""] for line in repeats.hear(text)]
    assert [*shown, *repeats.end()] == [*heard[:3], ".. and 37 more such lines", "ready", "ready", ""]


def test_a_stream_of_a_command_is_plain() -> None:
    stream = io.StringIO()
    print("\x1b[31mred", file=PlainStream(stream))
    assert stream.getvalue() == "\\x1b[31mred\n"


def test_a_command_repeats_no_escape_sequence_of_its_user(tmp_path: Path) -> None:
    script = tmp_path / "a\x1b[2J.script"
    script.write_text("publish \x1b]0;mine\x07\n---\nnothing\n")
    done = subprocess.run(
        [sys.executable, "manage.py", "script", str(script)],
        cwd=ROOT,
        env=environment_of(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode != 0
    assert "\\x1b[2J" in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr
