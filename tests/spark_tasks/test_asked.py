"""Elements whose expressions PostgreSQL alone computes: filled, verified, audited and loaded as any other."""

from collections.abc import Iterator
from hashlib import md5

import pyarrow as pa
import pytest

from catalog.elements import Column, Constraint, ConstraintId, Derivation, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.rows import is_local
from spark_tasks.checks.audit import Report, audit_table
from spark_tasks.load.chunk import Loader
from spark_tasks.load.file_rows import CannotLoad
from spark_tasks.load.loader_node import PseudoNode
from spark_tasks.models import Kind, LoadJob
from spark_tasks.services import close_run
from storage import encoding
from storage.answering import asking
from storage.asking import question_sql
from storage.encoding import encode
from storage.pairs import column_key, entry_pair, prefix
from tests.spark_tasks.kinds import ADDED, Change, score
from tests.spark_tasks.runs import Runs
from tests.storage import pairs_sql
from tests.storage.stage import AGE, NAME, Stage, user

LOW_HASH = "md5(\"#2\") < '8'"
BY_HASH = Index(IndexId(1), "by_hash", (IndexColumn(AGE),), where=LOW_HASH)
HASH = Column(ADDED, "hash", SqlType.TEXT, derived=Derivation(NAME, 'md5("#2")', None))
ROOTED = Index(IndexId(1), "rooted", (IndexColumn(NAME),), where='sqrt("#3"::double precision) > 2')
ROOT = Column(ADDED, "root", SqlType.DOUBLE, derived=Derivation(AGE, 'sqrt("#3"::double precision)', None))
HASHED = Constraint(ConstraintId(1), "hashed", "check", (NAME,), LOW_HASH)
POSITIVE = Constraint(ConstraintId(1), "rooted", "check", (AGE,), 'sqrt("#3"::double precision) > 2')
NO_ROOT = "cannot take square root of a negative number"


@pytest.fixture
def loader(stage: Stage) -> Iterator[Loader]:
    job = LoadJob.objects.create(table_id=stage.table_id, path="people.csv")
    with (
        PseudoNode(stage.dsn, f"load-{stage.table_id}", pid=1, lease_s=30) as node,
        Loader(node, job.id, stage.table_id, 2, 3000) as made,
    ):
        yield made
    job.delete()


NAMES = [f"name {n % 9}" for n in range(40)]


def hash_of(name: str) -> str:
    return md5(name.encode(), usedforsecurity=False).hexdigest()


def is_low(name: str) -> bool:
    return hash_of(name) < "8"


def insert(stage: Stage, ages: dict[int, int] | None = None) -> None:
    stage.insert(user(stage.now, n, name, (ages or {}).get(n, n)) for n, name in enumerate(NAMES))


def entries_of(stage: Stage, index: Index) -> set[bytes]:
    start = prefix(stage.now, stage.now.placement.id, index.id)
    return {key for pairs in stage.contents() for key in pairs if key.startswith(start)}


def entry(stage: Stage, number: int, age: int) -> bytes:
    return entry_pair(stage.now, stage.now.placement, BY_HASH, user(stage.now, number, NAMES[number], age))[0]


def audit(stage: Stage) -> Report:
    return audit_table(stage.dsn, stage.table_id, storages=2, buckets=3000)


def test_postgresql_alone_computes_them(stage: Stage) -> None:
    for text in (LOW_HASH, 'md5("#2")', 'sqrt("#3"::double precision)'):
        assert not is_local(stage.now, text)


def test_a_partial_index_is_filled_verified_and_audited(stage: Stage, runs: Runs) -> None:
    insert(stage)
    change = Change((BY_HASH,))
    change.to_filling(stage)
    for kind in ("fill", "verify"):
        assert runs.do(kind, *change.said).error == ""
    close_run(runs.of(Kind.FILL).id)
    change.to(stage, State.PUBLIC)
    assert runs.do("purge", *change.said).state == "done"
    low = {entry(stage, n, n) for n, name in enumerate(NAMES) if is_low(name)}
    assert entries_of(stage, BY_HASH) == low
    assert audit(stage).is_consistent


def test_an_audit_names_entries_that_its_condition_does_not_accept_and_those_that_are_missing(stage: Stage) -> None:
    insert(stage)
    stage.publish(Change((BY_HASH,)).at(stage.now, State.DELETE_ONLY))
    stage.publish(Change((BY_HASH,)).at(stage.now, State.PUBLIC))
    low, high = (next(n for n, name in enumerate(NAMES) if is_low(name) is wanted) for wanted in (True, False))
    for n, name in enumerate(NAMES):
        if is_low(name) and n != low:
            put_with_its_row(stage, n, entry(stage, n, n))
    put_with_its_row(stage, high, entry(stage, high, high))
    found = sorted(violation["why"] for violation in audit(stage).violations)
    assert found == [
        f"index by_hash has an entry for row id = {high}, which its condition does not accept",
        f"index by_hash has no entry for row id = {low}",
    ]


def put_with_its_row(stage: Stage, number: int, key: bytes) -> None:
    row = column_key(prefix(stage.now, stage.now.placement.id), user(stage.now, number).key)
    home = next(n for n, pairs in enumerate(stage.contents(), 1) if row in pairs)
    stage.sql(*pairs_sql.insert(home, stage.table_id, key, b""))


def test_spark_does_what_this_process_does(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch, spark: None
) -> None:
    monkeypatch.setattr("spark_tasks.spark.session.ROWS_IN_PROCESS_MAX", 0)
    insert(stage, {11: -1})
    change = Change((BY_HASH,))
    change.to_filling(stage)
    for kind in ("fill", "verify"):
        assert runs.do(kind, *change.said).error == ""
    low = {entry(stage, n, -1 if n == 11 else n) for n, name in enumerate(NAMES) if is_low(name)}
    assert entries_of(stage, BY_HASH) == low
    failing = Change((ROOT,))
    failing.to_filling(stage)
    assert runs.do("fill", *failing.said).error.startswith(f"column root has no value for row id = 11: {NO_ROOT}")


def test_a_derived_column_is_filled_and_verified(stage: Stage, runs: Runs) -> None:
    insert(stage)
    change = Change((HASH,))
    change.to_filling(stage)
    for kind in ("fill", "verify"):
        assert runs.do(kind, *change.said).error == ""
    hashes = [encode(SqlType.TEXT, hash_of(name)) for name in NAMES]
    assert sorted(value for value in score(stage).values() if value is not None) == sorted(hashes)


def test_a_verification_names_a_derived_value_that_does_not_follow(stage: Stage, runs: Runs) -> None:
    insert(stage)
    change = Change((HASH,))
    change.to_filling(stage)
    runs.do("fill", *change.said)
    row = user(stage.now, 7)
    key = column_key(prefix(stage.now, stage.now.placement.id), row.key, ADDED)
    home = next(n for n, pairs in enumerate(stage.contents(), 1) if key in pairs)
    stage.sql(*pairs_sql.delete(home, stage.table_id, key))
    stage.sql(*pairs_sql.insert(home, stage.table_id, key, encode(SqlType.TEXT, "another")))
    why = "column hash has a value for row id = 7 that does not follow from its source"
    assert why in runs.do("verify", *change.said).error


@pytest.mark.parametrize(
    ("change", "what"),
    [
        pytest.param(Change((ROOT,)), "column root", id="derived column"),
        pytest.param(Change((ROOTED,)), "the condition of index rooted", id="partial index"),
    ],
)
def test_a_fill_that_meets_rows_without_a_value_names_them(stage: Stage, runs: Runs, change: Change, what: str) -> None:
    insert(stage, {11: -1, 23: -5})
    change.to_filling(stage)
    status = runs.do("fill", *change.said)
    assert status.state == "failed"
    both = [f"{what} has no value for row id = {n}: {NO_ROOT}" for n in (11, 23)]
    assert status.error.split("\n")[0] in both
    assert sorted(violation["why"] for violation in status.violations) == both
    assert {violation["sqlstate"] for violation in status.violations} == {"2201F"}


def test_a_verification_names_rows_that_break_a_check_and_those_for_which_it_has_no_value(
    stage: Stage, runs: Runs
) -> None:
    insert(stage, dict.fromkeys(range(40), 9) | {3: 1, 5: -1})
    change = Change((POSITIVE,))
    change.to(stage, State.WRITE_ONLY)
    error = runs.do("verify", *change.said).error
    assert error == (
        "2 rows break constraint rooted\nconstraint rooted: row id = 3 with (age) = (1),"
        f" row id = 5 with (age) = (-1) breaks constraint rooted, which has no value for it: {NO_ROOT}"
    )


def test_a_load_puts_what_follows_and_names_the_row_that_has_no_value(stage: Stage, loader: Loader) -> None:
    Change((ROOT,)).to_filling(stage)
    numbers = [str(n) for n in range(5)]
    loader.load(0, {"id": pa.array(numbers), "name": pa.array(numbers), "age": pa.array(["4", "9", "4", None, "0"])})
    found = sorted(encoding.decode(SqlType.DOUBLE, value)[0] or -1.0 for value in score(stage).values() if value)
    assert found == [-1.0, -1.0, 2.0, 2.0, 3.0]
    with pytest.raises(CannotLoad, match=f"column root has no value for row id = 9: {NO_ROOT}"):
        loader.load(5, {"id": pa.array(["8", "9"]), "age": pa.array(["1", "-1"])})


def test_a_load_names_the_row_that_breaks_a_check(stage: Stage, loader: Loader) -> None:
    Change((HASHED,)).to(stage, State.WRITE_ONLY)
    low, high = (next(name for name in NAMES if is_low(name) is wanted) for wanted in (True, False))
    with pytest.raises(CannotLoad, match="row 2: row id = 2 breaks constraint hashed"):
        loader.load(0, {"id": pa.array(["1", "2"]), "name": pa.array([low, high])})


def test_a_question_leaves_nothing_behind_in_the_transaction(stage: Stage) -> None:
    sql = question_sql(stage.now, 'sqrt("#3"::double precision)', SqlType.DOUBLE)
    with stage.connect() as connection:
        before = connection.execute("SELECT current_user, current_setting('search_path')").fetchone()
        ask = asking(connection)
        assert list(ask(sql, [[encode(SqlType.INTEGER, 4)]])) == [encoding.encode_value(SqlType.DOUBLE, 2.0)]
        with pytest.raises(SqlError, match=NO_ROOT) as caught:
            ask(sql, [[encode(SqlType.INTEGER, -4)]])
        assert caught.value.sqlstate == "2201F"
        assert connection.execute("SELECT current_user, current_setting('search_path')").fetchone() == before


def test_the_reader_may_not_read_pairs(stage: Stage) -> None:
    with stage.connect() as connection, pytest.raises(SqlError) as caught:
        asking(connection)(f"SELECT v FROM storage_1.kv_{stage.table_id}", [])
    assert caught.value.sqlstate == "42501"
