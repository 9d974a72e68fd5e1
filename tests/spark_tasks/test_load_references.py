"""A load obeys foreign keys: what its rows refer to is there, also when somebody takes it away meanwhile."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from catalog.elements import EXISTS, State
from spark_tasks.jobs.loads import LOADS
from spark_tasks.load import leased_versions
from spark_tasks.load.chunk import Loader
from spark_tasks.load.file_batches import CHUNK_ROWS
from spark_tasks.load.file_rows import CannotLoad
from spark_tasks.load.loader_node import Lease, Membership, PseudoNode
from spark_tasks.models import LoadJob
from storage.mutations import delete_row
from storage.postgres import holders
from tests.references import CITY, TRIP_CITY
from tests.spark_tasks.two_tables import TwoTables, bossed, member
from tests.storage import pairs_sql
from tests.storage.stage import Stage


@contextmanager
def loading(stage: Stage) -> Iterator[Loader]:
    """A loader of a table, as a node of its own."""
    job = LoadJob.objects.create(table_id=stage.table_id, path="rows.csv")
    node = PseudoNode(stage.dsn, f"load-{stage.table_id}", pid=1, lease_s=30)
    with node as member, Loader(member, job.id, stage.table_id, 2, 3000) as loader:
        yield loader
    job.delete()


@pytest.fixture
def loader(tables: TwoTables) -> Iterator[Loader]:
    """A loader of trips."""
    with loading(tables.trips) as made:
        yield made


def texts(**columns: list[str | None]) -> dict[str, pa.Array]:
    return {name: pa.array(values, pa.string()) for name, values in columns.items()}


def trips(*codes: str | None, first: int = 0) -> dict[str, pa.Array]:
    return texts(id=[str(first + number) for number in range(len(codes))], code=list(codes))


def leased(stage: Stage) -> list[int]:
    sql = "SELECT version FROM leases_lease WHERE table_id = %s ORDER BY version"
    return [version for (version,) in stage.sql(sql, [stage.table_id])]


# --- rows that refer to something


@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.PUBLIC])
def test_rows_that_refer_to_what_is_there_come_in(tables: TwoTables, loader: Loader, state: State) -> None:
    tables.fill(["LAX", "CDG"], [])
    tables.link(state)
    loader.load(0, trips("LAX", None, "CDG", "LAX"))
    assert sum(map(len, tables.trips.contents())) == 4 * 3
    tables.to(State.PUBLIC)
    assert tables.violations() == []


@pytest.mark.parametrize(
    ("state", "moving"), [(State.WRITE_ONLY, " (the constraint is write-only)"), (State.PUBLIC, "")]
)
def test_a_row_that_refers_to_nothing_is_named_and_nothing_comes_in(
    tables: TwoTables, loader: Loader, state: State, moving: str
) -> None:
    tables.fill(["LAX"], [])
    tables.link(state)
    with pytest.raises(CannotLoad) as refused:
        loader.load(5, trips("LAX", None, "XXX", "YYY"))
    assert str(refused.value) == (
        "row 8: row id = 2 with (code) = ('XXX') breaks constraint trips_code_fkey: no row of airports has"
        f" (code) = ('XXX'){moving}"
    )
    assert tables.trips.contents() == [{}, {}]
    assert loader.marks() == {}


def test_a_foreign_key_to_a_unique_index(tables: TwoTables, loader: Loader) -> None:
    tables.airports.insert([tables.airport("CDG", "Paris")])
    tables.link(State.PUBLIC, column=TRIP_CITY, to=CITY)
    loader.load(0, texts(id=["1"], city=["Paris"]))
    with pytest.raises(CannotLoad, match=r"row 2: row id = 2 with \(city\) = \('Rome'\) breaks constraint"):
        loader.load(1, texts(id=["2"], city=["Rome"]))


def test_rows_that_are_put_over_tombstones_are_asked_too(tables: TwoTables, loader: Loader) -> None:
    tables.link(State.PUBLIC)
    key = tables.trip_pair(0, EXISTS)
    for storage in (1, 2):
        tables.trips.sql(*pairs_sql.insert(storage, tables.trips.table_id, key, None))
    with pytest.raises(CannotLoad, match="breaks constraint trips_code_fkey"):
        loader.load(0, trips("XXX"))
    assert tables.trips.contents() == [{key: None}, {key: None}]


@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.PUBLIC])
def test_a_table_that_is_referred_to_takes_all_rows(tables: TwoTables, state: State) -> None:
    tables.link(state)
    with loading(tables.airports) as loader:
        loader.load(0, texts(code=["LAX", "CDG"]))
    assert sum(map(len, tables.airports.contents())) == 2 * 4
    assert leased(tables.trips) == []


def test_a_job_says_which_row_of_the_file_it_was(tables: TwoTables, spark: None, tmp_path: Path) -> None:
    tables.fill(["LAX"], [])
    tables.link(State.PUBLIC)
    path = tmp_path / "trips.csv"
    path.write_text("id,code\n1,LAX\n2,\n3,XXX\n")
    job = LoadJob.objects.create(table_id=tables.trips.table_id, path=str(path))
    LOADS.run(job.id)
    job.refresh_from_db()
    assert (job.state, job.error.partition(" breaks ")[0]) == ("failed", "row 3: row id = 3 with (code) = ('XXX')")
    assert tables.trips.contents() == [{}, {}]
    path.write_text("id,code\n1,LAX\n2,\n3,LAX\n")
    again = LoadJob.objects.create(table_id=tables.trips.table_id, path=str(path))
    LOADS.run(again.id)
    again.refresh_from_db()
    assert (again.state, again.rows_done, tables.violations()) == ("done", 3, [])
    assert leased(tables.airports) == []
    LoadJob.objects.filter(table_id=tables.trips.table_id).delete()


# --- rows that refer to each other


def staff(*pairs: tuple[int, int | None]) -> dict[str, pa.Array]:
    return texts(id=[str(n) for n, _ in pairs], boss=[None if boss is None else str(boss) for _, boss in pairs])


def test_a_row_may_refer_to_one_of_its_own_chunk_or_an_earlier_one(company: Stage) -> None:
    company.publish(bossed(company.now, State.PUBLIC))
    with loading(company) as loader:
        loader.load(0, staff((1, 2), (2, 3), (3, None), (4, 4)))
        loader.load(4, staff((5, 1)))
        with pytest.raises(CannotLoad, match=r"row 6: row id = 6 with \(boss\) = \(7\) breaks constraint"):
            loader.load(5, staff((6, 7)))
        loader.load(6, staff((7, 5)))
        loader.load(5, staff((6, 7)))
    assert company.violations() == []


def test_a_row_of_a_table_that_refers_to_itself_may_refer_to_one_that_was_there(company: Stage) -> None:
    company.insert([member(company.now, 1, None)])
    company.publish(bossed(company.now, State.WRITE_ONLY))
    with loading(company) as loader:
        loader.load(0, staff((2, 1)))
    assert company.violations() == []


def test_a_table_that_refers_to_itself_is_loaded_in_the_order_of_the_file(
    company: Stage, spark: None, tmp_path: Path
) -> None:
    company.publish(bossed(company.now, State.PUBLIC))
    path, rows = tmp_path / "staff.csv", 2 * CHUNK_ROWS + 1
    path.write_text("id,boss\n1,\n" + "".join(f"{n},{n - 1}\n" for n in range(2, rows + 1)))
    job = LoadJob.objects.create(table_id=company.table_id, path=str(path))
    LOADS.run(job.id)
    job.refresh_from_db()
    assert (job.state, job.error, job.rows_done) == ("done", "", rows)
    LoadJob.objects.filter(table_id=company.table_id).delete()


# --- beside others


@pytest.fixture
def at_mark(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Something that happens once, when a loader leaves its first mark: its snapshot is older."""

    def happen(what: Callable[[], object]) -> None:
        waiting, mark = [what], Loader._mark

        def marked(self: Loader, first: int, count: int) -> None:
            if waiting:
                waiting.pop()()
            mark(self, first, count)

        monkeypatch.setattr(Loader, "_mark", marked)

    return happen


def test_what_rows_refer_to_is_deleted_while_they_come_in(
    tables: TwoTables, loader: Loader, at_mark: Callable[[Callable[[], object]], None]
) -> None:
    """The load still sees it in its snapshot; the delete has seen no trip."""
    tables.fill(["LAX", "CDG"], [])
    tables.link(State.WRITE_ONLY)
    at_mark(lambda: tables.delete_airport("LAX"))
    with pytest.raises(CannotLoad, match="no row of airports has .* = .'LAX'."):
        loader.load(0, trips("LAX"))
    assert tables.trips.contents() == [{}, {}]
    assert loader.load(0, trips("CDG")) == 0


def test_rows_come_in_while_what_they_refer_to_is_deleted(tables: TwoTables, loader: Loader) -> None:
    """The delete has seen no trip, and commits after there is one: it must not."""
    tables.fill(["LAX"], [])
    tables.link(State.WRITE_ONLY)

    def delete_around_a_load() -> None:
        with tables.transaction() as (there, airports):
            airports.run(delete_row(tables.airports.now, tables.airport("LAX")))
            assert not tables.is_referred_to(there.connection, "LAX")
            assert loader.load(0, trips("LAX")) == 0

    with pytest.raises(psycopg.errors.SerializationFailure):
        delete_around_a_load()
    tables.to(State.PUBLIC)
    assert tables.violations() == []


def test_another_row_is_deleted_meanwhile(
    tables: TwoTables, loader: Loader, at_mark: Callable[[Callable[[], object]], None]
) -> None:
    tables.fill(["LAX", "CDG"], [])
    tables.link(State.PUBLIC)
    at_mark(lambda: tables.delete_airport("CDG"))
    loader.load(0, trips("LAX"))
    assert tables.violations() == []


def test_what_rows_refer_to_comes_in_meanwhile_and_counts_once_it_is_seen(
    tables: TwoTables, loader: Loader, at_mark: Callable[[Callable[[], object]], None]
) -> None:
    tables.link(State.PUBLIC)
    at_mark(lambda: tables.airports.insert([tables.airport("LAX")]))
    with pytest.raises(CannotLoad, match="no row of airports"):
        loader.load(0, trips("LAX"))
    loader.load(0, trips("LAX"))
    assert tables.violations() == []


# --- leases


def test_both_tables_are_entered(
    tables: TwoTables, loader: Loader, at_mark: Callable[[Callable[[], object]], None]
) -> None:
    """A publisher of either waits for the chunk (L9)."""
    tables.fill(["LAX"], [])
    tables.link(State.WRITE_ONLY)
    inside: dict[str, list[str]] = {}

    def look() -> None:
        with psycopg.connect(tables.trips.dsn) as opened:
            for stage in (tables.trips, tables.airports):
                found = holders(opened.cursor(), stage.table_id, stage.now.version)
                inside[stage.now.name] = [holder.application_name for holder in found]

    at_mark(look)
    loader.load(0, trips("LAX"))
    assert inside == {"trips": [loader.node.session_name], "airports": [loader.node.session_name]}


def test_leases_of_both_tables_follow_their_versions(tables: TwoTables, loader: Loader) -> None:
    tables.fill(["LAX"], [])
    loader.load(0, trips("LAX"))
    assert (leased(tables.trips), leased(tables.airports)) == ([1], []), "no foreign key yet"
    tables.link(State.WRITE_ONLY)
    loader.load(1, trips("LAX", first=1))
    assert (leased(tables.trips), leased(tables.airports)) == ([2], [2])
    tables.airports.publish(tables.airports.now.next_version())
    loader.load(2, trips("LAX", first=2))
    assert (leased(tables.trips), leased(tables.airports)) == ([2], [3])
    tables.trips.publish(tables.trips.now.next_version(constraints=()))
    loader.load(3, trips("gone", first=3))
    assert (leased(tables.trips), leased(tables.airports)) == ([3], []), "what is not used is given back"


def test_the_transaction_ends_with_the_first_lease(
    tables: TwoTables, loader: Loader, at_mark: Callable[[Callable[[], object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """T4: entering the other table does not move the deadline on."""
    tables.fill(["LAX"], [])
    tables.link(State.WRITE_ONLY)
    acquire = leased_versions.acquire

    def acquired(connection: psycopg.Connection[Any], node: Membership, table_id: int) -> Lease:
        lease = acquire(connection, node, table_id)
        left = timedelta(seconds=20 if table_id == tables.airports.table_id else 5)
        return replace(lease, expires_at=lease.expires_at - timedelta(seconds=30) + left)

    monkeypatch.setattr(leased_versions, "acquire", acquired)
    told: list[str] = []
    at_mark(lambda: told.extend(loader._rows.execute("SHOW transaction_timeout").fetchone()))
    loader.load(0, trips("LAX"))
    assert re.fullmatch(r"\d{4}ms|[1-5]s", told[0]), told
