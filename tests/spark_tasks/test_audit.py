"""The audit finds by name whatever is wrong, and says what `storage.integrity.clauses` says."""

import json
from collections.abc import Callable, Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from catalog import models as catalog
from catalog.elements import ColumnId, State
from spark_tasks.checks.audit import Report, audit_table, first_words
from spark_tasks.models import ReorgRun
from storage.pairs import column_key, prefix
from tests.spark_tasks.runs import Runs, entries, entry_of, to_filling, violation_of
from tests.storage import pairs_sql
from tests.storage.stage import BY_NAME, NAME, Stage, user


@pytest.fixture
def indexed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Ten users and a public index over their names."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    stage.insert(user(stage.now, n, f"name {n % 3}", 30) for n in range(10))
    Runs(stage, stage.table_id).add_index()
    yield stage
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


def audit(stage: Stage) -> Report:
    return audit_table(stage.dsn, stage.table_id, storages=2, buckets=3000)


def home(stage: Stage, key: bytes) -> int:
    return next(n for n, pairs in enumerate(stage.contents(), 1) if key in pairs)


def remove(stage: Stage, key: bytes) -> None:
    stage.sql(*pairs_sql.delete(home(stage, key), stage.table_id, key))


def put(stage: Stage, key: bytes, value: bytes | None, storage: int = 1) -> None:
    stage.sql(*pairs_sql.insert(storage, stage.table_id, key, value))


def pair_of(stage: Stage, number: int, column: int = 0) -> bytes:
    row = user(stage.now, number)
    return column_key(prefix(stage.now, stage.now.placement.id), row.key, ColumnId(column))


def entry(stage: Stage, number: int, name: str) -> bytes:
    return entry_of(stage, user(stage.now, number, name))


def _move(stage: Stage) -> None:
    source = home(stage, pair_of(stage, 5))
    for key in (pair_of(stage, 5), pair_of(stage, 5, NAME), pair_of(stage, 5, 3), entry(stage, 5, "name 2")):
        value = stage.contents()[source - 1][key]
        remove(stage, key)
        put(stage, key, value, 3 - source)


DAMAGE = [
    pytest.param(
        lambda s: remove(s, entry(s, 4, "name 1")),
        ["C4: index by_name has no entry for row id = 4"],
        id="an entry is missing",
    ),
    pytest.param(
        lambda s: put(s, entry(s, 4, "old name"), b""),
        ["C5: index by_name has an entry for row id = 4 with values the row no longer has"],
        id="an entry is stale",
    ),
    pytest.param(
        lambda s: put(s, entry(s, 99, "nobody"), b"", 2),
        ["C5: index by_name has an entry for row id = 99, which does not exist"],
        id="an entry dangles",
        marks=pytest.mark.soak,
    ),
    pytest.param(
        lambda s: put(s, pair_of(s, 99, NAME), b"\x01x\x00"),
        ["C1: column name has a value for row id = 99, which does not exist"],
        id="a value of no row",
        marks=pytest.mark.soak,
    ),
    pytest.param(
        lambda s: put(s, pair_of(s, 4, 9), b"\x02", home(s, pair_of(s, 4))),
        ["C1: a pair of row id = 4 is of column 9, which users@4 does not contain"],
        id="a value of no column",
        marks=pytest.mark.soak,
    ),
    pytest.param(
        lambda s: put(s, entry(s, 4, "name 1")[:7] + b"\x09" + entry(s, 4, "name 1")[8:], b""),
        ["C3: an entry of index 9, which users@4 does not contain"],
        id="an entry of no index",
        marks=pytest.mark.soak,
    ),
    pytest.param(
        lambda s: put(s, entry(s, 4, "name 1") + b"\x00", b""), ["C3: key"], id="an entry whose key cannot be read"
    ),
    pytest.param(
        lambda s: put(s, entry(s, 4, "gone")[:9], None), ["C3: key"], id="a tombstone whose key cannot be read"
    ),
    pytest.param(
        lambda s: put(s, pair_of(s, 99, NAME)[:-2] + b"\x00" + pair_of(s, 99, NAME)[-2:], b"\x01x\x00"),
        ["C7: key"],
        id="a value whose key cannot be read",
    ),
    pytest.param(
        lambda s: put(s, entry(s, 4, "gone"), None),
        ["C7: a tombstone is left in index by_name although the change has ended"],
        id="a tombstone is left",
    ),
    pytest.param(
        _move,
        [
            "C4: index by_name has no entry for row id = 5",
            "C5: the entry of index by_name for row id = 5 lies on storage",
            "C7: row id = 5 lies on storage",
        ],
        id="a row on the wrong storage",
    ),
    pytest.param(
        lambda s: (remove(s, entry(s, 4, "name 1")), put(s, entry(s, 4, "x"), b"")),
        [
            "C4: index by_name has no entry for row id = 4",
            "C5: index by_name has an entry for row id = 4 with values the row no longer has",
        ],
        id="one missing and one stale: the numbers agree, the contents do not",
        marks=pytest.mark.soak,
    ),
]


@pytest.mark.parametrize(("damage", "expected"), DAMAGE)
def test_damage_is_found_with_its_clause_and_words(
    indexed: Stage, damage: Callable[[Stage], object], expected: list[str]
) -> None:
    assert audit(indexed).is_consistent
    damage(indexed)
    found = [violation_of(v) for v in audit(indexed).violations]
    assert [str(v).startswith(words) for v, words in zip(found, expected, strict=True)] == [True] * len(expected)
    judged = indexed.violations()
    assert {(v.clause, v.key) for v in found} == {(v.clause, v.key) for v in judged}
    assert {v.why for v in found} == {v.why for v in judged}


def _of_index_9(entry: bytes) -> bytes:
    return entry[:7] + b"\x09" + entry[8:]


@pytest.mark.parametrize(
    "key",
    [pytest.param(lambda key: key, id="entries that dangle"), pytest.param(_of_index_9, id="entries of no index")],
)
def test_all_violations_are_counted_and_the_first_are_named(indexed: Stage, key: Callable[[bytes], bytes]) -> None:
    for number in range(100, 112):
        put(indexed, key(entry(indexed, number, "nobody")), b"")
    report = audit(indexed)
    assert (len(report.violations), report.violations_total) == (10, 12)
    assert "; 12 violations, 10 of them:\n" in first_words(report)


def test_an_audit_counts_what_it_saw(indexed: Stage) -> None:
    report = audit(indexed)
    assert (report.rows, report.pairs, report.versions) == (10, 10 * 3 + 10, [indexed.now.version])
    assert report.snapshot_s < 5


def test_a_change_that_goes_on_is_no_violation(stage: Stage) -> None:
    row = user(stage.now, 1, "ann")
    stage.insert([row, user(stage.now, 2, "bob")])
    to_filling(stage)
    stage.delete([row])
    report = audit(stage)
    assert report.is_consistent, report.violations
    assert entries(stage) == set()


def test_the_version_before_must_be_complete_while_it_is_leased(indexed: Stage) -> None:
    public = indexed.now
    indexed.publish(public.with_index_state(BY_NAME.id, State.WRITE_ONLY), fence=public.version)
    remove(indexed, entry(indexed, 4, "name 1"))
    assert audit(indexed).is_consistent, "a write-only index may have holes"
    indexed.sql(
        "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
        " VALUES (%s, %s, 'n1', 1, clock_timestamp() + interval '1 minute')",
        [indexed.table_id, public.version],
    )
    report = audit(indexed)
    assert [v["clause"] for v in report.violations] == ["C4"]
    assert report.versions == [public.version, public.version + 1]
    indexed.sql("DELETE FROM leases_lease WHERE table_id = %s", [indexed.table_id])


def test_the_command_answers_with_words_or_json_and_an_exit_code(indexed: Stage) -> None:
    name = catalog.Table.objects.get(id=indexed.table_id).name
    out = StringIO()
    call_command("audit", name, stdout=out)
    assert out.getvalue().startswith(f"consistent: users at version {indexed.now.version}; 10 rows, 40 pairs")
    remove(indexed, entry(indexed, 4, "name 1"))
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("audit", name, "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert (ended.value.code, report["is_consistent"]) == (1, False)
    assert report["violations"][0]["why"] == "index by_name has no entry for row id = 4"
    with pytest.raises(CommandError, match="there is no table nothing; there are: "):
        call_command("audit", "nothing")
