"""Bulk load: every row once, with the entries its indexes put now, or none and a reason."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.elements import Constraint, Index, IndexColumn, IndexId, State
from spark_tasks.jobs.loads import LOADS, start_anew
from spark_tasks.load.chunk import Load, Loader, load_chunks, loader_of
from spark_tasks.load.file_batches import CHUNK_ROWS
from spark_tasks.load.file_identity import identity_of, look_here, require_untouched
from spark_tasks.load.file_pairs import Duplicates, refuse_taken
from spark_tasks.load.file_rows import CannotLoad
from spark_tasks.load.loader_node import Membership, PseudoNode
from spark_tasks.models import LoadJob
from storage.arrow.encoding import concat
from storage.arrow.rows import StoredRows
from storage.encoding import encode
from storage.pairs import StoredRow, column_key, entry_pair, prefix
from tests.spark_tasks.kinds import ADULT, NAMED, TWIN, Change, score
from tests.spark_tasks.runs import entries, to_filling, to_public, tombstones
from tests.storage.stage import BY_NAME, ID, Stage, user, users

BAD = "invalid input syntax for type bigint:"
HOW_ON = "put the first one back, or begin another load"


@pytest.fixture
def node(stage: Stage) -> Iterator[Membership]:
    with PseudoNode(stage.dsn, f"load-{stage.table_id}", pid=1, lease_s=30) as member:
        yield member
    assert stage.sql("SELECT name FROM leases_node WHERE name = %s", [f"load-{stage.table_id}"]) == []


@pytest.fixture
def loader(stage: Stage, node: Membership) -> Iterator[Loader]:
    job = LoadJob.objects.create(table_id=stage.table_id, path="people.csv")
    with Loader(node, job.id, stage.table_id, 2, 3000) as made:
        yield made
    job.delete()


def people(first: int, count: int) -> dict[str, pa.Array]:
    numbers = range(first, first + count)
    return {"id": pa.array([str(n) for n in numbers]), "name": pa.array([f"name {n}" for n in numbers])}


def test_rows_come_in_with_the_entries_their_indexes_put(stage: Stage, loader: Loader) -> None:
    stage.publish(stage.now.with_index(BY_NAME))
    loader.load(0, people(0, 50))
    assert entries(stage) == set(), "delete-only: nothing is put"
    stage.publish(stage.now.with_index_state(BY_NAME.id, State.WRITE_ONLY))
    loader.load(50, people(50, 50))
    assert len(entries(stage)) == 50
    assert stage.violations() == []


def test_the_version_moves_between_two_chunks_and_the_old_lease_is_given_back(stage: Stage, loader: Loader) -> None:
    loader.load(0, people(0, 5))
    stage.publish(stage.now.with_index(BY_NAME))
    loader.load(5, people(5, 5))
    leased = stage.sql("SELECT version FROM leases_lease WHERE table_id = %s", [stage.table_id])
    assert leased == [(2,)]


def test_a_tombstone_gives_way_to_a_loaded_row(stage: Stage, loader: Loader) -> None:
    to_filling(stage)
    row = user(stage.now, 3, "name 3")
    stage.insert([row])
    stage.delete([row])
    assert len(tombstones(stage)) == 1
    loader.load(0, people(0, 10))
    to_public(stage)
    assert stage.violations() == []
    assert len(entries(stage)) == 10


@pytest.fixture
def at_mark(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Something that happens when a loader leaves its n-th mark: its snapshot is older."""

    def happen(number: int, what: Callable[[], object]) -> None:
        marks, mark = iter(range(1, 100)), Loader._mark

        def marked(self: Loader, first: int, count: int) -> None:
            if next(marks) == number:
                what()
            mark(self, first, count)

        monkeypatch.setattr(Loader, "_mark", marked)

    return happen


def test_a_tombstone_that_is_just_written_again_is_waited_for(
    stage: Stage, loader: Loader, at_mark: Callable[[int, Callable[[], object]], None]
) -> None:
    to_filling(stage)
    row = user(stage.now, 3, "name 3")

    def come_and_go() -> None:
        stage.insert([row])
        stage.delete([row])

    come_and_go()
    at_mark(2, come_and_go)
    assert loader.load(0, people(0, 10)) == 1, "a serialization failure, then again"
    assert stage.violations() == []
    assert len(entries(stage)) == 10


def test_a_chunk_that_another_attempt_has_put_over_tombstones_is_done(
    stage: Stage, node: Membership, loader: Loader, at_mark: Callable[[int, Callable[[], object]], None]
) -> None:
    to_filling(stage)
    row = user(stage.now, 3, "name 3")
    stage.insert([row])
    stage.delete([row])
    with Loader(node, loader.job_id, stage.table_id, 2, 3000) as other:
        at_mark(2, lambda: other.load(0, people(0, 10)))
        assert loader.load(0, people(0, 10)) == 0
    assert stage.violations() == []
    assert len(entries(stage)) == 10


def test_a_part_that_goes_on_to_a_version_leaves_the_other_parts_their_leases(
    stage: Stage, at_mark: Callable[[int, Callable[[], object]], None]
) -> None:
    load = Load(stage.dsn, 7, stage.table_id, storages=2, buckets=3000, lease_s=30)
    leased = "SELECT node, version FROM leases_lease WHERE table_id = %s ORDER BY node"
    with loader_of(load, 0) as first, loader_of(load, 1) as second:
        first.load(0, people(0, 5))

        def go_on() -> None:
            stage.publish(stage.now.with_index(BY_NAME))
            first.load(5, people(5, 5))
            assert stage.sql(leased, [stage.table_id]) == [("load-7-0", 2), ("load-7-1", 1)], "the second is within 1"

        at_mark(1, go_on)
        second.load(10, people(10, 5))
    assert stage.sql(leased, [stage.table_id]) == []
    stage.sql("DELETE FROM spark_tasks_loadmark WHERE job_id = 7")


def test_duplicates_are_named_and_nothing_of_the_chunk_is_left(stage: Stage, loader: Loader) -> None:
    stage.insert([user(stage.now, 7, "was here")])
    before = stage.contents()
    with pytest.raises(CannotLoad, match="already there, or twice in the file: row id = 7$"):
        loader.load(0, people(0, 10))
    twice = {name: pa.concat_arrays([column, column]) for name, column in people(20, 1).items()}
    with pytest.raises(CannotLoad, match="row id = 20"):
        loader.load(10, twice)
    assert stage.contents() == before


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        pytest.param(
            {"id": ["1", "x"]}, 'row 2: column id: invalid input syntax for type bigint: "x"', id="not a number"
        ),
        pytest.param({"id": ["1", None]}, "row 2: column id is NOT NULL and has no value", id="a missing key"),
        pytest.param({"name": ["ann"]}, "the file has no column id, which is NOT NULL", id="no key at all"),
        pytest.param(
            {"id": ["1"], "shoe": ["43"]},
            "the file has a column shoe, the table has not; it has id, name, age",
            id="an unknown column",
        ),
        pytest.param(
            {"id": ["1"], "age": ["9999999999"]},
            'row 1: column age: value "9999999999" is out of range for type integer',
            id="out of range",
        ),
        pytest.param({"id": ["1"], "name": ["a\x00b"]}, "row 1: column name: a text may not contain", id="a NUL"),
    ],
)
def test_a_bad_file_is_refused_with_row_and_column(
    stage: Stage, loader: Loader, texts: dict[str, list[str | None]], message: str
) -> None:
    with pytest.raises(CannotLoad) as caught:
        loader.load(0, {name: pa.array(column, pa.string()) for name, column in texts.items()})
    assert message in str(caught.value)
    assert stage.contents() == [{}, {}]


def test_a_load_goes_on_after_its_last_mark(stage: Stage, loader: Loader) -> None:
    chunks = [(first, pa.RecordBatch.from_pydict(people(first, 10))) for first in (0, 10, 20)]
    loader.load(0, people(0, 10))
    said = load_chunks(loader, chunks)
    assert (said.rows, said.error) == (30, "")
    assert stage.violations() == []
    assert load_chunks(loader, chunks).rows == 30, "a third time puts nothing twice"


def test_another_file_does_not_go_on_where_the_first_one_stopped(stage: Stage, loader: Loader) -> None:
    """Its mark would hide rows: a release of before, or who wrote the file anew, cut it otherwise."""
    loader.load(0, people(0, 7))
    chunks = [(first, pa.RecordBatch.from_pydict(people(first, 10))) for first in (0, 10)]
    said = load_chunks(loader, chunks)
    assert said.error.startswith("the file is not the one whose load began"), said
    assert "7 rows from row 1 on are in the table, now there are 10" in said.error


def test_a_file_that_is_replaced_between_two_attempts_is_refused(stage: Stage, spark: None, tmp_path: Path) -> None:
    """Its rows would be passed over where the marks of the first one are, and nobody would know."""
    path = tmp_path / "people.csv"
    job = LoadJob.objects.create(table_id=stage.table_id, path=str(path))

    def attempt(first: int, last: str) -> str:
        path.write_text("\n".join(["id", *map(str, range(first, first + CHUNK_ROWS)), last, ""]))
        start_anew(job)
        LOADS.run(job.id)
        job.refresh_from_db()
        return f"{job.state}, {job.rows_done} rows: {job.error}"

    assert attempt(100_000, "nobody") == f'failed, {CHUNK_ROWS} rows: row 5001: column id: {BAD} "nobody"'
    replaced = f"failed, {CHUNK_ROWS} rows: people.csv is not the file whose load began: "
    assert attempt(200_000, "300000") == f"{replaced}it is as long, and says something else; {HOW_ON}"
    assert attempt(200_000, "3000000") == f"{replaced}it has 35,011 bytes, and had 35,010; {HOW_ON}"
    job.delete()


@pytest.mark.parametrize(
    ("between", "refusal"),
    [
        pytest.param(lambda path: path.write_text("id\n1\n3\n"), "was changed while it was read", id="another one"),
        pytest.param(lambda path: path.unlink(), "cannot be read: No such file", id="none"),
        pytest.param(lambda path: os.utime(path, ns=(1, 1)), None, id="a copy: it says the same"),
    ],
)
def test_a_file_that_is_changed_while_it_is_read_is_refused(
    tmp_path: Path, between: Callable[[Path], object], refusal: str | None
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id\n1\n2\n")
    found = identity_of(path)
    if refusal is None:
        between(path)
        assert look_here(path, found) == (path.stat().st_size, 1)
        return
    here = look_here(path, found)
    between(path)
    with pytest.raises(CannotLoad, match=refusal):
        require_untouched(path, here)


def test_a_job_reads_csv_and_parquet(stage: Stage, spark: None, tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    csv, typed, cut = (tmp_path / f"people.{end}" for end in ("csv", "parquet", "cut.csv"))
    csv.write_text('id,name,age\n1,"a, ""b""\nc",30\n2,,\n')
    parquet.write_table(pa.table({"id": [3, 4], "name": ["x", None], "age": [1, 2]}), typed)
    cut.write_text('id,name\n8,"a\n9,b\n')
    for path in (csv, typed, tmp_path / "none.csv", cut):
        job = LoadJob.objects.create(table_id=stage.table_id, path=str(path))
        LOADS.run(job.id)
    jobs = list(LoadJob.objects.filter(table_id=stage.table_id).order_by("id"))
    assert [(j.state, j.rows_done, j.error) for j in jobs[:2]] == [("done", 2, ""), ("done", 2, "")]
    assert (jobs[2].state, jobs[2].error) == ("failed", f"there is no file {tmp_path / 'none.csv'}")
    assert (jobs[3].state, jobs[3].rows_done) == ("failed", 0)
    assert "a quoted value does not end" in jobs[3].error
    values = {value for pairs in stage.contents() for value in pairs.values()}
    assert b'\x01a, "b"\nc\x00' in values
    assert stage.violations() == []
    LoadJob.objects.filter(table_id=stage.table_id).delete()


def test_a_row_with_too_long_an_entry_is_named_and_nothing_comes_in(stage: Stage, loader: Loader) -> None:
    stage.publish(stage.now.with_index(BY_NAME).with_index_state(BY_NAME.id, State.WRITE_ONLY))
    rows = {"id": pa.array(["1", "2"]), "name": pa.array(["a", "x" * 2600])}
    with pytest.raises(CannotLoad, match="index by_name has no room for row id = 2: its key would take 2619 bytes"):
        loader.load(0, rows)
    assert stage.contents() == [{}, {}]


def test_values_that_follow_from_others_come_in_with_the_rows(stage: Stage, loader: Loader) -> None:
    change = Change((TWIN,))
    change.to_filling(stage)
    ages = {"age": pa.array([str(n) for n in range(5)])}
    loader.load(0, people(0, 5) | ages)
    assert sorted(filter(None, score(stage).values())) == [encode(TWIN.type, str(n)) for n in range(5)]
    assert stage.violations() == []


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        pytest.param(ADULT, "row 3: row id = 2 breaks constraint adult \\(write-only\\)", id="check"),
        pytest.param(NAMED, "row 4: row id = 3 breaks constraint named \\(write-only\\)", id="not null"),
    ],
)
def test_a_row_that_breaks_a_rule_is_named_and_nothing_comes_in(
    stage: Stage, loader: Loader, constraint: Constraint, words: str
) -> None:
    Change((constraint,)).to(stage, State.WRITE_ONLY)
    rows = {
        "id": pa.array([str(n) for n in range(4)]),
        "name": pa.array(["a", "b", "c", None]),
        "age": pa.array(["30", None, "3", "40"]),
    }
    with pytest.raises(CannotLoad, match=words):
        loader.load(0, rows)
    assert stage.contents() == [{}, {}]


def test_a_row_is_named_whichever_of_its_keys_is_taken() -> None:
    """Its existence, or its entry in what guards the primary key where other columns spread the rows."""
    guard = Index(IndexId(1), "guard", (IndexColumn(ID, descending=True),), unique=True)
    table = replace(users(7), indexes=(guard,))
    keys = [user(table, number).key for number in (6, 7)]
    entry = entry_pair(table, table.placement, guard, StoredRow(keys[1]))[0]
    for taken in (entry, column_key(prefix(table, table.placement.id), keys[1])):
        with pytest.raises(Duplicates, match="row id = 7$"):
            refuse_taken(table, StoredRows(pa.array(keys, pa.binary()), {}, concat([])), {taken})
