"""Every data job on a standalone master with two workers: their code, the secret, and files reach them."""

import json
import os
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
from pytest_django import Settings

from catalog.elements import State
from schemalab.polling import wait_for
from spark_tasks.checks.audit import audit_table
from spark_tasks.jobs.loads import LOADS
from spark_tasks.models import Kind, LoadJob, ReorgRun
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.services import close_run
from spark_tasks.spark import java, session
from tests.spark_tasks.kinds import TWIN, Change, score
from tests.spark_tasks.runs import Runs, entries
from tests.storage.stage import Stage, user

pytestmark = pytest.mark.soak

PEOPLE, LOADED = 200, 12_000
SECRET = "known to master, workers and session"
DAEMONS_S_MAX, END_S_MAX = 240.0, 30.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with two workers, of one core each, in folders that have nothing of ours."""
    import pyspark

    folder = tmp_path_factory.mktemp("spark")
    settings = folder / "spark.conf"
    settings.write_text(
        f"spark.authenticate true\nspark.authenticate.secret {SECRET}\nspark.network.crypto.enabled true\n"
    )
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port, page = free_port(), free_port()
    address = f"spark://127.0.0.1:{port}"
    env = {"PATH": os.environ["PATH"], "JAVA_HOME": str(java.find_java().home), "SPARK_LOG_DIR": str(folder)}
    here = ["--host", "127.0.0.1", "--properties-file", str(settings)]
    daemons = [["master.Master", *here, "--port", str(port), "--webui-port", str(page)]]
    for name in ("one", "two"):
        (folder / name).mkdir()
        more = ["--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / name), address]
        daemons.append(["worker.Worker", *here, *more])
    with ExitStack() as running, (folder / "daemons.log").open("w") as log:
        for daemon, *arguments in daemons:
            command = [str(spark_class), f"org.apache.spark.deploy.{daemon}", *arguments]
            process = subprocess.Popen(command, env=env, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
            running.callback(process.wait, END_S_MAX)
            running.callback(process.terminate)

        def are_there() -> bool:
            try:
                with urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
                    return int(json.load(answer)["aliveworkers"]) == 2
            except OSError:
                return False

        wait_for(are_there, what=f"two workers, see {folder}", seconds_max=DAEMONS_S_MAX)
        yield address


@pytest.fixture
def on_cluster(master: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every job goes there, however small; a range holds few rows."""
    end_session()
    settings.SPARK_MASTER, settings.SPARK_SECRET = master, SECRET
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    monkeypatch.setattr(session, "ROWS_IN_PROCESS_MAX", 0)
    monkeypatch.setattr("spark_tasks.runs.ranges.ROWS_PER_RANGE", 20)
    monkeypatch.setattr("spark_tasks.runs.ranges.FILL_ROWS", 20)
    session.warm_up()
    executors = session.spark().sparkContext._jsc.sc().getExecutorMemoryStatus
    wait_for(lambda: executors().size() == 1 + 2, what="an executor of each worker", seconds_max=DAEMONS_S_MAX)
    yield
    end_session()


def end_session() -> None:
    """End the session with its JVM, which knows what it was started for."""
    from pyspark import SparkContext

    session.stop()
    if SparkContext._gateway is not None:
        jvm = SparkContext._gateway.proc
        session._forget_dead(SparkContext)
        jvm.stdin.close()
        jvm.wait(END_S_MAX)


def where(key_ranges: Iterable[KeyRange]) -> Iterator[list[str]]:
    """The folder of the process that does the work, and where its code is from."""
    from spark_tasks.chunks import chunk

    for _ in key_ranges:
        yield [os.getcwd(), chunk.__file__]


def test_every_job_is_done_by_both_workers(on_cluster: None, stage: Stage, master: str, tmp_path: Path) -> None:
    code = session.spread(_by_value(where), [KeyRange(1, b"", b"", 1) for _ in range(8)], pool="where")
    assert {Path(folder).parents[1].name for folder, _ in code} == {"one", "two"}
    assert all("schemalab.zip" in file for _, file in code)
    arguments = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert sum("CoarseGrainedExecutorBackend" in one for one in arguments) >= 2
    assert not [one for one in arguments if SECRET in one], "everybody on a machine sees the arguments of processes"

    stage.insert(user(stage.now, n, f"name {n % 7}", 20 + n % 50) for n in range(PEOPLE))
    runs = Runs(stage, stage.table_id)
    runs.add_index()
    assert len(entries(stage)) == PEOPLE

    path = tmp_path / "people.csv"
    path.write_text("id,name,age\n" + "".join(f"{n},name {n},30\n" for n in range(1000, 1000 + LOADED)))
    job = LoadJob.objects.create(table_id=stage.table_id, path=str(path))
    LOADS.run(job.id)
    job.refresh_from_db()
    assert (job.state, job.rows_done, job.error) == ("done", LOADED, "")

    twin, others = Change((TWIN,)), Runs(stage, stage.table_id + 1_000_000)
    twin.to_filling(stage)
    assert [others.do(kind, *twin.said).state for kind in ("fill", "verify")] == ["done"] * 2
    close_run(others.of(Kind.FILL).id)

    report = audit_table(stage.dsn, stage.table_id, storages=2, buckets=3000)
    assert (report.is_consistent, report.rows) == (True, PEOPLE + LOADED)

    twin.to(stage, State.DELETE_ONLY)
    assert others.do("delete", *twin.said).state == "done"
    assert score(stage) == {}
    LoadJob.objects.filter(table_id=stage.table_id).delete()
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


def _by_value(work: object) -> object:
    """Tests are not sent to executors: only what they are given is."""
    from pyspark.cloudpickle import register_pickle_by_value

    import tests.spark_tasks.cluster.test_master_workers as here

    register_pickle_by_value(here)
    return work
