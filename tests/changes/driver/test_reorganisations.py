"""Changes over rows that are there: what a change leaves behind is consistent with what it published (C1 to C7)."""

import json

import pytest
from django.conf import settings

from catalog.elements import State
from catalog.selectors import newest_descriptor
from catalog.values.types import SqlType
from changes import selectors, services
from changes.driver import driver
from changes.executor import machine
from changes.models import Change, Status
from spark_tasks.jobs import phases
from spark_tasks.models import Kind, ReorgRun
from storage import encoding
from storage.buckets import BUCKETS
from storage.integrity.clauses import check
from storage.mutations import insert_row
from storage.pairs import StoredRow, rows_of
from tests.rounds import every, rounds
from tests.storage.postgres_answers import answers_for
from tests.storage.postgres_store import PostgresStore

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
ROWS = 100


def made(statement: str, expected: Status = Status.DONE) -> Change:
    change = services.submit(statement, who="ann")
    assert driver.drive(change.pk, holder="w") == expected
    return change


@pytest.fixture
def people(cluster):
    """A table of people, some without an age."""
    change = made("CREATE TABLE users (id bigint PRIMARY KEY, age integer, name text)")
    table = newest_descriptor(change.table_id)
    store = PostgresStore(cluster.connect, table.table_id, settings.STORAGE_COUNT)
    transaction = store.begin()
    for number in range(ROWS):
        transaction.apply(insert_row(table, person(table, number)))
    transaction.commit()
    return store


def person(table, number: int) -> StoredRow:
    values = {"age": number % 7 or None, "name": f"p{number % 11}"}
    columns = {table.column_named(name): value for name, value in values.items()}
    encoded = {column.id: encoding.encode(column.type, value) for column, value in columns.items()}
    return StoredRow(encoding.encode(SqlType.BIGINT, number), encoded)


def entries(store: PostgresStore, index: int) -> int:
    prefix = store.table_id.to_bytes(4) + (1).to_bytes(2) + index.to_bytes(2)
    return sum(key.startswith(prefix) for pairs in store.contents() for key in pairs)


def violations(store: PostgresStore) -> list:
    table, contents = newest_descriptor(store.table_id), store.contents()
    with store.connect() as connection:
        answers = answers_for(table, contents, connection)
    return check(table, contents, buckets=BUCKETS, answers=answers)


def test_an_index_has_an_entry_for_every_row_and_nothing_else_is_left(people):
    change = made("CREATE INDEX by_age ON users (age DESC, name)")
    table = newest_descriptor(people.table_id)
    assert entries(people, table.index_named("by_age").id) == ROWS
    assert violations(people) == []
    assert Change.objects.get(pk=change.pk).plan["rows"] == ROWS


def test_a_dropped_index_leaves_no_entry(people):
    made("CREATE INDEX by_age ON users (age)")
    index = newest_descriptor(people.table_id).index_named("by_age").id
    made("DROP INDEX by_age")
    assert entries(people, index) == 0
    assert violations(people) == []


def test_a_dropped_table_leaves_no_pair(people):
    made("CREATE INDEX by_age ON users (age)")
    made("DROP TABLE users")
    assert [dict(pairs) for pairs in people.contents()] == [{}] * settings.STORAGE_COUNT


@pytest.mark.parametrize("when", ["after StartRun", "before CloseRun", "before TryDrain"])
def test_x4_an_index_cancelled_at_any_stage_leaves_the_table_as_it_was(people, when):
    before = newest_descriptor(people.table_id)
    change = services.submit("CREATE INDEX by_age ON users (age)", who="ann")
    seen = []

    def hook(name: str) -> None:
        if name == when and not seen:
            seen.append(name)
            services.cancel(change.pk, who="bob")

    assert driver.drive(change.pk, holder="w", hook=hook) == Status.CANCELLED
    after = newest_descriptor(people.table_id)
    assert (after.columns, after.indexes, after.state) == (before.columns, before.indexes, before.state)
    assert entries(people, 1) == 0
    assert violations(people) == []


def fail(monkeypatch, kind: Kind, times: int) -> None:
    """Reorganisations of this kind fail so often, then they work."""
    work, left = phases.WORK[kind], [times]

    def broken(claim) -> None:
        if left[0]:
            left[0] -= 1
            raise phases.RunFailed("the disk is full")
        work(claim)

    monkeypatch.setitem(phases.WORK, kind, broken)


@pytest.mark.parametrize("kind", [Kind.FILL, Kind.VERIFY])
def test_x4_a_reorganisation_that_fails_turns_the_change_back_and_keeps_its_error(people, monkeypatch, kind):
    fail(monkeypatch, kind, times=1)
    change = made("CREATE INDEX by_age ON users (age)", expected=Status.FAILED)
    assert Change.objects.get(pk=change.pk).error == {"message": "the disk is full"}
    assert newest_descriptor(people.table_id).indexes == ()
    assert entries(people, 1) == 0
    assert violations(people) == []


def test_x4_past_the_point_of_no_return_a_failure_is_tried_again(people, monkeypatch):
    fail(monkeypatch, Kind.DELETE, times=1)
    made("DROP TABLE users")
    assert [dict(pairs) for pairs in people.contents()] == [{}] * settings.STORAGE_COUNT


def test_x4_a_failure_that_stays_waits_for_a_person(people, monkeypatch):
    monkeypatch.setattr(machine, "RETRY_S", 0.01)
    fail(monkeypatch, Kind.DELETE, times=machine.RETRIES_MAX + 1)
    change = made("DROP TABLE users", expected=Status.PAUSED)
    assert Change.objects.get(pk=change.pk).error == {"message": "the disk is full"}
    services.resume(change.pk, who="ann")
    assert driver.drive(change.pk, holder="w") == Status.DONE


def test_an_estimate_counts_the_rows_while_they_are_few(people):
    seen = services.preview("CREATE INDEX by_age ON users (age)")
    assert (seen["rows"], seen["rows_exact"]) == (ROWS, True)


@every(3)
def test_x6_a_type_change_may_be_cancelled_at_any_moment_between_its_swap_and_the_next_version(people, every):
    """Before or after each effect in turn; what a client writes there under the swap is there afterwards. The suite
    tries every third moment, the soak each."""
    before = newest_descriptor(people.table_id)
    for at in range(1, 20, every):
        change = services.submit("ALTER TABLE users ALTER age TYPE smallint", who="ann")
        met: list[str] = []

        def hook(name: str, at: int = at, change: Change = change, met: list[str] = met) -> None:
            table = newest_descriptor(people.table_id)
            if any(c.name == "age (was integer)" and c.state is State.WRITE_ONLY for c in table.columns):
                met.append(name)
                if len(met) == at:
                    write(people, table, ROWS + at)
                    services.cancel(change.pk, who="bob")

        status = driver.drive(change.pk, holder="w", hook=hook)
        assert violations(people) == [], met
        if len(met) < at:
            assert status == Status.DONE
            break
        after = newest_descriptor(people.table_id)
        assert (status, after.columns) == (Status.CANCELLED, before.columns), met
    assert {"committed TryPublish", "before TryDrain", "before StartRun", "after StartRun", "before TryPublish"} <= {
        *met
    }
    table = newest_descriptor(people.table_id)
    pairs = [pair for storage in people.contents() for pair in storage.items()]
    written = {row.key: row.columns for row in rows_of(table, table.placement, pairs)}
    for number in range(ROWS + 1, ROWS + at, every):
        row = person(table, number)
        assert written[row.key] == row.columns


def write(people: PostgresStore, table, number: int) -> None:
    transaction = people.begin()
    transaction.apply(insert_row(table, person(table, number)))
    transaction.commit()


EVERY_KIND = (
    "CREATE UNIQUE INDEX one ON users (id DESC) WHERE age > 2",
    "ALTER TABLE users ADD nick text",
    "ALTER TABLE users ADD town text DEFAULT 'Ulm', ADD score integer NOT NULL DEFAULT 7 CHECK (score > age - 8)",
    "CREATE INDEX by_score ON users (score, town DESC)",
    "ALTER TABLE users ALTER name SET NOT NULL, ALTER name SET DEFAULT 'nobody'",
    "ALTER TABLE users ADD CONSTRAINT young CHECK (age < 9), ADD code bigint DEFAULT 5, DROP nick",
    "ALTER TABLE users ALTER code TYPE numeric(8,2)",
    "CREATE INDEX by_code ON users (code DESC, name)",
    "DROP INDEX by_code",
    "ALTER TABLE users ALTER code TYPE numeric(9,2), ADD price numeric NOT NULL DEFAULT 1.50 CHECK (price * 2 > 2.9)",
    "CREATE UNIQUE INDEX by_price ON users (price, id) WHERE price < 2",
    "ALTER TABLE users ALTER code TYPE numeric(4,1)",
    "ALTER TABLE users DROP price, ALTER code TYPE text",
)
OF_OTHER_TYPES = (
    """ALTER TABLE users ADD note jsonb DEFAULT '{"b": 1, "a": [1.50]}' CHECK (note ? 'a')""",
    "ALTER TABLE users DROP CONSTRAINT users_note_check",
    "ALTER TABLE users ALTER note TYPE json",
    "ALTER TABLE users ALTER note TYPE text",
    "ALTER TABLE users ALTER note TYPE jsonb",
    "ALTER TABLE users DROP note",
    "ALTER TABLE users ALTER code TYPE bytea",
    "CREATE INDEX by_bytes ON users (code DESC, name)",
    "DROP INDEX by_bytes",
    "ALTER TABLE users ALTER code TYPE text, ADD data bytea NOT NULL DEFAULT '\\x0001' CHECK (length(data) > 1)",
    "CREATE UNIQUE INDEX by_data ON users (data, id)",
    "ALTER TABLE users DROP data, ADD at time NOT NULL DEFAULT '09:00'",
    "ALTER TABLE users ADD takes interval DEFAULT '1 mon' CHECK (takes > '1 d')",
    "CREATE UNIQUE INDEX by_takes ON users (takes DESC, at, id)",
    "DROP INDEX by_takes",
    "ALTER TABLE users ALTER at TYPE text, ALTER takes DROP DEFAULT",
    "ALTER TABLE users DROP takes, DROP at",
    "ALTER TABLE users ADD seen timestamp(5) NOT NULL DEFAULT '1999-12-31 23:59:59.123455'",
    "ALTER TABLE users ALTER seen TYPE timestamp(6)",
    "ALTER TABLE users ALTER seen TYPE timestamp(3)",
    "CREATE UNIQUE INDEX by_seen ON users (seen, id)",
    "ALTER TABLE users ALTER seen TYPE timestamp",
    "DROP INDEX by_seen",
    "ALTER TABLE users ALTER seen TYPE timestamptz(0)",
    "ALTER TABLE users DROP seen",
)
NAMES = (
    "ALTER TABLE users RENAME COLUMN name TO called",
    "ALTER INDEX by_score RENAME TO by_points",
    "ALTER TABLE users RENAME TO persons",
    "ALTER TABLE persons DROP CONSTRAINT young, ALTER called DROP NOT NULL",
    "ALTER TABLE persons DROP age, DROP score",
)


@rounds(few=(), many=OF_OTHER_TYPES)
def test_every_kind_of_change_leaves_what_its_last_version_says(people, rounds):
    for statement in (*EVERY_KIND, *rounds, *NAMES):
        made(statement)
        assert violations(people) == [], statement
    table = newest_descriptor(people.table_id)
    assert [(c.name, c.type) for c in table.columns] == [
        ("id", SqlType.BIGINT), ("called", SqlType.TEXT), ("town", SqlType.TEXT), ("code", SqlType.TEXT),
    ]  # fmt: skip
    assert (table.name, table.indexes, table.constraints) == ("persons", (), ())


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        pytest.param("ALTER TABLE users ADD UNIQUE (age, name)", "users_age_name_key", id="rows that are the same"),
        pytest.param("ALTER TABLE users ALTER age SET NOT NULL", "users_age_not_null", id="rows without a value"),
        pytest.param("ALTER TABLE users ADD CONSTRAINT old CHECK (age > 3)", "old", id="rows that break a check"),
        pytest.param("ALTER TABLE users ALTER name TYPE integer", "p", id="values that can't be cast"),
        pytest.param("ALTER TABLE users ALTER age TYPE numeric(2,2)", "numeric field overflow", id="numbers too large"),
        pytest.param("ALTER TABLE users ADD c int DEFAULT 4, ADD UNIQUE (c, name)", "users_c_name_key", id="together"),
    ],
)
def test_rows_that_do_not_fit_turn_the_change_back_and_are_named(people, statement, said):
    before = newest_descriptor(people.table_id)
    change = made(statement, Status.FAILED)
    after = newest_descriptor(people.table_id)
    assert said in Change.objects.get(pk=change.pk).error["message"]
    assert (after.columns, after.indexes, after.constraints) == (before.columns, before.indexes, before.constraints)
    assert violations(people) == []


@pytest.mark.parametrize(
    ("statement", "characters"),
    [
        ("ALTER TABLE users ALTER name TYPE integer", 240_000),
        ("ALTER TABLE users ALTER name TYPE varchar(9)", 240_000),
        ("ALTER TABLE users ADD CHECK (length(name) < 9)", 240_000),
        ("ALTER TABLE users ADD CHECK (name::int > 0)", 240_000),
        ("CREATE INDEX of_name ON users (name) WHERE name::int > 0", 240_000),
        ("CREATE INDEX by_name ON users (name)", 240_000),
        ("CREATE UNIQUE INDEX one_name ON users (name)", 2_000),
        ("ALTER TABLE users ADD FOREIGN KEY (name) REFERENCES towns", 2_000),
    ],
)
def test_the_error_of_a_change_shows_the_beginning_of_a_value(people, statement: str, characters: int) -> None:
    made("CREATE TABLE towns (name text PRIMARY KEY)")
    table = newest_descriptor(people.table_id)
    transaction = people.begin()
    for number in (-2, -1):
        value = encoding.encode(SqlType.TEXT, "7x" * (characters // 2))
        row = StoredRow(encoding.encode(SqlType.BIGINT, number), {table.column_named("name").id: value})
        transaction.apply(insert_row(table, row))
    transaction.commit()
    change = Change.objects.get(pk=made(statement, Status.FAILED).pk)
    assert change.error is not None
    runs = ReorgRun.objects.filter(change_id=change.pk).values_list("error", "violations")
    assert "7x" * 40 not in json.dumps([change.error, list(runs)])
    assert len(change.error["message"]) < 3000
    page = json.dumps(selectors.change_snapshot(change.pk)["failure"])
    assert "7x" * 40 not in page
