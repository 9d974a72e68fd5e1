"""What a verification says while it works and at its end, and what its repair puts (R10)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from catalog.database import database_dsn
from catalog.elements import State
from catalog.values.types import SqlType
from spark_tasks.checks import range_check
from spark_tasks.checks.entry_checks import EntryJudge
from spark_tasks.chunks import scan
from spark_tasks.chunks.chunk import RunToken
from spark_tasks.jobs.claim import Claim
from spark_tasks.jobs.lifecycle import WasClosed
from spark_tasks.jobs.reorganisations import RUNS
from spark_tasks.models import Kind, ReorgPulse, ReorgRange, RunRequest
from spark_tasks.reorganise import repair, verify
from spark_tasks.runs.report import NAMED_MAX, Finding, first_of_each_kind, gather
from spark_tasks.services import close_run, run_status
from storage import encoding
from storage.arrow.rows import StoredRows
from storage.integrity.clauses import Violation
from storage.integrity.offenders import values_of_entry
from storage.pairs import StoredRow, column_key, prefix
from tests.spark_tasks.kinds import ADULT, NAMED, UNIQUE, Change
from tests.spark_tasks.runs import INDEX, Runs, claim_run, entry_of, to_filling
from tests.storage import pairs_sql
from tests.storage.stage import AGE, NAME, Stage, user

ONE_NAME = Change((UNIQUE,))


def filled(stage: Stage, runs: Runs, change: Change) -> None:
    change.to_filling(stage)
    assert runs.do("fill", *change.said).state == "done"


# --- while it works


@pytest.fixture
def ranged(stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> int:
    """A verification of forty rows in several ranges, not begun."""
    monkeypatch.setattr("spark_tasks.runs.ranges.FILL_ROWS", 5)
    stage.insert(user(stage.now, n, f"name {n}") for n in range(40))
    to_filling(stage)
    assert runs.do("fill").state == "done"
    return runs.start("verify", INDEX)


def after_each_range(monkeypatch: pytest.MonkeyPatch, then: Any) -> None:
    judge_range = range_check.Judge.range

    def judged(self: range_check.Judge, *where: Any) -> Finding:
        found = judge_range(self, *where)
        then(found)
        return found

    monkeypatch.setattr(range_check.Judge, "range", judged)


def marked(run_id: int) -> list[int]:
    return [r.rows_done for r in ReorgRange.objects.filter(run_id=run_id) if r.is_done]


def test_each_range_is_marked_when_it_is_judged(ranged: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    after_each_range(monkeypatch, lambda found: told.append(sum(marked(ranged))))
    RUNS.run(ranged)
    assert len(told) >= 6
    assert told == sorted(told)
    assert told[0] == 0
    assert 0 < told[1] < told[-1] < 40
    status = run_status(ranged)
    assert (status.state, status.rows_done, status.rows_total, sum(marked(ranged))) == ("done", 40, 40, 40)


def test_a_row_is_judged_when_its_entries_are_and_the_total_is_known_when_rows_are_read(
    ranged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress would stand at what an estimate says while entries are compared, and jump at the end."""
    seen: list[tuple[int, int, int]] = []
    screen = EntryJudge.screen

    def screened(self: EntryJudge, connection: Any, storage: int, rows: StoredRows, *rest: Any, **more: Any) -> None:
        [at] = ReorgRange.objects.filter(run_id=ranged, is_done=False, rows_done__gt=0)
        seen.append((at.rows_done, at.rows_total, len(rows)))
        assert not run_status(ranged).is_exact
        screen(self, connection, storage, rows, *rest, **more)

    ReorgRange.objects.all().update(rows_total=1000)
    monkeypatch.setattr(EntryJudge, "screen", screened)
    RUNS.run(ranged)
    assert seen
    assert all((done, total) == (rows // 2, rows) for done, total, rows in seen)
    status = run_status(ranged)
    assert (status.rows_total, status.is_exact, status.share) == (40, True, 1.0)


def test_a_paused_verification_stops_between_two_ranges_and_begins_anew(
    ranged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulse, rows = ReorgPulse.objects.filter(run_id=ranged), []

    def pause(found: Finding) -> None:
        rows.append(found.rows)
        pulse.update(wanted=RunRequest.PAUSE)

    with monkeypatch.context() as paused:
        after_each_range(paused, pause)
        RUNS.run(ranged)
    assert (run_status(ranged).state, len(rows), len(marked(ranged))) == ("waiting", 1, 1)
    pulse.update(wanted=RunRequest.RUN)
    after_each_range(monkeypatch, lambda found: rows.append(found.rows))
    RUNS.run(ranged)
    assert (run_status(ranged).state, sum(rows[1:])) == ("done", 40), "another snapshot: all rows again"


def test_a_pause_is_heard_within_a_range(ranged: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges may have hundreds of thousands of rows."""
    monkeypatch.setattr(range_check, "ROWS_AT_ONCE", 2)
    judge_values, judged = range_check.Judge._values, []

    def pausing(*arguments: Any) -> None:
        judge_values(*arguments)
        judged.append(len(arguments[3]))
        ReorgPulse.objects.filter(run_id=ranged).update(wanted=RunRequest.PAUSE)

    monkeypatch.setattr(range_check.Judge, "_values", pausing)
    RUNS.run(ranged)
    assert (run_status(ranged).state, judged) == ("waiting", [2])


def test_what_is_counted_and_not_found_by_name_is_no_success(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.insert(user(stage.now, n, f"name {n}") for n in range(10))
    to_filling(stage)
    assert runs.do("fill").state == "done"
    counts = EntryJudge._counts
    monkeypatch.setattr(EntryJudge, "_counts", lambda self, connection, found: [*counts(self, connection, found), 3])
    status = runs.do("verify")
    assert (status.state, status.violations) == ("failed", [])
    assert status.error == "3 violations of C5 index by_name were counted, and none was found by name"


def test_a_closed_verification_judges_no_further_range(ranged: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []

    def close(found: Finding) -> None:
        rows.append(found.rows)
        close_run(ranged)

    after_each_range(monkeypatch, close)
    RUNS.run(ranged)
    assert (len(rows), run_status(ranged).error) == (1, "closed before it ended")


# --- what it says at its end


def test_of_many_duplicates_ten_pairs_are_named_and_all_are_counted(stage: Stage, runs: Runs) -> None:
    stage.insert(user(stage.now, n, f"name {n % 13}") for n in range(26))
    filled(stage, runs, ONE_NAME)
    status = runs.do("verify", *ONE_NAME.said)
    assert {v["clause"] for v in status.violations} == {"C6"}
    assert len(status.violations) == NAMED_MAX
    assert status.error.startswith("13 violations of index one_name\nindex one_name, the first 10: row id = ")
    assert "row id = 0 and row id = 13 have the same value (name) = ('name 0') in unique index one_name" in status.error


def test_rows_of_several_rules_are_told_apart(stage: Stage, runs: Runs) -> None:
    change = Change((ADULT, NAMED))
    stage.insert(user(stage.now, n, None if n == 3 else "x", n) for n in range(30))
    change.to(stage, State.WRITE_ONLY)
    status = runs.do("verify", *change.said)
    ten = ", ".join(f"row id = {n} with (age) = ({n})" for n in range(10))
    assert status.error == (
        "18 rows break constraint adult; row id = 3 has NULL in name, which constraint named forbids\n"
        f"constraint adult, the first 10: {ten}"
    )
    assert len(status.violations) == 11


def test_a_check_without_a_value_breaks_it(stage: Stage, runs: Runs) -> None:
    change = Change((replace(ADULT, expression='100 / "#3" > 0'),))
    stage.insert([user(stage.now, 1, "x", 0), user(stage.now, 2, "x", 5), user(stage.now, 3, "x", None)])
    change.to(stage, State.WRITE_ONLY)
    why = "row id = 1 with (age) = (0) breaks constraint adult, which has no value for it: division by zero"
    assert runs.do("verify", *change.said).error == why


def test_of_each_kind_the_first_are_named_whatever_comes_before() -> None:
    found, other = Finding(), Finding()
    found.note("C2", "column a", 1_000_000, (Violation("C2", 1, bytes([n]), "no value") for n in range(200, 255)))
    other.note("C2", "column a", 3, [Violation("C2", 2, bytes([n]), "no value") for n in range(3)])
    other.note("C6", "constraint c", 1, [Violation("C6", 1, b"\xff", "breaks")])
    found.merge(other)
    assert (found.count_of("C2", "column a"), found.count_of("C6", "constraint c")) == (1_000_003, 1)
    assert [v["key"] for v in found.violations] == ["00", "01", "02", *(f"{n:02x}" for n in range(200, 207)), "ff"]
    assert first_of_each_kind(found.violations * 2) == found.violations


# --- repair


@dataclass
class Need:
    """A claimed verification of two rows that both were ann; the entry's holder became bea: `number` lacks its own."""

    stage: Stage
    claim: Claim
    number: int

    @property
    def run_token(self) -> RunToken:
        return RunToken(database_dsn(), self.claim.run.id, self.claim.token)

    def found(self) -> Finding:
        return verify.compare(self.claim, self.run_token)

    def repair(self, found: Finding) -> list[str]:
        return [refused["why"] for refused in verify.repair(self.claim, self.run_token, found).violations]

    def entries(self) -> dict[str, int]:
        """The names that have an entry, and whose."""
        numbers = {user(self.stage.now, n).key: n for n in range(10)}
        held = {numbers[v]: k for pairs in self.stage.contents() for k, v in pairs.items() if k[7] == UNIQUE.id and v}
        return {encoding.decode(SqlType.TEXT, values_of_entry(key))[0]: number for number, key in held.items()}


@pytest.fixture
def need(stage: Stage, runs: Runs) -> Need:
    return needed(stage, runs)


def needed(stage: Stage, runs: Runs, age: int | None = None) -> Need:
    stage.insert([user(stage.now, 1, "ann", age), user(stage.now, 2, "ann", age)])
    filled(stage, runs, ONE_NAME)
    [holder] = [value for pairs in stage.contents() for key, value in pairs.items() if key[7] == UNIQUE.id and value]
    number = 2 if holder == user(stage.now, 1).key else 1
    stage.rename(user(stage.now, 3 - number, "ann", age), "bea")
    claim = claim_run(runs.start("verify", *ONE_NAME.said))
    assert claim is not None
    return Need(stage, claim, number)


def test_an_entry_that_nobody_holds_is_put(need: Need) -> None:
    found = need.found()
    assert found.lacking == [(UNIQUE.id, user(need.stage.now, need.number).key.hex())]
    assert need.entries() == {"bea": 3 - need.number}
    assert need.repair(found) == []
    assert need.entries() == {"ann": need.number, "bea": 3 - need.number}
    assert need.found().counts == {}


def test_a_row_that_is_gone_needs_nothing(need: Need) -> None:
    found = need.found()
    need.stage.delete([user(need.stage.now, need.number, "ann")])
    assert need.repair(found) == []
    assert need.entries() == {"bea": 3 - need.number}


def test_a_row_that_has_changed_keeps_what_its_writer_put(need: Need) -> None:
    found = need.found()
    need.stage.rename(user(need.stage.now, need.number, "ann"), "eve")
    assert need.repair(found) == []
    assert need.entries() == {"eve": need.number, "bea": 3 - need.number}


def test_an_entry_with_null_lies_with_its_row_whatever_spreads_the_rows(stage: Stage, runs: Runs) -> None:
    """Rows of age 18 lie on the first storage, rows without an age on the second."""
    spread = replace(stage.now.placement, sharding_key=(AGE,))
    stage.publish(stage.now.next_version(placements=(spread,)))
    need = needed(stage, runs, age=18)
    found = need.found()
    assert len(found.lacking) == 1
    stage.delete([user(stage.now, need.number, "ann", 18)])
    stage.insert([user(stage.now, need.number, None, 18)])
    assert need.repair(found) == []
    assert stage.violations() == []


def test_a_repair_that_is_refused_names_both_rows(need: Need) -> None:
    found = need.found()
    need.stage.insert([user(need.stage.now, 7, "ann")])
    same = "have the same value (name) = ('ann') in unique index one_name"
    assert need.repair(found) == [f"row id = {need.number} and row id = 7 {same}"]
    assert need.entries() == {"ann": 7, "bea": 3 - need.number}


def test_a_writer_between_reading_and_putting_makes_the_repair_read_again(
    need: Need, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the entry of a name that the row no longer has would be put (C5)."""
    found, names, read = need.found(), [], repair.Repair._read

    def read_and_wait(self: repair.Repair, *args: Any) -> StoredRow | None:
        row = read(self, *args)
        assert row is not None
        names.append(encoding.decode(SqlType.TEXT, row.columns[NAME])[0])
        if len(names) == 1:
            need.stage.rename(user(need.stage.now, need.number, "ann"), "eve")
        return row

    monkeypatch.setattr(repair.Repair, "_read", read_and_wait)
    assert need.repair(found) == []
    assert (names, need.entries()) == (["ann", "eve"], {"eve": need.number, "bea": 3 - need.number})


def test_a_repair_of_a_closed_run_puts_nothing(need: Need) -> None:
    found = need.found()
    close_run(need.claim.run.id)
    with pytest.raises(WasClosed, match="has another token"):
        need.repair(found)
    assert need.entries() == {"bea": 3 - need.number}


def test_a_repair_under_a_newer_version_puts_nothing(need: Need) -> None:
    found = need.found()
    ONE_NAME.to(need.stage, State.DELETE_ONLY)
    with pytest.raises(WasClosed, match=r"fills users@3, the table is at users@4"):
        need.repair(found)


def test_a_repair_leaves_no_node_and_no_lease_behind(need: Need) -> None:
    need.repair(need.found())
    assert need.stage.sql("SELECT count(*) FROM leases_lease WHERE table_id = %s", [need.stage.table_id]) == [(0,)]
    assert need.stage.sql("SELECT count(*) FROM leases_node WHERE name LIKE 'repair-%%'", []) == [(0,)]


def test_more_entries_than_are_reported_at_a_time_are_put_all(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_tasks.runs.report.LACKING_MAX", 2)
    lack_five(stage, runs)
    status = runs.do("verify", *ONE_NAME.said)
    assert (status.state, status.error) == ("done", "")


def test_a_repair_that_does_not_help_is_no_success(stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair.Repair, "_put", lambda *_: None)
    lack_five(stage, runs)
    status = runs.do("verify", *ONE_NAME.said)
    assert status.state == "failed"
    assert status.error.startswith(
        "5 violations of index one_name\nindex one_name: index one_name has no entry for row id = 0, "
    )


def lack_five(stage: Stage, runs: Runs) -> None:
    """Names that other rows held when the fill came, and then gave up."""
    change, rows = ONE_NAME, [user(stage.now, n, f"name {n}") for n in range(5)]
    others = [user(stage.now, 10 + n, f"name {n}") for n in range(5)]
    stage.insert(rows)
    change.to_filling(stage)
    stage.insert(others)
    runs.begin_fill(*change.said)
    stage.delete(others)
    assert runs.do("fill", *change.said).state == "done"


def test_rows_that_share_a_name_without_any_entry_are_duplicates(need: Need) -> None:
    stage = need.stage
    stage.rename(user(stage.now, 3 - need.number, "bea"), "carl")
    start = prefix(stage.now, stage.now.placement.id)
    at, value = column_key(start, user(stage.now, 3 - need.number).key, NAME), encoding.encode(SqlType.TEXT, "ann")
    for storage in (1, 2):
        stage.sql(*pairs_sql.change(storage, stage.table_id, at, value))
    found = need.found()
    why = "row id = 1 and row id = 2 have the same value (name) = ('ann') in unique index one_name"
    assert [v["why"] for v in found.violations if v["clause"] == "C6"] in ([why], [swapped(why)])
    assert not verify.is_repairable(found)
    judged = need.stage.violations(ONE_NAME.at(stage.now, State.PUBLIC))
    assert {v.why for v in judged if v.clause == "C6"} == {v["why"] for v in found.violations if v["clause"] == "C6"}


def swapped(why: str) -> str:
    """The rows stand in the order of their storages."""
    return why.replace("row id = 1 and row id = 2", "row id = 2 and row id = 1")


@pytest.mark.parametrize("parts", [pytest.param(1, id="at once"), pytest.param(2, id="in two parts")])
def test_entries_are_counted_while_they_are_compared(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    """Those that no row has are found by their number, also before the first and behind the last that a row has. Where
    rows are read part by part, all entries are counted beside the first of them."""

    def in_parts(*args: Any) -> Iterator[StoredRows]:
        for rows in scan.rows_in_parts(*args):
            size = -(-len(rows) // parts)
            yield from (rows.slice(first, size) for first in range(0, len(rows), size))

    monkeypatch.setattr(range_check, "rows_in_parts", in_parts)
    stage.insert(user(stage.now, n, f"name {n}") for n in range(10))
    to_filling(stage)
    assert runs.do("fill").state == "done"
    seen: list[Finding] = []

    def kept(findings: Any) -> Finding:
        seen.append(gather(findings))
        return seen[-1]

    monkeypatch.setattr("spark_tasks.reorganise.verify.gather", kept)
    for number, name in ((98, "a"), (99, "z")):
        key = entry_of(stage, user(stage.now, number, name))
        stage.sql(*pairs_sql.insert(1, stage.table_id, key, b""))
    status = runs.do("verify")
    assert sum(seen[0].stored.values()) == 12
    assert (status.state, "2 violations of index by_name" in status.error) == ("failed", True)


def test_a_verification_goes_by_the_ranges_of_its_fill(stage: Stage, runs: Runs) -> None:
    stage.insert(user(stage.now, n, f"name {n}") for n in range(10))
    to_filling(stage)
    assert runs.do("fill").state == "done"
    assert runs.do("verify").state == "done"
    columns = ("storage", "low", "high", "rows_total")
    assert [*runs.of(Kind.FILL).ranges.values_list(*columns)] == [*runs.of(Kind.VERIFY).ranges.values_list(*columns)]
