"""A session on a cluster: where it listens, what it sends, and how it keeps its secret."""

import shlex
import socket
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pytest_django import Settings

from spark_tasks.spark import cluster, session
from tests.harness.cluster import ROOT

MASTER = "spark://127.0.0.1:7077,10.0.0.2:7077"


def test_a_session_of_this_machine_listens_to_nobody_else(tmp_path: Path, settings: Settings) -> None:
    settings.SPARK_MASTER = "local[2]"
    found = session._configuration(tmp_path)
    assert (found["spark.driver.host"], found["spark.authenticate"]) == ("127.0.0.1", "true")


def test_a_session_on_a_cluster_has_its_memory_its_python_and_no_secret_among_its_arguments(
    tmp_path: Path, settings: Settings
) -> None:
    settings.SPARK_MASTER, settings.SPARK_SECRET = MASTER, "a secret"
    settings.SPARK_PYTHON, settings.SPARK_EXECUTOR_MB = "/opt/lab/bin/python", 700
    found = session._configuration(tmp_path)
    names = ("executor.memory", "pyspark.python", "driver.host", "authenticate", "network.crypto.enabled")
    assert [found[f"spark.{name}"] for name in names] == ["700m", "/opt/lab/bin/python", "127.0.0.1", "true", "true"]
    assert "a secret" not in str(found)


def test_without_a_secret_nothing_is_asked_for(tmp_path: Path, settings: Settings) -> None:
    settings.SPARK_MASTER, settings.SPARK_SECRET = MASTER, ""
    assert session._configuration(tmp_path)["spark.authenticate"] == "false"
    assert cluster.submit_arguments(tmp_path, "") == "pyspark-shell"
    assert list(tmp_path.iterdir()) == []


def test_the_secret_is_kept_where_nobody_else_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "cluster.conf").write_text("of before")
    *_, path, last = shlex.split(cluster.submit_arguments(folder, "a=b c\nspark.x y"))
    assert (last, stat.S_IMODE(Path(path).stat().st_mode)) == ("pyspark-shell", 0o600)
    [line] = Path(path).read_text().splitlines()
    assert line == r"spark.authenticate.secret=a\u003db\u0020c\u000aspark\u002ex\u0020y"


@pytest.mark.parametrize(
    ("master", "host"),
    [
        pytest.param("spark://far.example:7077", "far.example", id="one"),
        pytest.param("spark://one:7077,two:7077", "one", id="the first of two"),
        pytest.param("spark://[::1]:7077", "::1", id="by number"),
    ],
)
def test_the_master_is_found_in_its_address(master: str, host: str) -> None:
    assert cluster.address_of_master(master) == host


def test_executors_call_back_where_this_machine_reaches_the_master() -> None:
    with socket.socket() as listening:
        listening.bind((cluster.own_address(MASTER), 0))
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_master_that_is_not_there_is_named_at_once(settings: Settings) -> None:
    """Spark itself tries for a minute, and then says that a constructor failed."""
    settings.SPARK_MASTER = "spark://127.0.0.1:1,127.0.0.1:not-a-port"
    words = r"SPARK_MASTER=.* cannot be reached \(127.0.0.1:1: Connection refused; 127.0.0.1:not-a-port: .*\)"
    with pytest.raises(cluster.NoMaster, match=words):
        session._start()


def test_one_master_of_two_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        cluster.require_master(f"spark://127.0.0.1:1,127.0.0.1:{listening.getsockname()[1]}")


TASKS = (
    "spark_tasks.reorganise.backfill",
    "spark_tasks.reorganise.delete",
    "spark_tasks.reorganise.rows_without_value",
    "spark_tasks.checks.range_check",
    "spark_tasks.load.chunk",
    "spark_tasks.load.file_batches",
    "spark_tasks.load.file_identity",
    "spark_tasks.spark.priority",
)


def test_the_archive_has_all_that_tasks_import(tmp_path: Path) -> None:
    """Executors have no clone: whatever is not in it would be missed by the first job, far away."""
    archive = cluster.code_archive(ROOT, tmp_path)
    assert "spark_tasks/chunks/chunk.py" in zipfile.ZipFile(archive).namelist()
    ours = {folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").exists()}
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        f"import importlib\nfor name in {TASKS!r}: importlib.import_module(name)\n"
        f"print(*sorted({{m.__file__ for n, m in sys.modules.items() if n.split('.')[0] in {ours!r}}}), sep='\\n')\n"
        "print(*(name for name in ('django', 'celery') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *files, others = done.stdout.split("\n")[:-1]
    assert files
    assert all(name.startswith(str(archive)) for name in files)
    assert others == ""
