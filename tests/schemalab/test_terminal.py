"""What users write reaches a terminal as text: a name with an escape sequence colours, moves and renames nothing."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from catalog.text.plain_text import plain
from schemalab.supervisor import terminal
from schemalab.supervisor.repeats import Repeats
from schemalab.supervisor.terminal import PlainStream, Terminal
from tests.harness.cluster import ROOT, environment_of


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


def test_a_line_that_is_kept_is_in_the_log_alone(tmp_path: Path) -> None:
    stream = io.StringIO()
    screen = Terminal(tmp_path, stream)
    screen.keep("postgres", "ERROR:  division by zero")
    screen.close()
    assert stream.getvalue() == ""
    assert (tmp_path / "postgres.log").read_text() == "ERROR:  division by zero\n"


def test_logs_that_cannot_be_written_end_nothing_and_are_reported_once(tmp_path: Path) -> None:
    stream = io.StringIO()
    screen = Terminal(tmp_path, stream)
    with Path("/dev/full").open("w", buffering=1) as full:
        screen._files["n1"] = full
        for number in range(3):
            screen.say("n1", f"line {number}")
        screen.close()
    shown = stream.getvalue().splitlines()
    assert [line for line in shown if line.startswith("n1")] == [f"n1         | line {n}" for n in range(3)]
    [reported] = [line for line in shown if line.startswith("up")]
    assert reported == f"up         | logs are not whole from here on: No space left on device ({tmp_path})"


def test_a_command_whose_reader_has_read_enough_ends_without_a_word(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} manage.py explore --list | head -1"],
        cwd=ROOT,
        env=environment_of(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.stderr, len(done.stdout.splitlines())) == ("", 1)


def test_ctrl_c_ends_a_command_with_one_word(tmp_path: Path) -> None:
    command = [sys.executable, "manage.py", "simulate", "--seeds", "1..1000000"]
    env = environment_of(tmp_path / "home")
    with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert "runs" in running.stderr.readline()  # its first report: it is under way
        running.send_signal(signal.SIGINT)
        said = running.stderr.read().splitlines()
        assert running.wait(30) == 130
    assert said[-1] == "interrupted"
    assert not [line for line in said if "Traceback" in line]


def test_manage_py_goes_on_in_the_environment_that_was_made_for_it(tmp_path: Path) -> None:
    """A newcomer's `./manage.py` finds the system's Python, which has no Django."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    own = tmp_path / ".venv" / "bin" / "python"
    own.write_text('#!/bin/sh\necho "own: $*"\n')
    own.chmod(0o755)
    script = tmp_path / "manage.py"
    script.write_text((ROOT / "manage.py").read_text())
    system = Path(sys.base_prefix) / "bin" / "python3"
    done = subprocess.run([system, "-S", script, "nodes"], capture_output=True, text=True, check=False, timeout=30)
    assert done.stdout == f"own: {script} nodes\n"


def test_a_terminal_that_was_closed_is_noticed(tmp_path: Path) -> None:
    """Closing it is a signal to the leader of its session alone, as `make`, which waits for us."""
    ours, theirs = os.openpty()
    stream = open(theirs, "w", buffering=1)  # noqa: SIM115 (its end fails: what was said is not taken any more)
    screen = Terminal(tmp_path, stream)
    assert not screen.is_gone
    os.close(ours)
    assert screen.is_gone
    screen.say("up", "nobody reads this")
    assert (tmp_path / "up.log").read_text() == "nobody reads this\n"
    screen.close()
    with pytest.raises(OSError, match="Input/output error"):
        stream.close()


def test_a_pipe_that_was_closed_is_no_terminal(tmp_path: Path) -> None:
    screen = Terminal(tmp_path, io.StringIO())
    assert not screen.is_gone
